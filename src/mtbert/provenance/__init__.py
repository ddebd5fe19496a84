"""What a model was made from: settings, code, starting weights, examples and machine, by digest."""

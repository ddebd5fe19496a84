"""Use trained models: load them, predict and embed with them, read and write tables."""

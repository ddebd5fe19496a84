"""Starting weights: where they come from, how they are loaded, and the BERT layer with its adapter slot."""

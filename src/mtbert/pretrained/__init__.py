"""Starting weights: fetched or made, pretrained further, and checked whenever they are read."""

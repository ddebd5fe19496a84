"""The BERT layer with its adapter slot, and what it runs on."""

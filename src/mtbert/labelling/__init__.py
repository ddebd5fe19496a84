"""What to label next: which labels are doubtful, which rows nearly repeat others, how far more labels would help."""

"""Training: the loop, the optimiser, evaluation, what a run leaves behind."""

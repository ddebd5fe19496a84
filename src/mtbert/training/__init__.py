"""Training: the loop, the optimiser and its schedules, evaluation, what a run leaves behind."""

"""Metrics, predictions, votes, and the results of all runs as tables; whatever judges reads nothing else."""

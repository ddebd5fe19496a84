"""The results of all trainings in two tables; report, votes, comparisons and claims read nothing else."""

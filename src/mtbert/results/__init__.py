"""The results of all trainings in three tables; report, votes, comparisons and claims read nothing else."""

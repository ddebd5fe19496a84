"""The results of all trainings in tables; report, votes, comparisons and claims read nothing else."""

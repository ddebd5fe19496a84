"""Trainings that are done elsewhere: what one needs goes out in a file, and the run that came of it comes back.

On the other machine there is no DVC, no MLflow and no repository; here DVC records what came back.
"""

"""Trainings in numbers: side by side, on a cluster, as a file for another machine, and over learning rates.

`runner` trains many at a time, by a function that trains one: here in a process (`runner.Here`), or on a node of a Ray
cluster (`cluster`). What a training elsewhere reads travels as a tar (`packs`), and its run comes back as one.
"""

"""Trainings side by side, on this machine or on a cluster, by Ray: `python -m mtbert.grid --jobs 4`.

DVC makes all that comes before and after the trainings, and says which of them are not up to date. These go out as
parcels. What comes back is checked, placed and recorded, as if DVC had trained it here.
"""

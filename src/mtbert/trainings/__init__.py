"""Many trainings: side by side (`grid`), on a Ray cluster, as a file for another machine.

Read `many` first: it runs many at a time, here as processes, or on a cluster's nodes. What a training elsewhere
reads travels as a tar (`packs`, in `archives`), and its run comes back as one. `dvc` gives DVC's commands, and
`restoring` does what none of them does; `repro` leaves out a line that DVC prints. After each seed `interim_answers`
has `interim` write a report.
"""

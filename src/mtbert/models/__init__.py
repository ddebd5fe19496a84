"""The multi-task model and its parts."""

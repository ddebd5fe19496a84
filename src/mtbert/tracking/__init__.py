"""Runs in MLflow: live while they train (`LiveRun`), complete afterwards (`bring_in`).

Nothing here imports MLflow before it is needed, and a training process never does: `LiveRun` hands its values to a
small process of its own. So tracking costs a training neither MLflow's import nor its waits, and training needs no
MLflow installed.
"""

from mtbert.tracking.live import LiveRun
from mtbert.tracking.mirror import Summary, bring_in
from mtbert.tracking.place import TrackingError, installed, project_root, tracking_uri

__all__ = ["LiveRun", "Summary", "TrackingError", "bring_in", "installed", "project_root", "tracking_uri"]

"""Log runs to MLflow: live from 30 seconds on (`LiveRun`), and those that it lacks afterwards (`sync_runs`).

MLflow is imported only where it is used, so that a training needs no MLflow installed.
"""

from mtbert.tracking.live import LiveRun
from mtbert.tracking.store import TrackingError, tracking_uri
from mtbert.tracking.sync_runs import sync_runs

__all__ = ["LiveRun", "TrackingError", "sync_runs", "tracking_uri"]

"""Log runs to MLflow: live from 30 seconds on (`LiveRun`), and those that it lacks afterwards (`bring_in`).

MLflow is imported only where it is used, so that a training needs no MLflow installed.
"""

from mtbert.tracking.bring_in import bring_in
from mtbert.tracking.live import LiveRun
from mtbert.tracking.store import TrackingError, tracking_uri

__all__ = ["LiveRun", "TrackingError", "bring_in", "tracking_uri"]

"""Log runs to MLflow: live while they train (`LiveRun`), and those that it lacks afterwards (`bring_in`).

MLflow is imported only where it is used, so that a training needs no MLflow installed.
"""

from mtbert.tracking.bring_in import Summary, bring_in
from mtbert.tracking.live import LiveRun
from mtbert.tracking.place import TrackingError, installed, project_root, tracking_uri

__all__ = ["LiveRun", "Summary", "TrackingError", "bring_in", "installed", "project_root", "tracking_uri"]

"""Log runs to MLflow: live while they train (`LiveRun`), completely afterwards (`bring_in`).

MLflow is imported only when it is needed, and never by a training process: `LiveRun` hands its values to a small
process of its own. So trainings neither import MLflow nor wait for it, and do not need it installed.
"""

from mtbert.tracking.live import LiveRun
from mtbert.tracking.mirror import Summary, bring_in
from mtbert.tracking.place import TrackingError, installed, project_root, tracking_uri

__all__ = ["LiveRun", "Summary", "TrackingError", "bring_in", "installed", "project_root", "tracking_uri"]

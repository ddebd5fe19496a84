"""Direct: heads read the encoder's embeddings.

Formula: h' = h.

Source: Devlin et al. (2019), section 3.2.
"""

from collections.abc import Sequence

from mtbert.models.connectors.base import Connector
from mtbert.settings import NoOptions


class Direct(Connector):
    """Embeddings as they are."""

    @classmethod
    def serves(cls, settings: NoOptions, tasks: Sequence[str]) -> Sequence[str]:
        """Return no task."""
        return ()

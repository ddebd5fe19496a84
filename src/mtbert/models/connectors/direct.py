"""Direct: heads read the encoder's embeddings.

Formula: h' = h.

Source: Devlin et al. (2019), section 3.2.
"""

from mtbert.models.connectors.base import Connector


class Direct(Connector):
    """Embeddings as they are, since it serves no task."""

"""No adapter: the encoder's layers as they are.

Formula: none; nothing is changed.

Source: Devlin et al. (2019), plain BERT.
"""

from mtbert.models.adapters.base import Adapter


class NoAdapter(Adapter):
    """Changes nothing and has no parameters, as the base class."""

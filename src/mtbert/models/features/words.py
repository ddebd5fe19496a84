"""Words: nothing is added.

Formula: e = E_word.

Source: Devlin et al. (2019), section 3.
"""

from mtbert.models.features.base import Features


class Words(Features):
    """The word embeddings as they are, which is what the base class returns."""

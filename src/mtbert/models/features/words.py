"""Words: nothing is added.

Formula: e = E_word.

Source: Devlin et al. (2019), section 3.
"""

from torch import Tensor

from mtbert.models.features.base import Features


class Words(Features):
    """The word embeddings as they are."""

    def forward(self, words: Tensor, input_ids: Tensor) -> Tensor:
        """Return the word embeddings unchanged."""
        return words

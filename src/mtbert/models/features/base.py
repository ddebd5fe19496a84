"""What features are."""

from collections.abc import Sequence

from torch import Tensor, nn

from mtbert.settings import Section


class Features(nn.Module):
    """Adds something that is known of a token to its word embedding.

    Subclasses take (settings, width, vocabulary): the encoder's width, and its word pieces by id.
    """

    def __init__(self, settings: Section, width: int, vocabulary: Sequence[str]) -> None:
        super().__init__()

    def forward(self, words: Tensor, input_ids: Tensor) -> Tensor:
        """Return word embeddings [rows, tokens, width] of ids [rows, tokens], with the features added; here, none."""
        return words

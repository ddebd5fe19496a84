"""Multiple negatives ranking: of all second sentences in the batch, a sentence's own should be the nearest.

Formula: loss = mean_i -log( exp(s cos(u_i, v_i)) / sum_j exp(s cos(u_i, v_j)) ).

Source: Henderson et al. (2017), section 4; SlapBERT, section 4.11 and appendix, equation 7, whose mean is over all
pairs of a batch, whatever their label. The paper does not say how a score is made: here it is the cosine on
the labels' range.

What it needs: it compares u_i with every v_j, those of other pairs, too. So no sentence may have seen its partner: the
partner would be recognised by what the sentence took from it, and the ranking would teach nothing.

Symbols: s `scale`, 20 as in sentence-transformers; u_i, v_i the embeddings of pair i; j all pairs of the batch.

Shapes: outputs [batch, 1 + 2 width]: the score, then both embeddings at length 1.

Mind that all pairs are pulled together whatever their label; the paper's r of 0.029 agrees with that.
"""

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from mtbert.models.heads.base import PairHead
from mtbert.settings import Section


class Settings(Section):
    """Section `mnr`; see the module's symbols."""

    scale: float = Field(default=20.0, gt=0)


class MnrHead(PairHead):
    """Ranks the second sentences of a batch."""

    needs_apart = True

    @property
    def outputs(self) -> int:
        """Size of an output: the score and two embeddings."""
        return 1 + self.inputs

    def forward(self, *embeddings: Tensor) -> Tensor:
        """Return score and embeddings [batch, 1 + 2 width]."""
        first, second = (F.normalize(embedding.float(), dim=-1) for embedding in embeddings)
        score = self.scaled(((first * second).sum(dim=-1) + 1) / 2)
        return torch.cat([score, first, second], dim=-1)

    def scores(self, outputs: Tensor) -> Tensor:
        """Return the score alone, [batch]."""
        return outputs[:, 0]

    def squared_error(self, scores: Tensor, others: Tensor) -> Tensor:
        """Return the mean squared difference on a scale of 0 to 1, since the loss ignores the labels' range."""
        return F.mse_loss(scores, others) / self.extent**2

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the cross entropy of the ranking."""
        first, second = outputs[:, 1:].chunk(2, dim=-1)
        ranking = self.settings.scale * first @ second.T  # [batch, batch]
        return F.cross_entropy(ranking, torch.arange(len(ranking), device=ranking.device))

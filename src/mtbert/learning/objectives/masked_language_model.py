"""Masked language model: hide words of a task's own first sentences, and predict them from the rest.

Formula: term = weight * mean over chosen tokens of -log p(token | sentence with the chosen tokens hidden); of the
`share` of tokens that are chosen 80 % become [MASK], 10 % a random token, and 10 % stay.

Source: Devlin et al. (2019), section 3.1, task 1, as "MinBERT and PALs", section 4.4 goes on with it before or after
fine-tuning: in a phase of its own, with `supervised: false`.

Shapes: ids [sentences, tokens] of first sentences alone; logits [chosen, vocabulary].

Symbols: p from BERT's prediction head, whose output weights are the word embeddings; at the phase's start it is that of
the encoder's checkpoint, or new where this brings none.

Mind that the encoder is trained without adapters, since they belong to tasks, and without `model.features`, which
would be those of hidden and of random words.
"""

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from mtbert.data.batches import Batch
from mtbert.errors import SettingsError
from mtbert.learning.objectives.base import Objective
from mtbert.models.encoder.config import MLM_PARTS
from mtbert.models.multitask import MultitaskModel
from mtbert.settings import Section

MASKED, RANDOM = 0.8, 0.1  # shares of the chosen tokens; the rest stays as it is


class Settings(Section):
    """Section `masked_language_model`: the term's weight, and the share of tokens that are chosen."""

    weight: float = Field(default=1.0, ge=0)
    share: float = Field(default=0.15, gt=0, le=1)


class MaskedLanguageModel(Objective):
    """Adds the term to one model's loss; holds the prediction head."""

    settings: Settings

    def __init__(self, settings: Settings, model: MultitaskModel, generator: torch.Generator) -> None:
        super().__init__(settings, model, generator)
        config, words = model.encoder.backbone.config, model.encoder.backbone.word_embeddings.weight
        if model.encoder.mask_token is None:
            raise SettingsError("masked_language_model needs a [MASK] token, which the encoder's tokenizer lacks")
        self.mask_token = model.encoder.mask_token
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, device=words.device)
        nn.init.normal_(self.dense.weight, std=config.initializer_range, generator=generator)
        nn.init.zeros_(self.dense.bias)
        self.norm = nn.LayerNorm(config.hidden_size, config.epsilon).to(words.device)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size, device=words.device))
        self.own.extend([*self.dense.parameters(), *self.norm.parameters(), self.bias])  # not the word embeddings
        if head := model.encoder.backbone.mlm_head:
            for name, parameter in zip(MLM_PARTS, self.own, strict=True):
                parameter.data.copy_(head[name])

    def logits(self, hidden: Tensor) -> Tensor:
        """Predict words from hidden states [tokens, width] as BERT does: [tokens, vocabulary]."""
        words = self.model.encoder.backbone.word_embeddings.weight
        return F.linear(self.norm(F.gelu(self.dense(hidden))), words, self.bias)

    def term(self, batch: Batch, outputs: Tensor) -> Tensor:
        """Return the weighted cross entropy of the chosen tokens; 0 where none was chosen."""
        ids, mask = first_sentences(batch)
        chosen = self.choose(mask)
        words = self.model.encoder.words(self.hide(ids, chosen))
        hidden = self.model.encoder(words, torch.zeros_like(ids), mask)
        mean = "mean" if chosen.any() else "sum"  # a sum over none is 0
        return self.settings.weight * F.cross_entropy(self.logits(hidden[chosen]).float(), ids[chosen], reduction=mean)

    def choose(self, mask: Tensor) -> Tensor:
        """Choose tokens: a mask [sentences, tokens] without the special tokens at both ends and padding."""
        inner = mask.bool()
        inner[:, 0] = False
        inner[torch.arange(len(mask), device=mask.device), mask.sum(dim=1) - 1] = False
        return inner & (self._uniform(mask) < self.settings.share)

    def hide(self, ids: Tensor, chosen: Tensor) -> Tensor:
        """Return the ids with the chosen tokens masked, replaced or left."""
        how = self._uniform(ids)
        random = (self._uniform(ids) * self.model.encoder.backbone.config.vocab_size).long()
        hidden = ids.masked_fill(chosen & (how < MASKED), self.mask_token)
        return torch.where(chosen & (how >= MASKED) & (how < MASKED + RANDOM), random, hidden)

    def _uniform(self, like: Tensor) -> Tensor:
        return torch.rand(like.shape, generator=self.generator, device=like.device)


def first_sentences(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return ids and mask [examples, tokens] of each example's first sentence with its special tokens."""
    ids, types, mask = (part[: len(batch)] for part in (batch.input_ids, batch.token_types, batch.mask))
    return ids, mask * (1 - types)

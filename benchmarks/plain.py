"""How the method's first code and the course's trained, restated plainly from what they do; no line is theirs.

bert-n-pals (Stickland and Murray 2019, github.com/AsaCooperStickland/Bert-n-Pals): sequences are made before the loop,
all padded to 128 tokens; LayerNorm and GELU are made of elementary operations; gradients are clipped weight by weight.

minbert (the course's github.com/gpoesia/minbert-default-final-project, with PALs added as the papers did): sentences
are tokenized in the loop by BERT's pure-Python tokenizer and padded to the longest of a random batch. The course's code
encodes pairs apart; here they are one sequence, so that all contestants do the same work.

Both: fp32, attention written out, nn.Dropout, a PAL module for each layer and task between projections of the task's,
an update weight by weight (torch's AdamW with foreach off stands for their own loops), one task a step.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from corpus import PAD, Corpus, Plan, vocabulary
from lengths import LIMIT
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

CLASSES = 5
KINDS = ("bert-n-pals", "minbert")


class ElementaryNorm(nn.Module):
    """LayerNorm, operation by operation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, hidden: Tensor) -> Tensor:
        """(h - mean) / deviation, scaled and shifted."""
        centred = hidden - hidden.mean(-1, keepdim=True)
        deviation = torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-12)
        return self.scale * (centred / deviation) + self.shift


def elementary_gelu(hidden: Tensor) -> Tensor:
    """GELU, operation by operation."""
    return 0.5 * hidden * (1.0 + torch.erf(hidden / math.sqrt(2.0)))


class Attention(nn.Module):
    """Multi-head attention without output projection."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """hidden and result [rows, tokens, width]; mask [rows, 1, 1, tokens], a large negative number where padding."""
        query, key, value = (self._apart(part(hidden)) for part in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) + mask
        context = self.dropout(scores.softmax(dim=-1)) @ value
        return context.permute(0, 2, 1, 3).contiguous().flatten(2)

    def _apart(self, hidden: Tensor) -> Tensor:
        return hidden.view(*hidden.shape[:2], self.heads, -1).permute(0, 2, 1, 3)


class Layer(nn.Module):
    """A BERT layer with the narrow attention of every task beside it."""

    def __init__(self, config: BertConfig, tasks: list[str], pals: dict[str, Any], elementary: bool) -> None:
        super().__init__()
        width, dropout = config.hidden_size, config.hidden_dropout_prob
        self.attention = Attention(width, config.num_attention_heads, config.attention_probs_dropout_prob)
        self.dense = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, config.intermediate_size), nn.Linear(config.intermediate_size, width)
        self.dropout = nn.Dropout(dropout)
        norm = ElementaryNorm if elementary else nn.LayerNorm
        self.norm, self.last_norm = norm(width), norm(width)
        self.gelu = elementary_gelu if elementary else F.gelu
        self.narrow = nn.ModuleDict({task: Attention(pals["dim"], pals["heads"], dropout) for task in tasks})

    def forward(self, hidden: Tensor, mask: Tensor, task: str, down: nn.Linear, up: nn.Linear) -> Tensor:
        """LN(a + FFN(a) + PAL(h)), where a = LN(h + attention(h))."""
        beside = self.gelu(up(self.narrow[task](down(hidden), mask)))
        attended = self.norm(hidden + self.dropout(self.dense(self.attention(hidden, mask))))
        deep = self.dropout(self.down(self.gelu(self.up(attended))))
        return self.last_norm(deep + attended + beside)


class PlainBert(nn.Module):
    """BERT with PALs and a linear classifier of the pooled first token for each task."""

    def __init__(self, config: BertConfig, tasks: list[str], pals: dict[str, Any], elementary: bool) -> None:
        super().__init__()
        width = config.hidden_size
        self.words = nn.Embedding(config.vocab_size, width, padding_idx=PAD)
        self.positions = nn.Embedding(config.max_position_embeddings, width)
        self.types = nn.Embedding(config.type_vocab_size, width)
        self.norm = ElementaryNorm(width) if elementary else nn.LayerNorm(width)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.layers = nn.ModuleList(Layer(config, tasks, pals, elementary) for _ in range(config.num_hidden_layers))
        self.pal_down = nn.ModuleDict({task: nn.Linear(width, pals["dim"]) for task in tasks})
        self.pal_up = nn.ModuleDict({task: nn.Linear(pals["dim"], width) for task in tasks})
        self.pooler = nn.Linear(width, width)
        self.classifiers = nn.ModuleDict({task: nn.Linear(width, CLASSES) for task in tasks})
        self.apply(lambda module: _fresh(module, config.initializer_range))

    def forward(self, task: str, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """Logits [rows, 5]; ids, types and mask [rows, tokens]."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        hidden = self.dropout(self.norm(self.words(ids) + self.positions(positions) + self.types(types)))
        added = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            hidden = layer(hidden, added, task, self.pal_down[task], self.pal_up[task])
        return self.classifiers[task](self.dropout(torch.tanh(self.pooler(hidden[:, 0]))))


def _fresh(module: nn.Module, spread: float) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=spread)


def padded(corpus: Corpus, order: list[list[int]]) -> DataLoader:
    """Batches of the sequences, made beforehand, each 128 tokens long."""
    rows = [corpus.joined(pick) for pick in range(len(corpus.first))]
    ids, types, mask = (torch.zeros(len(rows), LIMIT, dtype=torch.long) for _ in range(3))
    for number, (row_ids, row_types) in enumerate(rows):
        length = len(row_ids)
        ids[number, :length] = torch.tensor(row_ids)
        types[number, :length] = torch.tensor(row_types)
        mask[number, :length] = 1
    return DataLoader(TensorDataset(ids, types, mask, torch.tensor(corpus.labels)), batch_sampler=order)


def tokenized(corpus: Corpus, order: list[list[int]], pieces: list[str], tokenizer: BertTokenizerLegacy) -> DataLoader:
    """Batches of the sentences as text, which the collator tokenizes."""

    def text(words: list[int]) -> str:
        return " ".join(pieces[word] for word in words)

    def collate(rows: list[tuple[str, str | None, int]]) -> tuple[Tensor, ...]:
        first, second, labels = zip(*rows, strict=True)
        inputs = tokenizer(
            list(first), list(second) if corpus.second else None, padding=True, truncation=True, max_length=LIMIT,
            return_token_type_ids=True, return_tensors="pt",
        )  # fmt: skip
        return inputs["input_ids"], inputs["token_type_ids"], inputs["attention_mask"], torch.tensor(labels)

    first_texts = [text(words) for words in corpus.first]
    second_texts = [text(words) for words in corpus.second] if corpus.second else [None] * len(corpus.first)
    rows = list(zip(first_texts, second_texts, corpus.labels, strict=True))
    return DataLoader(rows, batch_sampler=order, collate_fn=collate)  # type: ignore[arg-type]


def training(
    kind: str,
    plan: Plan,
    corpora: Mapping[str, Corpus],
    config: BertConfig,
    pals: dict[str, Any],
    device: torch.device,
    scratch: Path,
) -> Callable[[], None]:
    """A function that trains the whole plan once more."""
    torch.manual_seed(1)
    is_original = kind == "bert-n-pals"
    pieces = vocabulary(config.vocab_size)
    model = PlainBert(config, list(corpora), pals, elementary=is_original).to(device).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01, foreach=False, fused=False)
    scratch.mkdir(exist_ok=True)
    (scratch / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    tokenizer = BertTokenizerLegacy(str(scratch / "vocab.txt"))
    loaders: dict[str, DataLoader] = {}
    for task, corpus in corpora.items():
        order = [step[task] for step in plan if task in step]
        loaders[task] = padded(corpus, order) if is_original else tokenized(corpus, order, pieces, tokenizer)

    def run() -> None:
        batches: dict[str, Iterator[Any]] = {task: iter(loader) for task, loader in loaders.items()}
        for task in (task for step in plan for task in step):
            ids, types, mask, labels = (part.to(device) for part in next(batches[task]))
            loss = F.cross_entropy(model(task, ids, types, mask), labels)
            optimiser.zero_grad()
            loss.backward()
            loss.item()
            if is_original:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        nn.utils.clip_grad_norm_(parameter, 1.0, foreach=False)
            optimiser.step()

    return run

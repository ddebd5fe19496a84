"""A multi-task BERT of mtbert as a module of sentence-transformers.

model = SentenceTransformer(folder, trust_remote_code=True)
model.encode(texts, task="sts")
"""

from collections.abc import Sequence
from typing import Any

from sentence_transformers.base.modules import InputModule
from transformers import PreTrainedTokenizerFast

from mtbert.inference.modeling import MtbertModel

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class MtbertSentences(InputModule):
    """Maps texts to the embeddings that a task's head reads."""

    forward_kwargs = {"task"}
    tokenizer: Any

    def __init__(self, model: MtbertModel, tokenizer: Any) -> None:
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.max_seq_length = int(model.config.max_tokens)

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Make word pieces, cut to the longest sequence of the training."""
        texts = [f"{prompt or ''}{text}" for text in inputs]
        limits = {"truncation": True, "max_length": self.max_seq_length}
        return dict(self.tokenizer(texts, padding=True, return_tensors="pt", **limits))

    def forward(self, features: dict[str, Any], task: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Add `sentence_embedding` [texts, width]; ValueError for a task whose sentences are not encoded apart."""
        mixed = self.model.model.connector.mixed
        if self.model.task(task) in mixed:
            apart = ", ".join(name for name in self.model.config.tasks if name not in mixed)
            raise ValueError(f"{task} shows both sentences of a pair to each other; allowed: {apart}")
        inputs = {name: features[name] for name in INPUTS if name in features}
        return features | {"sentence_embedding": self.model.embeddings(task, **inputs)[0]}

    def get_embedding_dimension(self) -> int:
        """The encoder's width."""
        return self.model.model.encoder.width

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Write model and tokenizer."""
        self.model.save_pretrained(output_path)
        self.tokenizer.save_pretrained(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, cache_folder: str | None = None, **kwargs: Any) -> "MtbertSentences":  # type: ignore[override]
        """Read model and tokenizer."""
        where = {name: kwargs[name] for name in ("token", "revision", "local_files_only") if name in kwargs}
        parts = (MtbertModel, PreTrainedTokenizerFast)
        return cls(*(part.from_pretrained(model_name_or_path, cache_dir=cache_folder, **where) for part in parts))

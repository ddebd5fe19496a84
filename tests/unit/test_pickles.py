"""Nothing that is loaded is a pickle: a canary lies in each place, and never sings; what lies there is refused."""

import ast
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mtbert import errors, files, layout, tracking
from mtbert.data import batches, tokens
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import EncoderError
from mtbert.judge import tables as judged
from mtbert.pretrained import fetching, loading, sbert
from mtbert.pretrained.settings import EncoderSettings, SbertSettings
from mtbert.provenance import manifests, seals
from mtbert.scores import collect, tables
from mtbert.scores.results import Results
from mtbert.tasks import COURSE
from mtbert.variants.settings import VariantSettings

ROOT = Path(__file__).parents[2]
NO_RESULTS = Results(None, None, None)
TINY = EncoderSettings(name="tiny", width=12, heads=2, feed_forward=24, vocabulary=1000, positions=16)


class Canary:
    """Creates a file when it is loaded from a pickle."""

    def __init__(self, song: Path) -> None:
        self.song = song

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Path]]:
        return Path.touch, (self.song,)


@pytest.fixture
def song(tmp_path: Path) -> Path:
    return tmp_path / "song"


@pytest.fixture
def canary(song: Path) -> bytes:
    """A pickle whose loading leaves a trace, as these lines show."""
    pickled = pickle.dumps(Canary(song))
    pickle.loads(pickled)
    song.unlink()
    return pickled


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build directory with a very small encoder."""
    rows = '\tid\tsentence\tsentiment\n0\ta\t"A good film"\t4\n'
    files.write_text(tmp_path / "corpora/cs224n/ids-sst-train.csv", rows)
    fetching.fetch(TINY, tmp_path / "corpora", tmp_path / "build/encoders/base")
    return tmp_path / "build"


def put(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def refused(song: Path, load: Callable[[], object]) -> str:
    """Why it is refused; nothing was unpickled."""
    with pytest.raises((errors.MtbertError, tracking.TrackingError)) as error:
        load()
    assert not song.exists()
    return str(error.value)


LOADS: dict[str, Callable[[Path, Path], object]] = {
    "encoders/base/config.json": lambda file, _: loading.load(file.parent),
    "encoders/base/encoder.json": lambda file, _: loading.card(file.parent),
    "encoders/base/tokenizer.json": lambda file, _: tokens.wordpieces(file.parent),
    "plan/pals.yaml": lambda file, _: layout.read_planned(VariantSettings, file),
    "manifest/pals.json": lambda _, build: manifests.check(build, "pals"),
    "data/report.json": lambda _, build: layout.data_kind(build),
    "data/sst/train.parquet": lambda file, _: batches.load(file, COURSE["sst"], "cross", SpecialTokens(1, 2, 0), 16),
    "data/sst/dev-shared.parquet": lambda file, _: files.read_parquet(file, ["id", *collect.SHARED]),
    "data/snli/train.parquet": lambda _, build: sbert.pretrain(SbertSettings(corpora=["snli"], device="cpu"), build),
    "runs/pals/1/predictions/sst-dev.parquet": lambda file, _: files.read_parquet(file),
    "results/runs.parquet": lambda file, _: tables.read(file.parent),
    "judged/rows.parquet": lambda file, _: judged.read(file.parent, NO_RESULTS),
}


@pytest.mark.parametrize("name", LOADS)
def test_a_pickle_in_the_place_of_a_file_is_refused(build: Path, canary: bytes, song: Path, name: str) -> None:
    file = build / name.strip()
    put(file, canary)
    if name.startswith("runs"):
        seals.seal(build / "runs/pals/1")  # the digests are those of the pickle: they are not what refuses it
    assert file.name in refused(song, lambda: LOADS[name](file, build))


def pickled_weights(song: Path, file: Path) -> None:
    """What torch.load would unpickle."""
    torch.save({"embeddings": Canary(song)}, song.with_name("pickled"))
    torch.load(song.with_name("pickled"), weights_only=False)
    song.unlink()
    song.with_name("pickled").rename(file)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
def test_pickled_weights_in_the_place_of_the_encoders_are_refused(build: Path, song: Path, name: str) -> None:
    encoder = build / "encoders/base"
    (encoder / "model.safetensors").unlink()
    pickled_weights(song, encoder / name)
    assert "; fetch it again" in refused(song, lambda: loading.load(encoder))
    with pytest.raises(Exception, match=r"safetensors|header"):
        sbert.sentence_model(encoder, "cpu", 128)
    assert not song.exists()


def test_pickled_weights_beside_the_encoders_are_not_looked_at(build: Path, song: Path) -> None:
    encoder = build / "encoders/base"
    pickled_weights(song, encoder / "pytorch_model.bin")
    loading.load(encoder)
    sbert.sentence_model(encoder, "cpu", 128)
    assert not song.exists()


def test_code_that_an_encoders_directory_brings_is_not_run(build: Path, song: Path) -> None:
    encoder = build / "encoders/base"
    put(encoder / "own.py", f"import pathlib\npathlib.Path({str(song)!r}).touch()\n".encode())
    own = {"AutoConfig": "own.Config", "AutoModel": "own.Model", "AutoTokenizer": ["own.Tokenizer", "own.Tokenizer"]}
    for name in ("config.json", "tokenizer_config.json"):
        files.write_json(encoder / name, files.read_json(encoder / name) | {"auto_map": own})
    for read in (loading.load, lambda folder: sbert.sentence_model(folder, "cpu", 128)):
        with pytest.raises(EncoderError, match="auto_map names code that comes with the weights, which is never run"):
            read(encoder)
    assert not song.exists()


TRUSTING = {
    "allow_pickle": True, "trust_remote_code": True, "weights_only": False, "use_safetensors": False, "shell": True,
    "typ": "unsafe",
}  # fmt: skip


def test_no_code_here_trusts_what_comes_with_data() -> None:
    """Modules and functions that load pickles are banned in pyproject.toml, for ruff."""
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "stages").glob("*.py")]
    nodes = [(source.name, node) for source in sources for node in ast.walk(ast.parse(source.read_text("utf-8")))]
    given = [(name, node.arg, ast.literal_eval(node.value)) for name, node in nodes if is_plain(node)]
    trusting = [(name, option) for name, option, value in given if TRUSTING.get(option, ...) == value]
    # An export is loaded again where it was written a moment before: the code in it is mtbert's own modeling.py.
    assert trusting == [("outside_script.py", "trust_remote_code")] * 3


def is_plain(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant)

"""Encoders that the project does not know by name: of the model hub, and of folders."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import encoders
import pytest
import safetensors.torch
import torch
from huggingface_hub import constants
from transformers import AutoModel, AutoTokenizer, RobertaTokenizer

from mtbert import files
from mtbert.data import tokens
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import EncoderError
from mtbert.models.encoder import bert
from mtbert.pretraining import fetching, loading
from mtbert.pretraining import settings as sources
from mtbert.pretraining.settings import EncoderSettings

HUB, COMMIT = "someone/roberta", "c0ffee" + "0" * 34


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encoders.folder(tmp_path_factory.mktemp("made") / "roberta")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "roberta")


def named(folder: Path, revision: str | None = None) -> EncoderSettings:
    return EncoderSettings(name=str(folder), revision=revision or sources.folder_digest(folder))


def fetched(settings: EncoderSettings, out: Path) -> Path:
    fetching.fetch(settings, Path("unused"), out)
    return out


def refused(settings: EncoderSettings, out: Path) -> str:
    with pytest.raises(EncoderError) as caught:
        fetched(settings, out)
    assert not out.exists()
    return str(caught.value)


def edit(file: Path, **changes: Any) -> None:
    files.write_json(file, json.loads(file.read_text()) | changes)


def reweigh(folder: Path, change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> None:
    file = folder / "model.safetensors"
    safetensors.torch.save_file(change(safetensors.torch.load_file(file)), file, {"format": "pt"})


def test_a_folder_gives_the_encoder_without_its_head_and_its_tokenizer(folder: Path, tmp_path: Path) -> None:
    out = fetched(named(folder), tmp_path / "out")
    assert {name.partition(".")[0] for name in safetensors.torch.load_file(out / "model.safetensors")} == {
        "embeddings", "encoder",
    }  # fmt: skip
    whole = safetensors.torch.load_file(folder / "model.safetensors")
    found = safetensors.torch.load_file(out / "model.safetensors")
    assert all(torch.equal(tensor, whole[f"roberta.{name}"]) for name, tensor in found.items())
    text, pair = "The man isn't sleeping", ("Two men", "cats")
    theirs, ours = (AutoTokenizer.from_pretrained(place) for place in (folder, out))
    assert theirs(text)["input_ids"] == ours(text)["input_ids"]
    assert theirs(*pair)["input_ids"] == ours(*pair)["input_ids"]
    assert tokens.special_tokens(out) == SpecialTokens(start=0, end=2, padding=1, between=2, typed=False, mask=4)


def test_the_card_has_the_digests_of_what_was_read_and_no_path(folder: Path, tmp_path: Path) -> None:
    card = loading.card(fetched(named(folder), tmp_path / "out"))
    names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert card.pop("fetched") == {name: files.sha256(folder / name) for name in names}
    assert card.pop("sha256") == files.sha256(tmp_path / "out/model.safetensors")
    digest = sources.folder_digest(folder)
    assert card == {
        "name": "roberta", "source": f"a folder whose digest is {digest}", "note": "", "layers": 2, "width": 24,
        "positions": 126, "pooler": False,
    }  # fmt: skip


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_file_of_a_folder_that_was_changed_is_refused(folder: Path, tmp_path: Path, file: str) -> None:
    settings = named(folder)
    (folder / file).write_bytes((folder / file).read_bytes() + b" ")
    message = refused(settings, tmp_path / "out")
    assert f"whose digest is {sources.folder_digest(folder)}, but encoder.revision is {settings.revision}" in message


def test_what_else_lies_in_a_folder_does_not_matter(folder: Path) -> None:
    before = sources.folder_digest(folder)
    files.write_text(folder / "README.md", "A model.")
    files.write_text(folder / "onnx/model.safetensors", "another form")
    assert sources.folder_digest(folder) == before


def test_a_folder_without_a_digest_is_told_it(folder: Path, tmp_path: Path) -> None:
    message = refused(EncoderSettings(name=str(folder)), tmp_path / "out")
    assert f"whose digest is {sources.folder_digest(folder)}, but encoder.revision is None" in message


@pytest.mark.parametrize(
    ("name", "kind", "pooler"),
    [
        ("RobertaModel", "roberta", True),
        ("RobertaForSequenceClassification", "roberta", False),
        ("BertForPreTraining", "bert", True),
        ("BertForMaskedLM", "bert", False),
        ("BertModel", "bert", True),
        ("XLMRobertaModel", "xlm-roberta", True),
        ("CamembertForMaskedLM", "camembert", False),
    ],
)
def test_weights_of_any_head_of_these_architectures(tmp_path: Path, name: str, kind: str, pooler: bool) -> None:
    out = fetched(named(encoders.folder(tmp_path / "theirs", name, kind)), tmp_path / "out")
    assert loading.card(out)["pooler"] is pooler
    ours = bert.read(out)
    assert ("dense" in ours.pooler) is pooler
    theirs = AutoModel.from_pretrained(tmp_path / "theirs").state_dict()
    assert all(torch.equal(tensor, theirs[key]) for key, tensor in ours.state_dict().items())


def head_of(theirs: Any) -> dict[str, torch.Tensor]:
    """The head of Hugging Face's masked language model, by the names in mlm_head.safetensors."""
    if hasattr(theirs, "lm_head"):
        dense, norm, bias = theirs.lm_head.dense, theirs.lm_head.layer_norm, theirs.lm_head.bias
    else:
        of = theirs.cls.predictions
        dense, norm, bias = of.transform.dense, of.transform.LayerNorm, of.bias
    return {
        "dense.weight": dense.weight, "dense.bias": dense.bias, "norm.weight": norm.weight, "norm.bias": norm.bias,
        "bias": bias,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [("BertForMaskedLM", "bert"), ("BertForPreTraining", "bert"), ("CamembertForMaskedLM", "camembert")],
)
def test_the_head_of_a_masked_language_model_is_kept_beside_the_encoder(
    tmp_path: Path, name: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    theirs = encoders.model(name, encoders.config(kind, 14 if kind == "bert" else 400))
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter)  # biases and LayerNorms start alike in every model
    folder = encoders.folder(tmp_path / "theirs", name, kind)
    theirs.save_pretrained(folder)
    out = fetched(named(folder), tmp_path / "out")
    kept = bert.read(out).mlm_head
    assert kept.keys() == head_of(theirs).keys()
    assert all(torch.equal(kept[part], weights) for part, weights in head_of(theirs).items())
    AutoModel.from_pretrained(out)
    assert "mlm_head" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(("name", "kind"), [("RobertaForSequenceClassification", "roberta"), ("BertModel", "bert")])
def test_an_encoder_without_such_a_head_has_none(tmp_path: Path, name: str, kind: str) -> None:
    out = fetched(named(encoders.folder(tmp_path / "theirs", name, kind)), tmp_path / "out")
    assert not (out / "mlm_head.safetensors").exists()
    assert bert.read(out).mlm_head == {}


def test_older_names_of_norms_are_read(tmp_path: Path) -> None:
    folder = encoders.folder(tmp_path / "theirs", "BertForMaskedLM", "bert")
    now = fetched(named(folder), tmp_path / "now")
    as_bert_base_uncased = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, old in as_bert_base_uncased.items():
        reweigh(folder, lambda weights: {name.replace(new, old): value for name, value in weights.items()})  # noqa: B023
    before = fetched(named(folder), tmp_path / "before")
    for file in ("model.safetensors", "mlm_head.safetensors"):
        assert files.sha256(before / file) == files.sha256(now / file)


def test_weights_in_shards(folder: Path, tmp_path: Path) -> None:
    whole = fetched(named(folder), tmp_path / "whole")
    (folder / "model.safetensors").unlink()
    AutoModel.from_pretrained(whole, add_pooling_layer=False).save_pretrained(folder, max_shard_size="20KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    found = fetched(named(folder), tmp_path / "out")
    assert files.sha256(found / "model.safetensors") == files.sha256(whole / "model.safetensors")
    assert len(loading.card(found)["fetched"]) > 5
    first = min(folder.glob("model-*.safetensors"))
    first.unlink()
    assert "holds weights that do not fit config.json" in refused(named(folder), tmp_path / "cut")


def test_a_tokenizer_of_vocabulary_and_merges_is_hugging_faces(folder: Path, tmp_path: Path) -> None:
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    files.write_json(folder / "vocab.json", model["vocab"])
    files.write_text(folder / "merges.txt", "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in model["merges"]))
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    out = fetched(named(folder), tmp_path / "out")
    theirs = RobertaTokenizer.from_pretrained(folder)
    text = "A man isn't smiling — the\u00a0cats are."
    assert tokens.wordpieces(out)([text]) == [theirs(text, add_special_tokens=False)["input_ids"]]
    assert tokens.special_tokens(out) == SpecialTokens(start=0, end=2, padding=1, between=2, typed=False, mask=4)


def test_a_cased_tokenizer_stays_cased_and_its_marks_are_where_it_has_them(tmp_path: Path) -> None:
    out = fetched(named(encoders.folder(tmp_path / "bert", "BertModel", "bert")), tmp_path / "out")
    assert tokens.wordpieces(out)(["A Man smiling. man Ü"]) == [[2, 1, 4, 5, 6, 0, 12]]
    assert tokens.special_tokens(out) == SpecialTokens(start=11, end=9, padding=10, between=1, typed=True, mask=7)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"model_type": "distilbert"},
            "model_type is 'distilbert', which is not supported; allowed: bert, roberta, xlm-roberta, camemb",
        ),
        ({"model_type": "modernbert"}, "model_type is 'modernbert', which is not supported; allowed: bert, "),
        ({"hidden_act": "gelu_new"}, "hidden_act is 'gelu_new'; allowed: 'gelu'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'; allowed: 'absolute'"),
        ({"num_hidden_layers": 100_000}, "num_hidden_layers"),
        ({"is_decoder": True}, "is_decoder is True; allowed: False"),
        ({"hidden_size": 48}, "holds weights that do not fit config.json"),
        ({"num_hidden_layers": 3}, "lacks weights of BERT: encoder.layer.2.attention.output.LayerNorm.bias, "),
    ],
)
def test_what_cannot_be_had_is_told_with_what_can(folder: Path, tmp_path: Path, changes: dict, told: str) -> None:
    edit(folder / "config.json", **changes)
    assert told in refused(named(folder), tmp_path / "out")


def test_half_a_pooler_is_refused(tmp_path: Path) -> None:
    folder = encoders.folder(tmp_path / "bert", "BertModel", "bert")
    reweigh(folder, lambda weights: {name: one for name, one in weights.items() if name != "pooler.dense.bias"})
    assert refused(named(folder), tmp_path / "out").endswith("lacks weights of BERT: pooler.dense.bias")


def test_a_tokenizer_that_frames_sentences_otherwise_is_refused(folder: Path, tmp_path: Path) -> None:
    edit(folder / "tokenizer.json", post_processor=None)
    assert "makes ['a', 'a'] of a pair, with types [0, 1]; allowed: as BERT, [CLS] a [SEP] b [SEP], or" in refused(
        named(folder), tmp_path / "out"
    )


def test_a_tokenizer_with_more_pieces_than_the_weights_is_refused(folder: Path, tmp_path: Path) -> None:
    encoders.model("RobertaModel", encoders.config(pieces=200)).save_pretrained(folder)
    pieces = len(tokens.vocabulary(folder))
    assert f"has a piece {pieces - 1}, but the weights are of 200" in refused(named(folder), tmp_path / "out")


def test_a_use_that_the_encoder_does_not_allow_is_refused(folder: Path, tmp_path: Path) -> None:
    out = fetched(named(folder), tmp_path / "out")
    loading.check_use(out, {"sst": "cls", "sts": "mean"}, 126)
    with pytest.raises(EncoderError, match=r"model\.pooling is pooler for sts, but roberta has none"):
        loading.check_use(out, {"sst": "cls", "sts": "pooler"}, 126)
    with pytest.raises(EncoderError, match=r"model\.max_tokens is 127, but roberta takes 126 tokens at most"):
        loading.check_use(out, {"sst": "cls"}, 127)


class Hub(BaseHTTPRequestHandler):
    """Serves `folder` as one commit of one repository, the way the model hub does."""

    folder: Path
    asked: list[str]

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        path = self.path.partition("?")[0]
        tree, file = f"/api/models/{HUB}/tree/{COMMIT}", path.removeprefix(f"/{HUB}/resolve/{COMMIT}/")
        if path == tree:
            listed = [self.about(one) for one in sorted(self.folder.iterdir())]
            self.send(json.dumps(listed).encode(), {"Content-Type": "application/json"}, body)
        elif file != path and (self.folder / file).is_file():
            about = self.about(self.folder / file)
            self.asked.append(file)
            etag = about["lfs"]["oid"] if "lfs" in about else about["oid"]
            self.send((self.folder / file).read_bytes(), {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, body)
        else:
            self.send_error(404)

    def about(self, file: Path) -> dict[str, Any]:
        content = file.read_bytes()
        git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        large = {"lfs": {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}}
        plain = {"type": "file", "path": file.name, "size": len(content), "oid": git}
        return plain | (large if file.suffix in (".safetensors", ".bin") else {})

    def send(self, content: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(200)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    Hub.folder, Hub.asked = folder, []
    with serving() as endpoint:
        monkeypatch.setattr(constants, "ENDPOINT", endpoint)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        )
        yield Hub


@contextlib.contextmanager
def serving() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


ASKED = EncoderSettings(name=HUB, revision=COMMIT)


def test_the_hub_gives_what_a_folder_gives(hub: type[Hub], folder: Path, tmp_path: Path) -> None:
    files.write_text(folder / "pytorch_model.bin", "a pickle")
    found, given = fetched(ASKED, tmp_path / "hub"), fetched(named(folder), tmp_path / "folder")
    cards = [loading.card(place) for place in (found, given)]
    assert cards[0] == cards[1] | {"name": HUB, "source": f"{HUB} at {COMMIT}"}
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        assert (found / name).read_bytes() == (given / name).read_bytes()
    assert set(hub.asked) == {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"}


def test_what_was_downloaded_is_not_asked_for_again(hub: type[Hub], tmp_path: Path) -> None:
    fetched(ASKED, tmp_path / "one")
    hub.asked.clear()
    fetched(ASKED, tmp_path / "two")
    assert hub.asked == []


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_download_that_was_altered_is_refused(hub: type[Hub], tmp_path: Path, name: str) -> None:
    fetched(ASKED, tmp_path / "out")
    (file,) = (tmp_path / "cache").rglob(f"snapshots/{COMMIT}/{name}")
    blob = file.resolve()
    blob.write_bytes(blob.read_bytes()[:-1] + b"!")
    message = refused(ASKED, tmp_path / "again")
    assert f"{name} is not the file of {HUB} at {COMMIT}: it was altered or cut off; delete {blob}" in message


def test_a_repository_with_pickles_alone_is_refused(hub: type[Hub], folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    message = refused(ASKED, tmp_path / "out")
    assert "which lacks model.safetensors (weights in .bin files are pickles" in message
    assert "pytorch_model.bin" not in hub.asked


def test_a_repository_or_commit_that_is_not_there(hub: type[Hub], tmp_path: Path) -> None:
    message = refused(EncoderSettings(name=HUB, revision="d" * 40), tmp_path / "out")
    assert message.startswith(f"encoder {HUB} could not be fetched from {HUB} on the model hub (")
    assert "set encoder.name to a folder that holds model.safetensors, config.json and tokenizer.json" in message

"""Results that were altered after they were written: refused by whoever reads them, told with what makes them again."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pages
import pytest
import yaml

from mtbert import ensembling, files, inputs, outputs
from mtbert.errors import DataError, MtbertError
from mtbert.reporting import catalog, corpora, curves, embeddings, results, submissions
from mtbert.reporting.catalog import Completed
from mtbert.reporting.fairness import Conducts
from mtbert.reporting.sections import runs

RUN = "runs/pals/1"
SETTINGS = {"run": {"keep": "last", "selection": "whole"}}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Runs of three variants and a vote, an encoder's metrics, and a manifest."""
    made = pages.write(tmp_path / "build", seeds=(1,))
    files.write_yaml(made / RUN / "settings.yaml", SETTINGS)
    _reseal(made, RUN)
    scores = {"sts_dev_pearson_before": 0.5, "sts_dev_pearson_after": 0.6, "pairs": 10, "steps": 4}
    files.write_json(made / "encoders/sbert/metrics.json", scores)
    digests = dict.fromkeys(inputs.ENCODER_FILES, "ab")
    files.write_json(
        made / "init/pals.json",
        {"encoder": {"path": "encoders/base"} | digests, "data": {"data/a": "ab"}, "code": "ab"},
    )
    return made


def _reseal(build: Path, run: str) -> None:
    """New digests, and the log of the old results as that of the new."""
    old = files.log_directory(build, build / run)
    files.seal(build / run)
    if old.is_dir() and (new := files.log_directory(build, build / run)) != old:
        old.rename(new)


def plan(build: Path) -> Completed:
    return catalog.read_completed(build)


def vote(build: Path) -> object:
    return ensembling.ensemble("vote", ["pals", "sbert-pals"], 1, build / "runs", build / "voted")


READERS: dict[str, Callable[[Path], object]] = {
    f"{RUN}/metrics.json": lambda build: results.scores(build, plan(build)),
    f"{RUN}/predictions/sst-dev.parquet": lambda build: results.scores(build, plan(build)),
    f"{RUN}/predictions/sts-dev.parquet": vote,
    f"{RUN}/predictions/qqp-dev.parquet": lambda build: submissions.write(build, plan(build), build / "submitted"),
    f"{RUN}/history.csv": lambda build: curves.losses(build, plan(build)),
    f"{RUN}/settings.yaml": plan,
    "runs/bert-sst/1/history.csv": lambda build: Conducts(build, plan(build)),
    f"{RUN}/embeddings.safetensors": lambda build: embeddings.clouds(build, plan(build)),
    f"{RUN}/digests.json": lambda build: (results.scores(build, plan(build)), curves.losses(build, plan(build))),
    "ensembles/vote/1/metrics.json": lambda build: results.scores(build, plan(build)),
    "ensembles/vote/1/predictions/sst-dev.parquet": lambda build: results.scores(build, plan(build)),
}


@pytest.mark.parametrize("name", [name for name in READERS if not name.endswith("digests.json")])
def test_one_changed_bit_is_found_wherever_it_is(build: Path, name: str) -> None:
    READERS[name](build)
    whole = (build / name).read_bytes()
    for place in range(0, len(whole), max(len(whole) // 10, 1)):
        altered = bytearray(whole)
        altered[place] ^= 1
        (build / name).write_bytes(altered)
        with pytest.raises(DataError, match=r"is not as it was written.*`rm -r .*chmod -R u\+w .*dvc repro"):
            READERS[name](build)


def test_a_score_that_was_changed_by_hand_is_told_though_the_digests_fit(build: Path) -> None:
    content = files.read_json(build / RUN / "metrics.json")
    right = content["dev"]["sst"]
    content["dev"]["sst"] = 0.952
    files.write_json(build / RUN / "metrics.json", content)
    with pytest.raises(DataError, match=r"metrics\.json is not as it was written"):
        results.scores(build, plan(build))
    _reseal(build, RUN)
    with pytest.raises(DataError) as error:
        results.scores(build, plan(build))
    assert str(error.value) == (
        f"dev of pals, seed 1: metrics.json says sst 0.952000, the prediction files {right:.6f}; "
        "`dvc repro train@pals-1 --force --single-item` makes both again"
    )


def test_a_file_that_is_gone_or_too_many_is_told(build: Path) -> None:
    (build / RUN / "predictions/sst-dev.parquet").unlink()
    with pytest.raises(DataError, match=r"missing: predictions/sst-dev\.parquet"):
        plan(build)
    (build / RUN / "predictions/sst-dev.parquet").touch()
    (build / RUN / "predictions/sst-test.parquet").touch()
    with pytest.raises(DataError, match=r"too many: predictions/sst-test\.parquet"):
        plan(build)


def test_a_damaged_log_is_told_and_left_out(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = results.runs(build, plan(build))
    files.write_text(files.log_directory(build, build / RUN) / "run.json", '{"seconds": "long"}')
    (left,) = [run for run in results.runs(build, plan(build)) if run.variant == "pals"]
    assert (left.seconds, left.peak_memory_mb, left.seed) == (None, None, 1)
    assert [run for run in results.runs(build, plan(build)) if run.variant != "pals"] == [
        run for run in whole if run.variant != "pals"
    ]
    assert "seconds: Input should be a valid number, came 'long'" in capsys.readouterr().err


STRUCTURED = READERS | {
    "encoders/sbert/metrics.json": lambda build: runs.pretraining(build, "sbert"),
    "data/report.json": lambda build: corpora.data(build, plan(build)),
    "init/pals.json": lambda build: inputs.named(build / "init/pals.json"),
    "log": lambda build: runs.timed(results.runs(build, plan(build))),
}
WRONG = ([], {}, "text", None, float("nan"), float("inf"), True, -1, 1.5, [[]], {"a": 1}, 10**400)


def mutated(value: Any, chance: random.Random) -> Any:
    """The value with something in it gone, or of another kind."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(sorted(value))
        rest = {name: kept for name, kept in value.items() if name != key}
        return rest if chance.random() < 0.2 else rest | {key: mutated(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        return [*value[:at], mutated(value[at], chance), *value[at + 1 :]]
    return chance.choice(WRONG)


@pytest.mark.parametrize("name", [name for name in STRUCTURED if name.endswith((".json", ".yaml", "log"))])
def test_whatever_is_wrong_in_its_structure_is_told_in_our_words(build: Path, name: str) -> None:
    chance = random.Random(name)
    file = files.log_directory(build, build / RUN) / "run.json" if name == "log" else build / name
    read, dump = (yaml.safe_load, yaml.safe_dump) if name.endswith(".yaml") else (json.loads, json.dumps)
    content = read(file.read_text())
    refused = 0
    for _ in range(40):
        file.write_text(dump(mutated(content, chance)))
        if name.startswith(("runs", "ensembles")) and not name.endswith("digests.json"):
            _reseal(build, name.partition("/metrics")[0].partition("/settings")[0])
        try:
            STRUCTURED[name](build)
        except MtbertError:
            refused += 1
    assert refused > 10 or name == "log"


def test_a_log_of_a_time_that_is_none_is_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.write_json(tmp_path / "run.json", {"started": "yesterday", "seconds": 1})
    assert outputs.log(tmp_path) is None
    assert "started: String should match pattern" in capsys.readouterr().err

"""Votes as files: what they hold, and when they are made again."""

from pathlib import Path

import built
import pandas as pd
import pytest

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import inputs, seals
from mtbert.scores import ensembles, predictions

VOTED = ["vote, seed 1: 2 models have voted"]


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return built.build(tmp_path)


def vote(build: Path) -> list[str]:
    return ensembles.vote_all(build, build / "votes")


def change_catalog(build: Path, **ensemble: object) -> None:
    file = build / "plan/catalog.yaml"
    catalog = files.read_yaml(file)
    catalog["ensembles"]["vote"] |= ensemble
    files.write_yaml(file, catalog)


def test_a_vote_has_settings_scores_and_predictions_as_a_run_has(build: Path):
    assert vote(build) == VOTED
    folder = build / "votes/vote/1"
    seals.check(folder)
    assert files.read_yaml(folder / "settings.yaml") == {
        "variant": "vote", "seed": 1, "paper": "pals-for-pals", "row": "vote", "members": ["one", "two"],
        "tasks": ["sst"], "profile": "own",
    }  # fmt: skip
    assert files.read_json(folder / "metrics.json") == {
        "variant": "vote", "seed": 1, "dev": {"sst": 2 / 3}, "test": {},
        "parameters": {"encoder": 1000, "added": 20, "trained": 2020, "stored": 2020},
    }  # fmt: skip
    table = pd.read_parquet(folder / "predictions/sst-dev.parquet")
    assert list(table) == ["id", "label", "prediction", *(f"probability_{n}" for n in range(5)), "scored"]
    assert table["prediction"].tolist() == [0.0, 1.0, 0.0]
    assert (folder / "predictions/sst-test.parquet").is_file()
    made_from = inputs.of_model(folder)
    assert made_from is not None
    assert (made_from.code, made_from.seed) == ({"scores/vote.py": "c0de"}, 1)
    members = [f"runs/{member}/1/digests.json" for member in ("one", "two")]
    assert made_from.files == {member: files.sha256(build / member) for member in members}


def test_a_vote_is_made_from_the_examples_of_its_members(build: Path):
    files.write_text(build / "data/sst/train.parquet", "rows")
    digest = files.sha256_of(b"rows")
    for name in ("one", "two"):
        built.trained_on(build / f"runs/{name}/1", digest)
    vote(build)
    made_from = inputs.of_model(build / "votes/vote/1")
    assert made_from is not None
    assert made_from.files["data/sst/train.parquet"] == digest


def test_members_of_other_rows_do_not_vote(build: Path):
    built.trained_on(build / "runs/two/1", "other")
    with pytest.raises(DataError, match=r"runs/two/1: made before these changed: data sst/train\.parquet removed"):
        vote(build)


def test_a_vote_of_the_same_members_stays(build: Path):
    vote(build)
    written = (build / "votes/vote/1/digests.json").stat().st_ino
    assert vote(build) == []
    assert (build / "votes/vote/1/digests.json").stat().st_ino == written


def test_only_the_ensembles_of_a_changed_member_vote_again(build: Path):
    catalog = files.read_yaml(build / "plan/catalog.yaml")
    catalog["ensembles"]["other"] = {"selected": True, "members": ["one"]}
    files.write_yaml(build / "plan/catalog.yaml", catalog)
    assert vote(build) == ["other, seed 1: 1 models have voted", "vote, seed 1: 2 models have voted"]
    built.run(build, "two", [0.0, 1.0, 2.0])
    assert vote(build) == VOTED


@pytest.mark.parametrize(
    "change",
    [
        lambda build: change_catalog(build, row="another"),
        lambda build: change_catalog(build, members=["two", "one"]),
        lambda build: files.write_yaml(build / "plan/code-ensemble.yaml", {"scores/vote.py": "another"}),
        lambda build: files.write_text(build / "votes/vote/1/settings.yaml", "altered"),
        lambda build: (build / "votes/vote/1/digests.json").unlink(),
        lambda build: (build / "votes/vote/1/inputs.json").unlink(),
    ],
)
def test_what_a_vote_is_made_from_and_an_altered_vote_are_voted_again(build: Path, change):
    vote(build)
    change(build)
    assert vote(build) == VOTED
    assert vote(build) == []


def test_what_lacks_a_member_or_is_not_selected_has_no_vote(build: Path):
    vote(build)
    (build / "runs/two/1").rename(build / "aside")
    assert vote(build) == []
    assert not any((build / "votes").iterdir())
    (build / "aside").rename(build / "runs/two/1")
    assert vote(build) == VOTED
    change_catalog(build, selected=False)
    assert vote(build) == []
    assert not any((build / "votes").iterdir())


def test_a_merge_does_not_vote(build: Path):
    change_catalog(build, merge="ties")
    assert vote(build) == []


@pytest.mark.parametrize("name", ["metrics.json", "settings.yaml", "predictions/sst-test.parquet"])
def test_an_altered_member_is_refused_by_name(build: Path, name: str):
    file = build / "runs/two/1" / name
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(DataError, match=rf"runs/two/1 is not as it was written .altered: {name}.*train@two-1"):
        vote(build)


def test_members_of_other_rows_cannot_vote(build: Path):
    file = layout.predictions(build / "runs/two/1", "sst", "dev")
    predictions.write(file, pd.read_parquet(file).assign(id=["a", "b", "z"]))
    seals.seal(build / "runs/two/1")
    with pytest.raises(DataError, match="one and two differ in id of sst, so they cannot vote"):
        vote(build)
    assert not (build / "votes/vote").exists()

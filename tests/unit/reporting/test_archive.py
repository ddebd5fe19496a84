"""The evidence of a report: packed, and the report made of it alone."""

import contextlib
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from sealing import seal

from mtbert import ensembling, files
from mtbert.errors import DataError
from mtbert.reporting import archive, catalog, readme, report
from mtbert.reporting.evidence import Evidence
from mtbert.reporting.sections import runs, summary

Make = Callable[..., Path]
ROOT = Path(__file__).parents[3]
SECRET = "nobody may hand this on"


def contents(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def with_data(build: Path) -> Path:
    """Adds what real runs have besides: sentences, rows that share one, embeddings, odd probabilities, a machine."""
    ids = [f"r{row}" for row in range(100)]
    for task, columns in {"sst": 1, "qqp": 2, "sts": 2}.items():
        texts = {"sentence1": [SECRET] * 100, "sentence2": [SECRET if columns == 2 else None] * 100}
        labels = pd.read_parquet(build / f"runs/bert-{task}/1/predictions/{task}-dev.parquet")["label"]
        folder = build / "data" / task
        folder.mkdir(parents=True)
        pd.DataFrame({"id": ids, **texts, "label": labels}).to_parquet(folder / "dev.parquet")
        about = {"cluster": np.arange(100) // 2, "in_train": ["t3"] + [""] * 99, "in_pretraining": [""] * 99 + ["n1"]}
        pd.DataFrame({"id": ids, **about, "shares": [True] * 9 + [False] * 91}).to_parquet(folder / "dev-rows.parquet")
    counts = {"file": "f.csv", "labelled": True, "read": 101, "kept": 100, "conflicts": [{"text": SECRET}]}
    counts |= {"refused": [{"line": 3, "reason": SECRET}], "duplicates": {"exact": 0, "folded": 0, "bare": 0}}
    files.write_json(build / "data/report.json", {"files": {"sst/dev": counts}, "whose": "course"})
    files.write_json(build / "machine.json", {"processor": "Some CPU", "accelerator": "", "torch": "2.13.0"})
    rng = np.random.default_rng(0)
    for place in [*build.glob("runs/*/*"), *build.glob("ensembles/*/*")]:
        for file in place.glob("predictions/*-dev.parquet"):
            table = pd.read_parquet(file)
            columns = [name for name in table if name.startswith("probability")]
            table[columns] = rng.dirichlet(np.ones(max(1, len(columns))), 100)[:, : len(columns)]
            table.to_parquet(file)
    points = {"sst": rng.normal(size=(1, 20, 8)), "qqp": rng.normal(size=(2, 20, 8))}
    halves = {task: values.astype(np.float16) for task, values in points.items()}
    save_file(halves, build / "runs/pals/1/embeddings.safetensors")
    logs = {place: (place / "run.json").read_text() for place in build.glob("logs/*/*/*")}
    seal(build)
    for place, text in logs.items():
        run = build / "runs" / place.parts[-3] / place.parts[-2]
        files.write_text(files.log_directory(build, run) / "run.json", text)
    return build


def alone(build: Path) -> Path:
    """The evidence of a build directory, without its report."""
    archive.pack(build, build.parent / "evidence")
    return build.parent / "evidence"


def packed(build: Path) -> tuple[Path, Path]:
    """The report of a build directory, with its evidence."""
    out = build.parent / "reports" / "laptop"
    report.write(build, out, build / "submissions")
    archive.pack(build, out / "evidence")
    return out, out / "evidence"


@pytest.mark.parametrize("whose", ["course", "sample"])
def test_the_report_of_the_evidence_alone_is_the_same_to_the_byte(make_build: Make, whose: str) -> None:
    build = with_data(make_build(seeds=(1, 2, 3), test={"sst": 0.5}))
    found = files.read_json(build / "data/report.json")
    files.write_json(build / "data/report.json", found | {"whose": whose})
    out, evidence = packed(build)
    before = contents(out)
    shutil.rmtree(build)
    report.anew(evidence, out)
    assert contents(out) == before
    report.anew(evidence, out.parent / "elsewhere")
    beside = {name: text for name, text in before.items() if not name.startswith("evidence/")}
    assert contents(out.parent / "elsewhere") == beside
    assert len([name for name in beside if name.startswith("pictures/")]) >= 8


def test_a_new_report_leaves_the_evidence_that_lies_there(make_build: Make) -> None:
    out, _ = packed(build := with_data(make_build()))
    before = contents(out)
    report.write(build, out, build / "submissions")
    assert contents(out) == before


def test_a_report_takes_the_place_of_no_other_folder(make_build: Make, tmp_path: Path) -> None:
    _, evidence = packed(with_data(make_build()))
    thesis = tmp_path / "mine" / "thesis.docx"
    files.write_text(thesis, "of years")
    with pytest.raises(DataError, match=r"mine holds thesis.docx and no report; the report would take its place"):
        report.anew(evidence, thesis.parent)
    with pytest.raises(DataError, match=r"thesis.docx is a file; --out names a folder"):
        report.anew(evidence, thesis)
    assert thesis.read_text() == "of years"


def test_no_sentence_of_others_is_in_it(make_build: Make) -> None:
    build = with_data(make_build())
    plan = files.read_yaml(build / "plan/catalog.yaml")
    files.write_yaml(build / "plan/catalog.yaml", plan | {"data_dir": f"/home/{SECRET}/corpora"})
    _, evidence = packed(build)
    tables = [pd.read_parquet(file).to_csv() for file in evidence.rglob("*.parquet")]
    texts = [file.read_text() for file in evidence.rglob("*.*") if file.suffix in (".json", ".yaml")]
    assert len(tables) == 8
    assert not any(SECRET in text for text in [*tables, *texts])
    assert files.read_json(evidence / "facts/data/report.json")["files"]["sst/dev"]["refused"] == [{}]


def test_what_a_table_of_predictions_holds(make_build: Make) -> None:
    _, evidence = packed(with_data(make_build(seeds=(1, 2))))
    table = pd.read_parquet(evidence / "predictions/sst-dev.parquet")
    assert list(table) == [
        "id", "label", "scored", "cluster", "in_train", "in_pretraining", "shares",
        "bert-sst/1", "bert-sst/2", "pals/1", "pals/2", "vote/1", "vote/2",
    ]  # fmt: skip
    assert table.dtypes["pals/1"] == np.uint8
    assert [(table["label"] == table[f"pals/{seed}"]).mean() for seed in (1, 2)] == [0.4, 0.41]
    assert table["in_train"].sum() == table["in_pretraining"].sum() == 1
    runs = pd.read_parquet(evidence / "runs.parquet")
    assert runs["withheld"].tolist()[-1] == "sst-test qqp-test sts-test"
    assert "Some CPU" in runs["run.json"][0]
    assert not (evidence / "predictions/sst-test.parquet").exists()
    counts = pd.read_parquet(evidence / "probabilities/sst.parquet")
    assert list(counts)[:4] == [f"bert-sst/1/{label}" for label in range(4)]


def test_altered_evidence_is_refused(make_build: Make) -> None:
    out, evidence = packed(with_data(make_build()))
    file = evidence / "predictions/sst-dev.parquet"
    table = pd.read_parquet(file)
    table["pals/1"] = table["label"].astype(np.uint8)
    table.to_parquet(file)
    with pytest.raises(DataError, match=r"is not as it was packed \(altered: predictions/sst-dev.parquet\)"):
        report.anew(evidence, out)
    files.seal(evidence)  # whoever alters the digest, too, has the scores of the run against them
    with pytest.raises(DataError, match=r"dev of pals, seed 1: metrics.json says .* the prediction files"):
        report.anew(evidence, out)


def test_a_runs_own_words_are_held_against_its_digests(make_build: Make) -> None:
    out, evidence = packed(with_data(make_build()))
    runs = pd.read_parquet(evidence / "runs.parquet")
    runs["settings.yaml"] = runs["settings.yaml"].str.replace("threads: 2", "threads: 1")
    runs.to_parquet(evidence / "runs.parquet")
    files.seal(evidence)
    with pytest.raises(
        DataError, match=r"in the evidence settings.yaml of bert-qqp, seed 1, is not as its run left it"
    ):
        report.anew(evidence, out)


def test_incomplete_evidence_is_refused(make_build: Make, tmp_path: Path) -> None:
    out, evidence = packed(with_data(make_build()))
    (evidence / "clouds.parquet").unlink()
    with pytest.raises(DataError, match=r"missing: clouds.parquet\); `git checkout "):
        report.anew(evidence, out)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty holds no digests.json, so `mtbert evidence` did not write it"):
        report.anew(tmp_path / "empty", out)


def test_runs_of_other_rows_make_no_evidence_together(make_build: Make) -> None:
    build = with_data(make_build())
    file = build / "runs/pals/1/predictions/sst-dev.parquet"
    pd.read_parquet(file).assign(id=[f"x{row}" for row in range(100)]).to_parquet(file)
    seal(build)
    with pytest.raises(
        DataError, match=r"dev predictions of sst by bert-sst/1 and by pals/1 hold other rows or labels"
    ):
        archive.pack(build, build.parent / "evidence")


def score_on_train(build: Path, name: str, labels: dict[str, float]) -> Path:
    """Have a run predict these training rows of SST, each one class too low."""
    file = build / f"runs/{name}/1/predictions/sst-train.parquet"
    table = pd.read_parquet(file.with_name("sst-dev.parquet")).head(len(labels))
    rows = {"id": list(labels), "label": list(labels.values()), "prediction": [label - 1 for label in labels.values()]}
    table.assign(**rows, scored=True).to_parquet(file)
    return file


def test_runs_that_score_other_training_rows_share_an_evidence(make_build: Make, tmp_path: Path) -> None:
    build = with_data(make_build())
    score_on_train(build, "bert-sst", {"t0": 4.0, "t1": 3.0, "t2": 2.0})
    score_on_train(build, "pals", {"t3": 1.0, "t1": 3.0})
    seal(build)
    evidence = alone(build)
    table = pd.read_parquet(evidence / "predictions/sst-train.parquet")
    assert table["id"].tolist() == ["t0", "t1", "t2", "t3"]
    assert table["label"].tolist() == [4, 3, 2, 1]
    assert table["bert-sst/1"].fillna(-1).tolist() == [3, 2, 1, -1]
    assert table["pals/1"].fillna(-1).tolist() == [-1, 2, -1, 0]
    assert not [column for column in table if column.endswith("/scored")]
    archive.unpack(evidence, tmp_path / "again")
    again = pd.read_parquet(tmp_path / "again/runs/pals/1/predictions/sst-train.parquet")
    assert again[["id", "label", "prediction", "scored"]].to_numpy().tolist() == [
        ["t1", 3, 2, True],
        ["t3", 1, 0, True],
    ]
    score_on_train(build, "pals", {"t1": 4.0})
    seal(build)
    with pytest.raises(DataError, match="train predictions of sst hold other labels, so that they make no evidence"):
        alone(build)


def test_runs_are_added_to_evidence(make_build: Make, tmp_path: Path) -> None:
    """As if all had been packed together; of a run in both, here `pals` with seed 1, what the build directory holds."""
    build = with_data(make_build(seeds=(1, 2)))
    plan = files.read_yaml(build / "plan/catalog.yaml")
    files.write_yaml(build / "plan/catalog.yaml", plan | {"seeds": [1]})
    archive.main(build, tmp_path, more=True)
    said = build / "runs/pals/1/predictions/sst-dev.parquet"
    pd.read_parquet(said).assign(prediction=2.0).to_parquet(said)
    seal(build)
    files.write_yaml(build / "plan/catalog.yaml", plan)
    archive.pack(build, tmp_path / "both")
    for place in (*build.glob("runs/bert-*/1"), *build.glob("ensembles/*/1")):
        shutil.rmtree(place)
    archive.main(build, tmp_path, more=True)
    assert contents(tmp_path / "sample-course/evidence") == contents(tmp_path / "both")


def test_runs_that_are_added_on_another_machine_leave_those_before_with_theirs(
    make_build: Make, tmp_path: Path
) -> None:
    build = with_data(make_build(seeds=(1, 2)))
    plan = files.read_yaml(build / "plan/catalog.yaml")
    files.write_yaml(build / "plan/catalog.yaml", plan | {"seeds": [1]})
    archive.main(build, tmp_path)
    files.write_yaml(build / "plan/catalog.yaml", plan | {"seeds": [2]})
    files.write_json(build / "machine.json", {"processor": "Another CPU", "accelerator": "", "torch": "2.13.0"})
    for _ in range(2):  # the second time all are there
        archive.main(build, tmp_path, more=True)
    evidence = tmp_path / "sample-course/evidence"
    report.anew(evidence, tmp_path / "report")
    told = (tmp_path / "report/details/runs.md").read_text(encoding="utf-8").splitlines()
    assert "Machine: Another CPU, torch 2.13.0." in told
    ran_there = "seed 1: `bert-qqp`, `bert-sst`, `bert-sts`, `pals`"
    assert f"On another machine, Some CPU, torch 2.13.0: {ran_there}." in told


def test_what_is_known_of_data_that_are_not_here_stays(make_build: Make, tmp_path: Path) -> None:
    build = with_data(make_build())
    archive.main(build, tmp_path)
    shutil.rmtree(build / "data/qqp")
    archive.main(build, tmp_path, more=True)
    assert {"cluster", "shares"} <= set(
        pd.read_parquet(tmp_path / "sample-course/evidence/predictions/qqp-dev.parquet")
    )


def test_a_corpus_with_another_number_of_rows_is_refused(make_build: Make) -> None:
    evidence = alone(build := with_data(make_build()))
    before = contents(evidence)
    found = files.read_json(build / "data/report.json")
    found["files"]["sst/dev"]["kept"] = 20_000
    files.write_json(build / "data/report.json", found)
    said = "what lies in the build directory: 100 rows of sst/dev there, 20,000 here; `mtbert evidence` without --add"
    with pytest.raises(DataError, match=said):
        archive.add(build, evidence)
    assert contents(evidence) == before


def test_what_was_found_of_corpora_that_are_not_here_stays(make_build: Make) -> None:
    build = with_data(make_build())
    counted = files.read_json(build / "data/report.json")["files"]["sst/dev"] | {"conflicts": [], "refused": []}
    overlap = {"rows": 100, "sharing": 0, "exact": 0, "folded": 0, "bare": 0}
    pairs = (("sst/dev", "snli/train"), ("sst/dev", "sst/train"), ("qqp/dev", "qqp/train"), ("sts/dev", "sts/train"))
    snli, sst, qqp, sts = ({"of": one, "with": other} | overlap for one, other in pairs)
    of_files = {"sst/dev": counted, "snli/train": counted | {"file": "snli.jsonl"}}
    found = {"files": of_files, "whose": "course", "missing": ["sts.csv", "mnli.jsonl"]}
    found |= {"overlaps": [sst, sts], "overlaps with pretraining": [snli]}
    files.write_json(build / "data/report.json", found)
    evidence = alone(build)
    of_files = {"sst/dev": counted, "sts/dev": counted | {"file": "sts.csv"}}
    found |= {"files": of_files, "missing": ["snli.jsonl", "mnli.jsonl"], "overlaps with pretraining": []}
    files.write_json(build / "data/report.json", found | {"overlaps": [sst | {"folded": 2}, qqp]})
    rows = build / "data/sst/dev-rows.parquet"
    pd.read_parquet(rows).assign(in_pretraining="").to_parquet(rows)
    archive.add(build, evidence)
    joined = files.read_json(evidence / "facts/data/report.json")
    assert {name: counts["file"] for name, counts in joined["files"].items()} == {
        "snli/train": "snli.jsonl", "sst/dev": "f.csv", "sts/dev": "sts.csv",
    }  # fmt: skip
    assert joined["missing"] == ["mnli.jsonl"]
    assert joined["overlaps"] == [sst | {"folded": 2}, qqp, sts]
    assert joined["overlaps with pretraining"] == [snli]
    packed_rows = pd.read_parquet(evidence / "predictions/sst-dev.parquet")
    assert packed_rows["in_pretraining"].tolist() == [False] * 99 + [True]
    assert (pd.read_parquet(rows)["in_pretraining"] == "").all()  # what lies in the build directory is not touched
    pd.read_parquet(rows).assign(id=[f"x{row}" for row in range(100)]).to_parquet(rows)
    with pytest.raises(DataError, match="the dev rows of sst are not those that the evidence was made with"):
        archive.add(build, evidence)


def pretrain(build: Path, after: float, **settings: object) -> None:
    """What SBERT's pretraining leaves; without settings, what a plan leaves that does not need it."""
    shutil.rmtree(build / "encoders", ignore_errors=True)
    files.write_yaml(build / "plan/pretrain-sbert.yaml", {"needed": bool(settings), **settings})
    if settings:
        scores = {"sts_dev_pearson_before": 0.5, "sts_dev_pearson_after": after, "pairs": 10, "steps": 4}
        files.write_json(build / "encoders/sbert/metrics.json", scores)


def test_a_plan_that_needs_no_pretraining_leaves_that_of_earlier_runs(make_build: Make, tmp_path: Path) -> None:
    build = with_data(make_build())
    pretrain(build, 0.6, seed=1, max_pairs=10)
    evidence = alone(build)
    before = contents(evidence)
    pretrain(build, 0.0)
    archive.add(build, evidence)
    assert contents(evidence) == before
    archive.unpack(evidence, tmp_path / "again")
    (told,) = runs.pretrainings(tmp_path / "again")
    assert told.startswith("## SBERT pretraining\n")
    assert "0.500 before, 0.600 after 4 steps" in told


def test_a_pretraining_takes_the_place_of_an_earlier_one_with_its_settings(make_build: Make) -> None:
    build = with_data(make_build())
    pretrain(build, 0.0)
    evidence = alone(build)
    for after in (0.6, 0.7):  # first of none, then of one that another machine has made again
        pretrain(build, after, seed=1, max_pairs=10)
        archive.add(build, evidence)
        scores = files.read_json(evidence / "facts/encoders/sbert/metrics.json")
        assert scores["sts_dev_pearson_after"] == after
    assert files.read_yaml(evidence / "facts/plan/pretrain-sbert.yaml")["needed"] is True


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 1, "max_pairs": 20}, "pretrain.sbert.max_pairs 10, what lies in the build directory with 20"),
        ({"seed": 2, "max_pairs": 10}, "pretrain.sbert.seed 1, what lies in the build directory with 2"),
    ],
)
def test_a_pretraining_with_other_settings_is_refused(make_build: Make, other: dict[str, int], said: str) -> None:
    build = with_data(make_build())
    pretrain(build, 0.6, seed=1, max_pairs=10)
    evidence = alone(build)
    before = contents(evidence)
    pretrain(build, 0.6, **other)
    with pytest.raises(DataError, match=f"the evidence was made with {said}; `mtbert evidence` without --add"):
        archive.add(build, evidence)
    assert contents(evidence) == before


def asked(build: Path, seeds: list[int], *variants: str) -> None:
    """A plan that asks for these seeds of these variants, and for the vote where it asks for `pals`."""
    plan = files.read_yaml(build / "plan/catalog.yaml")
    for name, row in plan["variants"].items():
        row["selected"] = name in variants
    plan["ensembles"]["vote"]["selected"] = "pals" in variants
    files.write_yaml(build / "plan/catalog.yaml", plan | {"seeds": seeds})


def test_more_seeds_of_some_variants_ask_for_none_of_the_others(make_build: Make, tmp_path: Path) -> None:
    """Seeds 1 and 2 of all but one variant that never ran, then 3 of `pals`, then 3 of `bert-sst`."""
    build = with_data(make_build(seeds=(1, 2, 3)))
    asked(build, [1, 2], "bert-sst", "bert-qqp", "bert-sts", "pals", "frozen-bert")
    archive.main(build, tmp_path)
    for name in ("pals", "bert-sst"):
        asked(build, [3], name)
        archive.main(build, tmp_path, more=True)
    evidence = tmp_path / "sample-course/evidence"
    plan = files.read_yaml(evidence / "facts/plan/catalog.yaml")
    assert plan["seeds"] == [1, 2, 3]
    assert {name: row.get("seeds") for name, row in plan["variants"].items()} == {
        "bert-sst": None, "bert-qqp": [1, 2], "bert-sts": [1, 2], "pals": None, "frozen-bert": [1, 2],
    }  # fmt: skip
    assert "seeds" not in plan["ensembles"]["vote"]
    archive.unpack(evidence, tmp_path / "again")
    completed = catalog.read_completed(tmp_path / "again")
    told = "**Not complete.** 2 variants have seeds 1 to 3, 2 have seeds 1 and 2; 1 was not run."
    assert summary.incomplete(completed) == [told]
    assert readme.missing(completed).splitlines() == [
        "## Not run yet", "",
        "The tables do without these; the commands above train them.", "", "- seeds 1, 2: `frozen-bert`",
    ]  # fmt: skip


def test_evidence_keeps_the_order_of_the_catalog(make_build: Make, tmp_path: Path) -> None:
    build, names = with_data(make_build()), ["pals", "frozen-bert", "bert-sst", "bert-qqp", "bert-sts"]
    plan = files.read_yaml(build / "plan/catalog.yaml")
    plan["variants"] = {name: plan["variants"][name] for name in names}
    files.write_yaml(build / "plan/catalog.yaml", plan, in_order=True)
    for more in (False, True):
        archive.main(build, tmp_path, more=more)
        archive.unpack(tmp_path / "sample-course/evidence", tmp_path / f"again-{more}")
        entries = catalog.read_completed(tmp_path / f"again-{more}").entries
        assert [entry.name for entry in entries] == [*names, "vote"]


@pytest.mark.parametrize(("first", "then"), [([4, 5], [1]), ([4, 5], [4, 1, 5])])
def test_seeds_keep_the_order_in_which_they_were_asked_for(
    make_build: Make, tmp_path: Path, first: list[int], then: list[int]
) -> None:
    """So that the first look stays of the same seeds."""
    build = with_data(make_build(seeds=(4, 5, 1)))
    names = ("bert-sst", "bert-qqp", "bert-sts", "pals")
    asked(build, first, *names)
    archive.main(build, tmp_path)
    asked(build, then, *names)
    archive.main(build, tmp_path, more=True)
    evidence = tmp_path / "sample-course/evidence"
    assert files.read_yaml(evidence / "facts/plan/catalog.yaml")["seeds"] == [4, 5, 1]
    archive.unpack(evidence, tmp_path / "again")
    completed = catalog.read_completed(tmp_path / "again")
    assert Evidence(tmp_path / "again", completed).planned == (4, 5, 1)
    assert completed.missing == ()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"code": "2e", "sources": {"adapters/pals.py": "aa"}}, "other code than"),
        ({"code": "1f", "sources": {"adapters/pals.py": "bb"}}, "other code of adapters/pals.py than"),
    ],
)
def test_seeds_that_were_trained_by_other_code_repeat_no_one_training(
    make_build: Make, other: dict[str, object], said: str
) -> None:
    build = with_data(make_build(seeds=(1, 2)))
    for seed, code in ((1, {"code": "1f", "sources": {"adapters/pals.py": "aa"}}), (2, other)):
        run = {"run": {"keep": "last", "selection": "whole"}, "seed": seed}
        files.write_yaml(build / f"runs/pals/{seed}/settings.yaml", run | code)
    seal(build)
    with pytest.raises(DataError, match=f"pals: seed 2 was trained by {said} seed 1, so they repeat no one training"):
        archive.pack(build, build.parent / "evidence")


def test_seeds_that_were_trained_otherwise_repeat_no_one_training(make_build: Make) -> None:
    build = with_data(make_build(seeds=(1, 2)))
    for seed, dim in ((1, 204), (2, 276)):
        run = {"run": {"keep": "last", "selection": "whole"}, "seed": seed, "model": {"adapter": {"dim": dim}}}
        files.write_yaml(build / f"runs/pals/{seed}/settings.yaml", run)
    seal(build)
    said = r"pals: seed 1 was trained with model.adapter.dim 204, seed 2 with 276, so they repeat no one training"
    with pytest.raises(DataError, match=said):
        archive.pack(build, build.parent / "evidence")


def test_a_vote_is_made_whose_members_come_from_two_places(make_build: Make, tmp_path: Path) -> None:
    build = with_data(make_build(test={"sst": 0.5}))
    shutil.rmtree(build / "ensembles")
    plan = files.read_yaml(build / "plan/catalog.yaml")
    plan["ensembles"]["vote"] |= {"members": ["bert-sst", "pals"], "selected": False}
    for added in (False, True):  # first all others, then pals
        for name, row in plan["variants"].items():
            row["selected"] = (name == "pals") == added
        files.write_yaml(build / "plan/catalog.yaml", plan)
        archive.main(build, tmp_path, more=added, vote=ensembling.ensemble)
    evidence = tmp_path / "sample-course/evidence"
    archive.unpack(evidence, tmp_path / "again")
    ensembling.ensemble("vote", ["bert-sst", "pals"], 1, _on_dev(tmp_path / "again/runs"), tmp_path / "voted")
    expected = pd.read_parquet(tmp_path / "voted/predictions/sst-dev.parquet")["prediction"]
    assert (pd.read_parquet(evidence / "predictions/sst-dev.parquet")["vote/1"] == expected).all()


def test_variants_that_were_trained_anew_take_the_place_of_all_their_earlier_runs(
    make_build: Make, tmp_path: Path
) -> None:
    build = with_data(make_build(seeds=(1, 2, 3)))
    every = ("bert-sst", "bert-qqp", "bert-sts", "pals")
    asked(build, [1, 2, 3], *every)
    for name in every:
        _trained_by(build, name, "1f", 1, 2, 3)
    archive.main(build, tmp_path)
    evidence = tmp_path / "sample-course/evidence"
    asked(build, [1, 2], "pals")
    _trained_by(build, "pals", "2e", 1, 2)
    shutil.rmtree(build / "ensembles")
    before = contents(evidence)
    with pytest.raises(DataError, match="pals: seed 3 was trained by other code than seed 1"):
        archive.main(build, tmp_path, more=True)
    with pytest.raises(DataError, match=r"holds 10 runs that .* lacks: bert-qqp/1, bert-qqp/2, bert-qqp/3 and 7 more"):
        archive.main(build, tmp_path)
    assert contents(evidence) == before
    archive.main(build, tmp_path, anew=True)
    after = contents(evidence)
    shutil.rmtree(build / "runs/pals/2")
    with pytest.raises(DataError, match="--anew would remove pals/2, which the same code trained as the runs in"):
        archive.main(build, tmp_path, anew=True)
    assert contents(evidence) == after
    archive.unpack(evidence, tmp_path / "again")
    completed = catalog.read_completed(tmp_path / "again")
    assert {entry.name: entry.seeds for entry in completed.ran} == {
        "bert-sst": (1, 2, 3), "bert-qqp": (1, 2, 3), "bert-sts": (1, 2, 3), "pals": (1, 2),
    }  # fmt: skip
    codes = {
        entry.name: {entry.settings(tmp_path / "again", seed)["code"] for seed in entry.seeds}
        for entry in completed.ran
    }
    assert codes == {"bert-sst": {"1f"}, "bert-qqp": {"1f"}, "bert-sts": {"1f"}, "pals": {"2e"}}


def test_a_vote_is_made_again_where_a_member_was_trained_anew(make_build: Make, tmp_path: Path) -> None:
    build, evidence = with_data(make_build()), tmp_path / "sample-course/evidence"
    members, vote = ["bert-sst", "pals"], "ensembles/vote/1"
    shutil.rmtree(build / "ensembles")
    ensembling.ensemble("vote", members, 1, build / "runs", build / vote)
    asked(build, [1], *members)
    plan = files.read_yaml(build / "plan/catalog.yaml")
    plan["ensembles"]["vote"] |= {"members": members, "selected": True}
    files.write_yaml(build / "plan/catalog.yaml", plan)
    archive.main(build, tmp_path)
    shutil.rmtree(build / "ensembles")
    asked(build, [1], "pals")
    labels = pd.read_parquet(build / "runs/pals/1/predictions/sst-dev.parquet")["label"].to_numpy()
    answers = pd.read_parquet(build / "runs/bert-sst/1/predictions/sst-dev.parquet")
    answers["prediction"] = labels
    for name in answers.filter(like="probability_"):
        answers[name] = (labels == int(name[-1])).astype(float)  # sure of it, so that a tie goes to pals
    answers.to_parquet(build / "runs/pals/1/predictions/sst-dev.parquet", index=False)
    metrics = files.read_json(build / "runs/pals/1/metrics.json")
    files.write_json(build / "runs/pals/1/metrics.json", metrics | {"dev": metrics["dev"] | {"sst": 1.0}})
    files.seal(build / "runs/pals/1")
    archive.main(build, tmp_path, anew=True, vote=ensembling.ensemble)
    archive.unpack(evidence, tmp_path / "again")
    voted = pd.read_parquet(tmp_path / "again" / vote / "predictions/sst-dev.parquet")
    assert (voted["prediction"] == voted["label"]).all()
    assert files.read_json(tmp_path / "again" / vote / "metrics.json")["dev"]["sst"] == 1.0


def _trained_by(build: Path, name: str, code: str, *seeds: int) -> None:
    for seed in seeds:
        run = {"run": {"keep": "last", "selection": "whole"}, "seed": seed, "code": code}
        files.write_yaml(build / f"runs/{name}/{seed}/settings.yaml", run)
        files.seal(build / f"runs/{name}/{seed}")


def _on_dev(runs: Path) -> Path:
    for file in runs.rglob("*-test.parquet"):
        file.unlink()
    for run in runs.glob("*/*"):
        files.seal(run)
    return runs


def test_what_was_changed_in_runs_before_stays_said(make_build: Make, tmp_path: Path) -> None:
    """A plan states departures of what it selects alone."""
    build = with_data(make_build())
    plan = files.read_yaml(build / "plan/catalog.yaml")
    plan["variants"]["pals"]["departures"] = {"pals.dim": 8}
    files.write_yaml(build / "plan/catalog.yaml", plan)
    archive.main(build, tmp_path)
    plan["variants"]["pals"] |= {"departures": {}, "selected": False}
    files.write_yaml(build / "plan/catalog.yaml", plan)
    archive.main(build, tmp_path, more=True)
    packed = files.read_yaml(tmp_path / "sample-course/evidence/facts/plan/catalog.yaml")["variants"]["pals"]
    assert (packed["departures"], packed["selected"]) == ({"pals.dim": 8}, True)


def test_evidence_of_what_the_plan_lacks_is_not_lost(make_build: Make) -> None:
    _, evidence = packed(build := with_data(make_build()))
    before = contents(evidence)
    plan = files.read_yaml(build / "plan/catalog.yaml")
    plan["variants"].pop("pals")
    plan.pop("ensembles")
    files.write_yaml(build / "plan/catalog.yaml", plan)
    with pytest.raises(DataError, match=r"the evidence holds pals, which params.yaml does not list"):
        archive.add(build, evidence)
    assert contents(evidence) == before


@pytest.mark.parametrize(
    ("key", "other"),
    [("encoder", {"name": "bert", "note": ""}), ("profile", "paper"), ("overrides", ["training.learning_rate=1"])],
)
def test_evidence_of_runs_that_were_made_otherwise_is_not_mixed(make_build: Make, key: str, other: object) -> None:
    _, evidence = packed(build := with_data(make_build()))
    before = contents(evidence)
    plan = files.read_yaml(build / "plan/catalog.yaml")
    files.write_yaml(build / "plan/catalog.yaml", plan | {key: other})
    with pytest.raises(DataError, match=f"the evidence was made with {key} "):
        archive.add(build, evidence)
    assert contents(evidence) == before


def test_runs_that_score_other_rows_lie_in_one_evidence(make_build: Make, tmp_path: Path) -> None:
    build = with_data(make_build())
    file = build / "runs/pals/1/predictions/sst-dev.parquet"
    pd.read_parquet(file).assign(scored=[row < 50 for row in range(100)]).to_parquet(file)
    seal(build)
    archive.pack(build, tmp_path / "evidence")
    archive.unpack(tmp_path / "evidence", tmp_path / "again")
    for name, scored in (("pals", 50), ("bert-sst", 100)):
        table = pd.read_parquet(tmp_path / f"again/runs/{name}/1/predictions/sst-dev.parquet")
        assert (len(table), int(table["scored"].sum())) == (100, scored)
    assert "pals/1/scored" in pd.read_parquet(tmp_path / "evidence/predictions/sst-dev.parquet")


def test_the_test_in_the_docs_prints_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs/evidence.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"(?:^(?: {4}.*)?\n)+", text.split("## A test of your own")[1], re.M)[1:]
    monkeypatch.chdir(ROOT)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec("\n".join(line[4:] for line in code.splitlines()), {})
    assert out.getvalue().strip() == printed.strip()

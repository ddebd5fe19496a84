"""What was judged, as two tables: read as it was written, or refused."""

from pathlib import Path

import made
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtbert.errors import DataError
from mtbert.judge import Judgement, Plan, Scoreboard, judge, tables
from mtbert.scores.described import TFIDF, UNTRAINED
from mtbert.scores.results import Results

ROWS = 60
LABELS = {"sst": (np.arange(ROWS) % 5).astype(float), "qqp": (np.arange(ROWS) % 2).astype(float),
          "sts": np.linspace(0, 5, ROWS)}  # fmt: skip
OWN = {"paper": None, "row": ""}
PLAN = Plan(6)


@pytest.fixture(scope="module")
def results() -> Results:
    """Rivals and a variant of one's own with six seeds, a baseline and the untrained encoder, on dev and on test."""
    random = np.random.default_rng(0)

    def said(share: float) -> dict[str, list[float]]:
        wrong = random.random(ROWS) > share
        return {task: np.where(wrong, np.roll(labels, 1), labels).tolist() for task, labels in LABELS.items()}

    shares = {"pals": 0.9, "lora-per-task": 0.85, "mine": 0.6, TFIDF: 0.5, UNTRAINED: 0.2}
    predicted = {(name, seed): said(share) for name, share in shares.items() for seed in range(1, 7)}
    for task in LABELS:
        predicted |= {(f"bert-{task}", seed): {task: said(0.9)[task]} for seed in range(1, 7)}
    about = {f"bert-{task}": {"row": "Fine-tuned BERT", "rival": "One model per task"} for task in LABELS}
    about |= {"pals": {"row": "Original PALs", "rival": "PALs"}, "lora-per-task": {"paper": "rivals", "rival": "LoRA"}}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(made, "LABELS", {task: labels.tolist() for task, labels in LABELS.items()})
        all_kinds = made.results(predicted, about | {"mine": OWN})
    kinds = {TFIDF: "baseline", UNTRAINED: "encoder"}
    runs = all_kinds.runs.assign(kind=all_kinds.runs["variant"].map(kinds).fillna(all_kinds.runs["kind"]))
    is_other_seed = runs["variant"].isin(kinds) & (runs["seed"] > 1)
    dev = all_kinds.predictions
    dev = dev[~dev["variant"].astype(str).isin(kinds) | (dev["seed"] == 1)]
    test = dev[~dev["variant"].astype(str).isin([UNTRAINED])].assign(split="test")
    return Results(runs[~is_other_seed], pd.concat([dev, test]), all_kinds.history)


@pytest.fixture(scope="module")
def judgement(results: Results) -> Judgement:
    return judge(Scoreboard(results), plan=PLAN)


def test_what_was_judged_is_read_as_it_was_written(judgement: Judgement, results: Results, tmp_path: Path):
    tables.write(judgement, tmp_path)
    again = tables.read(tmp_path, results, PLAN)
    parts = ("rows", "baselines", "paper_rows", "catalog", "confirmation")
    for part in parts:
        assert getattr(judgement, part), part
        assert getattr(again, part) == getattr(judgement, part), part
    ours, read = judgement.answer, again.answer
    assert ours is not None
    assert read is not None
    for part in (
        "ways",
        "plan",
        "majority",
        "baselines",
        "against_single_task",
        "against_best",
        "by_task",
        "choice",
    ):
        assert getattr(read, part) == getattr(ours, part), part
    assert ours.against_single_task
    assert ours.against_best


def test_the_tables_say_to_people_what_they_hold(judgement: Judgement, tmp_path: Path):
    tables.write(judgement, tmp_path)
    rows = pd.read_parquet(tmp_path / tables.ROWS)
    (line,) = rows[(rows["use"] == "ways") & (rows["label"] == "PALs") & (rows["metric"] == "sst")].to_dict("records")
    assert (line["models"], line["seeds"].tolist()) == (["pals"], [1, 2, 3, 4, 5, 6])
    assert line["low"] < line["mean"] < line["high"]
    comparisons = pd.read_parquet(tmp_path / tables.COMPARISONS)
    mine = comparisons[(comparisons["use"] == "catalog") & (comparisons["metric"] == "sst")]
    assert mine["verdict"].tolist() == ["worse"] * len(mine)
    assert mine["p"].max() < 0.05


@pytest.mark.parametrize("name", [tables.ROWS, tables.COMPARISONS])
def test_tables_that_are_missing_damaged_or_of_another_version_are_refused(
    judgement: Judgement, results: Results, tmp_path: Path, name: str
):
    tables.write(judgement, tmp_path)
    (tmp_path / name).write_bytes(b"no table")
    with pytest.raises(DataError, match=rf"{name} is not a whole Parquet file"):
        tables.read(tmp_path, results)
    pd.DataFrame({"use": ["rows"]}).to_parquet(tmp_path / name)
    with pytest.raises(DataError, match=rf"{name} has other columns.*`dvc repro judge`"):
        tables.read(tmp_path, results)
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=rf"{name} is missing; run the stage that makes it"):
        tables.read(tmp_path, results)


def test_rows_of_another_version_are_refused_not_left_out(judgement: Judgement, results: Results, tmp_path: Path):
    tables.write(judgement, tmp_path)
    rows = pd.read_parquet(tmp_path / tables.ROWS, dtype_backend="pyarrow")
    rows["use"] = rows["use"].replace("baselines", "untrained_rows")
    pq.write_table(pa.Table.from_pandas(rows, tables.ROW_COLUMNS, preserve_index=False), tmp_path / tables.ROWS)
    with pytest.raises(DataError, match=r"rows of another version than this one \(untrained_rows\); `dvc repro judge`"):
        tables.read(tmp_path, results)


def test_what_was_judged_of_other_results_is_refused(judgement: Judgement, results: Results, tmp_path: Path):
    tables.write(judgement, tmp_path)
    others = Results(results.runs.assign(dev_sst=0.5), results.predictions, results.history)
    with pytest.raises(DataError, match=r"was judged from other results than there are now; `dvc repro judge`"):
        tables.read(tmp_path, others, PLAN)


def test_what_was_judged_by_another_limit_is_refused(results: Results, tmp_path: Path):
    limited = Plan(6, limit={"milliseconds": 5.0})
    timed = Results(results.runs.assign(milliseconds=2.0), results.predictions, results.history)
    timed.runs.loc[timed.runs["variant"] == "pals", "milliseconds"] = 10.0
    tables.write(judge(Scoreboard(timed), plan=limited), tmp_path)
    assert tables.read(tmp_path, timed, limited).answer is not None
    with pytest.raises(DataError, match=r"the ways or the limit are others than were judged.*`dvc repro judge`"):
        tables.read(tmp_path, timed, PLAN)

"""The report of made-up results: its numbers, its tables, its page."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import made
import pandas as pd
import pytest

from mtbert.errors import DataError
from mtbert.judge import Judgement, Scoreboard, judge
from mtbert.judge import tables as judged
from mtbert.report import markdown, numbers, paper_tables, terminal, write
from mtbert.scores import tables
from mtbert.scores.described import UNTRAINED_LABEL
from mtbert.scores.metrics import OVERALLS
from mtbert.scores.results import Results
from mtbert.tasks import COURSE
from mtbert.tasks.task import dump_task

ROW = {"row": "Original PALs"}
BERT = {"row": "Fine-tuned BERT"}
SST, QQP, STS = [0, 1, 2, 0], [0, 1, 0, 0], [0, 1, 2, 5]
SETTINGS = {"pals": ROW, "bert-sst": BERT, "bert-qqp": BERT, "bert-sts": BERT, "mine": {"paper": None, "row": ""}}


@pytest.fixture(scope="module")
def results() -> Results:
    return made.results(
        {
            ("pals", 1): {"sst": SST, "qqp": QQP, "sts": STS},
            ("pals", 2): {"sst": [0, 1, 2, 3], "qqp": QQP, "sts": STS},
            ("bert-sst", 1): {"sst": SST},
            ("bert-qqp", 1): {"qqp": QQP},
            ("bert-sts", 1): {"sts": STS},
            ("mine", 1): {"sst": [4, 4, 4, 4]},
        },
        SETTINGS,
    )


@pytest.fixture(scope="module")
def judgement(results: Results) -> Judgement:
    return judge(Scoreboard(results))


@pytest.fixture(scope="module")
def report(judgement: Judgement, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "laptop"
    write.write(judgement, folder)
    return folder


def test_dvc_shows_one_score_a_variant(report: Path):
    shown = json.loads((report / "summary.json").read_text())
    assert shown == {"pals": 0.875, "bert-sst": 0.75, "bert-qqp": 0.75, "bert-sts": 1.0, "mine": 0.0}
    assert numbers.summary({"two": {"sst": 0.5, "qqp": 0.75}, "none": {}}, COURSE) == {"two": 0.625}
    all_tasks = {"sst": 0.5, "qqp": 0.75, "sts": 0.0, "overall_normalised": 0.6, "overall_raw": 0.4}
    assert numbers.summary({"all": all_tasks}, COURSE) == {"all": 0.4}


def test_means_have_six_decimals():
    predicted = {("two", seed): {"sst": [0, 1, 2, 3] if seed == 1 else SST} for seed in (1, 2, 3)}
    assert numbers.means(judge(Scoreboard(made.results(predicted))))["two"] == {"sst": 0.833333}


def test_means_over_seeds(judgement: Judgement):
    means = numbers.means(judgement)
    assert means["pals"] == {"sst": 0.875, "qqp": 0.75, "sts": 1.0} | dict.fromkeys(OVERALLS, 0.875)
    assert means["mine"] == {"sst": 0.0}
    assert numbers.bars(means)["bar"].tolist()[:2] == ["overall_normalised pals", "overall_raw pals"]


def test_every_run_is_a_line_of_results(report: Path):
    first, *others = csv.DictReader((report / "results.csv").read_text().splitlines())
    assert [first[key] for key in ("variant", "seed", "dev_sst", "times_bert")] == ["pals", "1", "0.750000", "1.100000"]
    assert len(others) == 5


def test_single_task_models_make_one_row_beside_the_published_one(judgement: Judgement):
    tables = paper_tables.tables(judgement)
    table, *_, own = tables
    assert [one.heading for one in tables if "test" in one.heading] == []  # labels of test are withheld
    bert, pals, *_ = table.rows
    assert (table.heading, table.absent) == ("Pals for PALs, table 1 (dev)", 5)
    assert (bert.label, bert.published["overall_raw"], markdown.estimate(bert.scores["overall_raw"])) == (
        "Fine-tuned BERT", 0.771, "0.833",
    )  # fmt: skip
    assert (bert.weights["times_bert"], bert.note) == (pytest.approx(3.3), "one model per task")
    assert (pals.label, pals.scores["sst"].mean, pals.seeds) == ("Original PALs", 0.875, (1, 2))
    assert (own.heading, [row.label for row in own.rows]) == ("Variants of one's own (dev)", ["mine"])


def first_table(results: Results) -> str:
    """The report's first table."""
    judgement = judge(Scoreboard(results))
    return paper_tables.render(paper_tables.tables(judgement)[0], judgement)


def with_untrained(results: Results, **scores: float) -> Results:
    """The same results, with these scores of the untrained encoder."""
    row = results.runs.iloc[[0]].assign(kind="encoder", variant="untrained-encoder", seed=0)
    row = row.assign(**{column: scores.get(column[4:]) for column in row if column.startswith("dev_")})
    return Results(pd.concat([results.runs, row]), results.predictions, results.history)


def test_a_row_that_is_not_trained_well_enough_has_a_mark_and_its_reason_below_the_table(results: Results):
    rows = first_table(with_untrained(results, sst=0.8)).splitlines()
    labels = [row.split("|")[1].strip() for row in rows[4:7]]
    assert labels == [UNTRAINED_LABEL, "Fine-tuned BERT \N{DAGGER}", "Original PALs"]  # 0.750 and 0.875
    reason = "Fine-tuned BERT: below the untrained encoder (SST-5)."
    assert rows[8] == f"\N{DAGGER} Not trained well enough to compare. {reason}"


def test_the_untrained_encoder_is_the_first_row(results: Results):
    rows = first_table(with_untrained(results, qqp=0.8, sts=0.9)).splitlines()
    assert [cell.strip() for cell in rows[4].split("|")][1:6:2] == [UNTRAINED_LABEL, markdown.DASH, "0.800"]


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (204, ["- Original PALs, SMART PALs: trained with the same settings here, so their scores are the same."]),
        (102, []),
    ],
)
def test_two_published_rows_that_are_one_training_here_are_told(dim, expected):
    def settings(row, dim):
        return {"row": row, "model": {"adapter": {"name": "pals", "dim": dim}}, "phases": []}

    predicted = {(name, 1): {"sst": SST, "qqp": QQP, "sts": STS} for name in ("pals", "smart-pals")}
    about = {"pals": settings("Original PALs", 204), "smart-pals": settings("SMART PALs", dim)}
    rendered = first_table(made.results(predicted, about)).splitlines()
    assert [line for line in rendered if "same settings" in line] == expected


def test_on_other_data_nothing_published_is_shown():
    predicted = {("pals", 1): {"sst": SST, "qqp": QQP, "sts": STS}}
    judgement = judge(Scoreboard(made.results(predicted, SETTINGS, {"whose": "sample"})))
    first = paper_tables.tables(judgement)[0]
    assert first.heading == "Pals for PALs, table 1 (dev of generated sentences, data/sample)"
    assert [(row.label, row.published) for row in first.rows] == [("Original PALs", {})]


def test_of_other_tasks_the_terminal_says_what_is_scored_and_what_the_mean_is():
    own = {"qqp": replace(COURSE["qqp"], metric="f1"), "sts": COURSE["sts"]}
    described = {name: dump_task(task) for name, task in own.items()}
    results = made.results({("pals", 1): {"qqp": QQP, "sts": STS}}, SETTINGS, {"tasks": described, "whose": "own"})
    judgement = judge(Scoreboard(results))
    told = terminal.in_short(judgement, Path("build/report/index.html"))
    scored = "QQP (F1 of duplicate), STS-B (Pearson)"
    assert f"\n\nThe mean is over {scored}, where a correlation or MCC, x, counts as (x + 1) / 2.\n\n" in told


def test_one_seed_has_an_interval_over_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(made, "LABELS", made.LABELS | {"sst": [0.0, 1.0] * 20})
    (row,) = judge(Scoreboard(made.results({("pals", 1): {"sst": [0.0] * 40}}))).rows
    assert markdown.estimate(row.scores["sst"]) == "0.500 [0.340, 0.660]"


def test_a_report_of_evidence_has_the_same_bytes(results: Results, report: Path, tmp_path: Path):
    for part in ("evidence", "third"):
        tables.write(results, tmp_path / "mine" / part)
    write.write(judge(Scoreboard(tables.read(tmp_path / "mine/evidence"))), tmp_path / "mine")
    again = {file.relative_to(tmp_path / "mine"): file for file in (tmp_path / "mine").rglob("*") if file.is_file()}
    first = {file.relative_to(report): file for file in report.rglob("*") if file.is_file()}
    evidence = {path for path in again if path.parts[0] in ("evidence", "third")}
    assert len(evidence) == 8  # what lies beside a report stays
    assert again.keys() - evidence == first.keys()
    assert [path for path in first if first[path].read_bytes() != again[path].read_bytes()] == []


def test_a_report_of_the_tables_of_what_was_judged_has_the_same_bytes(
    judgement: Judgement, results: Results, report: Path, tmp_path: Path
):
    judged.write(judgement, tmp_path)
    write.write(judged.read(tmp_path, results), tmp_path / "mine")
    for file in (file for file in report.rglob("*") if file.is_file()):
        assert (tmp_path / "mine" / file.relative_to(report)).read_bytes() == file.read_bytes(), file


def test_a_report_that_cannot_be_written_leaves_the_evidence_beside_it(
    judgement: Judgement, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    tables.write(results, tmp_path / "mine/evidence")
    with monkeypatch.context() as patched:
        patched.setattr("mtbert.files._put", lambda partial, path: full(path))
        with pytest.raises(OSError, match="No space left"):
            write.write(judgement, tmp_path / "mine")
    assert tables.read(tmp_path / "mine/evidence").runs["variant"].tolist() == results.runs["variant"].tolist()


def test_what_others_put_beside_a_report_is_not_replaced(judgement: Judgement, tmp_path: Path):
    write.write(judgement, tmp_path / "mine")
    (tmp_path / "mine/.DS_Store").touch()
    write.write(judgement, tmp_path / "mine")
    (tmp_path / "mine/notes.md").write_text("mine")
    with pytest.raises(DataError, match=r"mine holds notes\.md beside a report.*; move them, or name another folder"):
        write.write(judgement, tmp_path / "mine")
    assert (tmp_path / "mine/notes.md").read_text() == "mine"


def test_only_a_report_is_replaced(judgement: Judgement, tmp_path: Path):
    (tmp_path / "mine.txt").touch()
    for place in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(DataError, match="--out names"):
            write.write(judgement, place)


def test_weights_of_a_vote_count_every_member():
    vote = {"members": ["a", "b"], "row": "PALs ensemble"}
    judgement = judge(
        Scoreboard(made.results({(name, 1): {"sst": SST} for name in ("a", "b", "vote")}, {"vote": vote}))
    )
    assert [row.weights["times_bert"] for row in judgement.rows if row.names == ("vote",)] == [2.1]
    assert numbers.means(judgement)["vote"] == {"sst": 0.75}


def test_the_page_names_no_other_file_and_the_readme_only_files_that_are_there(report: Path):
    page = (report / "index.html").read_text()
    assert '<img src="pictures' not in page
    assert "`" not in page
    links = [part.partition(")")[0] for part in (report / "README.md").read_text().split("](")[1:]]
    assert [link for link in links if not (report / link).exists()] == []


def test_what_was_trained_on_another_machine_is_told(results: Results):
    of_run = results.runs["variant"].map({"mine": "AMD EPYC, torch 2.13.0"}).fillna("NVIDIA H100, torch 2.11.0")
    precision = results.runs["variant"].map({"mine": "fp32"}).fillna("bf16")
    runs = results.runs.assign(machine=of_run, precision=precision)
    apart = Results(runs, results.predictions, results.history)
    told = "**Trained apart**: most in bf16 on NVIDIA H100, torch 2.11.0; mine in fp32 on AMD EPYC, torch 2.13.0."
    assert [*write._notes(apart)][-1] == told
    alike = Results(runs.assign(machine="a", precision="bf16"), results.predictions, results.history)
    assert not any("Trained apart" in note for note in write._notes(alike))


def test_variants_that_are_scored_in_another_way_are_named():
    half, last = {"keep": "last", "selection": "half"}, {"keep": "last", "selection": "cross"}
    rules = {"a": half, "b": last, "c": {"keep": "last", "selection": "whole"}, "d": half, "e": last,
             "f": {"keep": "best", "selection": "cross"}}  # fmt: skip
    settings = {name: {"run": run} for name, run in rules.items()} | {"vote": {"members": ["a", "d"]}}
    results = made.results({(name, 1): {"sst": SST} for name in settings}, settings)
    assert [note for note in write._notes(results) if "poch" in note] == [
        "The last epoch is kept.",
        "**Scored in another way**, a, d: The last epoch is kept; dev scores are of one half of the set.",
        "**Scored in another way**, f: Each half of dev is scored with the epoch that is the best on the other half.",
    ]


def test_of_runs_without_changed_settings_none_is_told(results: Results):
    unknown = Results(results.runs.assign(overrides=None), results.predictions, results.history)
    assert not any("Changed settings" in note for note in write._notes(unknown))


def test_a_changed_setting_is_told_with_those_that_have_it_where_not_all_do(results: Results):
    of_run = results.runs["variant"].map({"mine": "training.epochs=2; pals.dim=8"}).fillna("pals.dim=8")
    changed = Results(results.runs.assign(overrides=of_run), results.predictions, results.history)
    assert [*write._notes(changed)][-1] == "**Changed settings**: pals.dim=8, training.epochs=2 (mine)."

"""Rows find their variants, join them, and say why a number is not there."""

# ruff: noqa: RUF001 (tables hold dashes, minus and multiplication signs)

import dataclasses
from collections.abc import Sequence

import pytest

from mtbert.outputs import Untrained
from mtbert.reporting import markdown, tables, terminal
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.claims import Comparison
from mtbert.reporting.published import METRICS, PublishedRow
from mtbert.reporting.results import Score, Weights
from mtbert.reporting.sections.tables import table_of

ALL = ("sst", "qqp", "sts")
PAPER = "pals-for-pals"
WEIGHTS = Weights(encoder=20_000_000, added=1_000_000, trained=21_000_000, stored=22_000_000, times_bert=1.05)
PUBLISHED = [
    PublishedRow(
        PAPER, "1", "PALs", "dev",
        {"sst": 0.5, "qqp": 0.9, "sts": 0.8, "overall_raw": 0.733, "overall_normalised": 0.767}, "raw", "a note",
    )
]  # fmt: skip


def entry(
    name: str, row: str = "PALs", tasks: tuple[str, ...] = ALL, paper: str = PAPER, selected: bool = True
) -> CompletedEntry:
    return CompletedEntry(name, paper, row, tasks, selected, seeds=(1,) if selected else ())


def catalog(*entries: CompletedEntry, seeds: tuple[int, ...] = (1,)) -> Completed:
    return Completed("sample", seeds, "last", "whole", "tiny", "untrained", "data/sample", entries)


def score(of: CompletedEntry, metric: str, value: float | None, seed: int = 1, split: str = "dev") -> Score:
    return Score(of.name, of.kind, of.paper, of.row, seed, split, metric, value)


def compare(plan: Completed, scores: list[Score], published: list[PublishedRow] = PUBLISHED) -> list[tables.Table]:
    return tables.compare(published, plan, scores, {e.name: WEIGHTS for e in plan.ran})


def test_single_task_variants_of_one_row_are_joined_and_a_second_model_stands_apart() -> None:
    sst, qqp, sts, other = (
        entry("a", tasks=("sst",)),
        entry("b", tasks=("qqp",)),
        entry("c", tasks=("sts",)),
        entry("d"),
    )
    assert tables.join([sst, qqp, sts, other]) == [[sst, qqp, sts], [other]]


def test_a_joined_row_has_an_overall_and_the_weights_of_all_its_models() -> None:
    parts = [entry("a", tasks=("sst",)), entry("b", tasks=("qqp",)), entry("c", tasks=("sts",))]
    found = [score(part, part.tasks[0], value) for part, value in zip(parts, (0.4, 0.8, 0.6), strict=True)]
    (table,) = compare(catalog(*parts), found)
    (row,) = table.rows
    assert {metric: row.cells[metric].ours for metric in table.metrics} == {
        "sst": 0.4, "qqp": 0.8, "sts": 0.6,
        "overall_raw": pytest.approx(0.6), "overall_normalised": pytest.approx(2 / 3),
    }  # fmt: skip
    assert row.cells["sst"].difference == pytest.approx(-0.1)
    assert row.variants == ("a", "b", "c")
    assert row.weights == Weights(20_000_000, 3_000_000, 63_000_000, 66_000_000, pytest.approx(3.15))  # pyright: ignore


def test_mean_and_sample_standard_deviation_over_seeds() -> None:
    pals = entry("pals")
    found = [score(pals, "sst", value, seed) for seed, value in ((1, 0.4), (2, 0.5), (3, 0.6))]
    cell = compare(catalog(pals, seeds=(1, 2, 3)), found)[0].rows[0].cells["sst"]
    assert (cell.ours, cell.spread, cell.seeds) == (pytest.approx(0.5), pytest.approx(0.1), 3)


def joined_row(seeds: dict[str, tuple[int, ...]]) -> tables.Row:
    """The row of a single-task variant for each task, which scored a tenth of its seed."""
    parts = [entry(task, tasks=(task,)) for task in seeds]
    found = [score(part, part.name, seed / 10, seed) for part in parts for seed in seeds[part.name]]
    (table,) = compare(catalog(*parts, seeds=(1, 2, 3)), found)
    return table.rows[0]


def test_all_cells_of_a_joined_row_are_of_the_seeds_that_all_its_variants_have() -> None:
    row = joined_row({"sst": (1, 2, 3), "qqp": (2, 3), "sts": (2, 3)})
    assert {metric: (row.cells[metric].ours, row.cells[metric].seeds) for metric in (*ALL, "overall_raw")} == {
        "sst": (pytest.approx(0.25), 2), "qqp": (pytest.approx(0.25), 2), "sts": (pytest.approx(0.25), 2),
        "overall_raw": (pytest.approx(0.25), 2),
    }  # fmt: skip
    assert row.seeds == 2


def test_variants_of_a_joined_row_that_share_no_seed_make_no_numbers() -> None:
    row = joined_row({"sst": (1,), "qqp": (2, 3), "sts": (2, 3)})
    assert {(row.cells[metric].ours, row.cells[metric].status) for metric in (*ALL, "overall_raw")} == {
        (None, "no shared seed")
    }
    assert row.seeds == 0


def test_where_a_paper_averages_two_tasks_so_do_we() -> None:
    two = entry("two", row="Two", tasks=("sst", "qqp"))
    published = [PublishedRow(PAPER, "4", "Two", "dev", {"sst": 0.5, "qqp": 0.7, "overall_raw": 0.6}, "raw")]
    (table,) = compare(catalog(two), [score(two, "sst", 0.4), score(two, "qqp", 0.9)], published)
    assert {metric: table.rows[0].cells[metric].ours for metric in table.metrics} == {
        "sst": 0.4, "qqp": 0.9, "overall_raw": pytest.approx(0.65),
    }  # fmt: skip


def test_why_a_number_is_not_there() -> None:
    pals = entry("pals")
    found = [score(pals, "sst", 0.4), score(pals, "qqp", None)]
    (table,) = compare(catalog(pals), found)
    assert {metric: table.rows[0].cells[metric].status for metric in table.metrics} == {
        "sst": "run", "qqp": "withheld", "sts": "not scored",
        "overall_raw": "not scored", "overall_normalised": "not scored",
    }  # fmt: skip
    for plan in (catalog(entry("pals", selected=False)), catalog(entry("other", row="Other", selected=False))):
        (table,) = compare(plan, [])
        assert {table.rows[0].cells[metric].status for metric in table.metrics} == {"not run"}


def test_rivals_have_a_table_in_which_rows_of_the_reports_stand_too() -> None:
    pals = dataclasses.replace(entry("pals"), rival="PALs")
    lora = dataclasses.replace(entry("rival-lora", row="LoRA"), paper="rivals")
    idle = entry("other", row="Other")
    tables = {table.name: table for table in compare(catalog(pals, idle, lora), [score(pals, "sst", 0.4)])}
    assert [(row.label, row.variants) for row in tables["rivals-variants"].rows] == [
        ("PALs", ("pals",)), ("LoRA", ("rival-lora",)),
    ]  # fmt: skip
    assert "LoRA" not in {row.label for name in tables if name != "rivals-variants" for row in tables[name].rows}


def test_several_models_of_a_row_are_named_and_rows_of_ones_own_follow_the_published() -> None:
    entries = (
        entry("idle", selected=False),
        entry("pals"),
        entry("new", row="My PALs"),
        entry("mine", row="mine", paper="own"),
    )
    table, own = compare(catalog(*entries), [score(entries[2], "sst", 0.7)])
    assert [row.label for row in table.rows] == ["PALs (pals)", "PALs (idle)", "My PALs"]
    assert [cell.published for cell in table.rows[2].cells.values()] == [None] * len(METRICS)
    assert table.rows[2].cells["sst"].ours == 0.7
    assert (own.name, [row.label for row in own.rows]) == ("own-variants", ["mine"])


def test_papers_without_a_variant_have_no_table() -> None:
    elsewhere = PublishedRow("slapbert", "1", "PALs", "dev", {"sst": 0.1})
    assert [table.paper for table in compare(catalog(entry("pals")), [], [elsewhere, *PUBLISHED])] == [PAPER]


def test_markdown_of_a_table() -> None:
    pals, idle = entry("pals"), entry("frozen", row="Frozen", selected=False)
    dev = ((1, 0.48, 0.92), (2, 0.5, 0.92))
    found = [s for seed, sst, qqp in dev for s in (score(pals, "sst", sst, seed), score(pals, "qqp", qqp, seed))]
    found += [score(pals, "sts", 0.8, seed) for seed in (1, 2)]
    plan = catalog(pals, idle, seeds=(1, 2))
    (table,) = compare(plan, found)
    assert markdown.render(table, plan) == (
        "## Pals for PALs, table 1 (dev)\n"
        "\n"
        "- Ours: profile `sample`, data `data/sample`, encoder `tiny`. Paper: bert-base-uncased.\n"
        "- Encoder `tiny`: untrained.\n"
        "- Epoch kept: the last; dev scores are of the whole set, on which nothing was chosen. "
        "Seeds: 1, 2 (ours is their mean, ± their sample standard deviation; 95 % is the mean's interval over seeds, "
        "Student's t).\n"
        "- `overall_raw` = (SST-5 + QQP + r) / 3, `overall_normalised` = (SST-5 + QQP + (r + 1) / 2) / 3; SST-5 and "
        "QQP are accuracies, r is Pearson's correlation on STS-B. The paper prints `overall_raw`; we computed its "
        "`overall_normalised` from its parts.\n"
        "- Weights in millions. Stored: what has to be kept for all tasks beside the encoder that a row's models start "
        "from, which is what they add and what they train of it. × BERT: all their weights over one encoder's, "
        "(encoder + added) / encoder.\n"
        "\n"
        "| row    |            |          SST-5 |            QQP |          STS-B |    overall_raw "
        "|   overall_normalised |   trained |   added |   stored |   × BERT |   seeds |\n"
        "|:-------|:-----------|---------------:|---------------:|---------------:|---------------:"
        "|---------------------:|----------:|--------:|---------:|---------:|--------:|\n"
        "| PALs   | paper      |          0.500 |          0.900 |          0.800 |          0.733 "
        "|                0.767 |           |         |          |          |         |\n"
        "|        | ours       |  0.490 ± 0.014 |  0.920 ± 0.000 |  0.800 ± 0.000 |  0.737 ± 0.005 "
        "|        0.770 ± 0.005 |     21.00 |    1.00 |    22.00 |     1.05 |       2 |\n"
        "|        | 95 %       | [0.363, 0.617] | [0.920, 0.920] | [0.800, 0.800] | [0.694, 0.779] "
        "|       [0.728, 0.812] |           |         |          |          |         |\n"
        "|        | difference |         −0.010 |         +0.020 |         +0.000 |         +0.004 "
        "|               +0.003 |           |         |          |          |         |\n"
        "| Frozen | paper      |              – |              – |              – |              – "
        "|                    – |           |         |          |          |         |\n"
        "|        | ours       |        not run |        not run |        not run |        not run "
        "|              not run |         – |       – |        – |        – |       – |\n"
        "\n"
        "- PALs, paper: a note.\n"
    )


def uneven(*counts: int, seeds: tuple[int, ...] = (1, 2, 3)) -> tuple[tables.Table, Completed]:
    """A table whose rows A, B, ... are of this many of the seeds each."""
    rows = [entry(name.lower(), name) for name, _ in zip("ABCD", counts, strict=False)]
    found = [score(row, "sst", 0.5, s) for row, count in zip(rows, counts, strict=True) for s in seeds[:count]]
    plan = catalog(*rows, seeds=seeds)
    (table,) = compare(plan, found, [PublishedRow(PAPER, "1", row.row, "dev", {}) for row in rows])
    return table, plan


def told(table: tables.Table, plan: Completed, word: str) -> str:
    """From this word on what stands in the one line that holds it above the table."""
    (line,) = [line for line in markdown.about(table, plan) if word in line]
    return line[line.index(word) :]


def test_above_rows_of_fewer_seeds_stands_how_many_they_have() -> None:
    spread = " (ours is their mean, ± their sample standard deviation; 95 % is the mean's interval over seeds, "
    for counts, words in (
        ((3, 3), "1, 2, 3"),
        ((3, 1), "1, 2, 3; a row has 1 to 3 of them, as its line says"),
        ((2, 2), "1, 2"),
    ):
        assert told(*uneven(*counts), "Seeds: ") == f"Seeds: {words}{spread}Student's t)."
    assert told(*uneven(1, 1), "Seeds: ") == "Seeds: 1 (one run each)."
    assert not any("Seeds: " in line for line in markdown.about(*uneven(0, 0)))


def against_a(
    table: tables.Table, found: dict[str, tuple[float, int]], monkeypatch: pytest.MonkeyPatch
) -> tables.Table:
    """The table with its rows compared with row A: p, and how many seeds both have."""

    def compare_rows(_: object, ours: Sequence[str], other: Sequence[str], __: object) -> Comparison:
        p, seeds = found[ours[0]]
        return Comparison(tuple(ours), tuple(other), "overall_raw", 0.1, 0.0, 0.2, p, p, seeds, 400, None, {})

    monkeypatch.setattr(tables, "compare_rows", compare_rows)
    (compared,) = tables.against([table], None, {table.name: ("a",)})  # pyright: ignore
    return compared


TESTED = (
    "p: of no difference from `a` in the overall score that the paper prints, or in the first that both have, "
    "corrected by Holm over the table "
)
BY_SEEDS = f"{TESTED}(hierarchical bootstrap). "
NO_VERDICT = "It is no verdict: see the claims."


def test_beside_rows_of_several_seeds_one_of_a_single_seed_is_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    table, plan = uneven(3, 3, 3, 1)
    table = against_a(table, {"b": (0.01, 3), "c": (0.04, 3), "d": (0.5, 1)}, monkeypatch)
    assert [row.against and row.against.corrected for row in table.rows] == [None, 0.02, 0.04, None]
    assert [markdown.p_of(row, table) for row in table.rows] == ["baseline", "0.020", "0.040", "–"]
    assert list(tables.compared([table])) == [(table.name, "B"), (table.name, "C")]
    assert told(table, plan, "p: ") == (
        f"{BY_SEEDS}It is over the seeds that both have, where these were made alike. Rows that share only one seed "
        f"with the baseline have no p, since one seed shows no noise of training: D. {NO_VERDICT}"
    )


def test_where_no_row_shares_several_seeds_all_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    table, plan = uneven(1, 1, 1, seeds=(1,))
    table = against_a(table, {"b": (0.01, 1), "c": (0.04, 1)}, monkeypatch)
    assert [row.against and row.against.corrected for row in table.rows] == [None, 0.02, 0.04]
    assert told(table, plan, "p: ") == (
        f"{TESTED}(of the examples alone: one seed shows nothing of training noise). {NO_VERDICT}"
    )


def test_of_which_seeds_a_p_is_stands_above_the_table_where_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    over = "It is over the seeds that both have, where these were made alike. "
    for counts, shared, words in (
        ((3, 3, 3), 3, ""),
        ((3, 3, 2), 2, over),
        ((3, 3, 3), 2, over),  # a seed that was made otherwise is in the row's mean, and is not compared
    ):
        table, plan = uneven(*counts)
        table = against_a(table, {"b": (0.01, 3), "c": (0.04, shared)}, monkeypatch)
        assert told(table, plan, "p: ") == f"{BY_SEEDS}{words}{NO_VERDICT}"


def test_a_row_of_faulty_code_is_marked_and_has_no_p(monkeypatch: pytest.MonkeyPatch) -> None:
    table, plan = uneven(3, 3, 3)
    (table,) = tables.marked([table], {"b", "d"})
    table = against_a(table, {"b": (0.01, 3), "c": (0.04, 3)}, monkeypatch)
    assert [markdown.label(table, row) for row in table.rows] == ["A", "B ‡", "C"]
    assert [row.against and row.against.corrected for row in table.rows] == [None, None, 0.04]
    assert [markdown.p_of(row, table) for row in table.rows] == ["baseline", "", "0.040"]
    assert markdown.render(table, plan).splitlines()[-1] == (
        "- ‡ Trained before a fault in the code was repaired; do not compare with rows without the mark."
    )
    assert markdown.below(uneven(3)[0]) == []
    (table,) = tables.marked([table], {"b", "c"})
    assert against_a(table, {}, monkeypatch).baseline == ()  # and the column of p is not there


def test_a_row_that_is_changed_and_of_faulty_code_has_both_marks() -> None:
    table, _ = uneven(3)
    row = dataclasses.replace(table.rows[0], departures=("pals.dim=276",), faulty=True)
    assert markdown.label(table, row) == "A † ‡"


def rivals(*entries: CompletedEntry, scores: Sequence[tuple[int, float]]) -> tuple[tables.Table, Completed]:
    """The table of rivals, in which these entries have these scores in every task."""
    plan = catalog(*entries)
    found = [score(entries[at], task, value) for at, value in scores for task in ALL]
    (table,) = compare(plan, found, [])
    return table, plan


def rival(name: str, row: str, selected: bool = True) -> CompletedEntry:
    return entry(name, row, paper="rivals", selected=selected)


def test_rows_of_no_paper_stand_by_their_overall_and_those_not_run_in_a_sentence() -> None:
    entries = rival("a", "A"), rival("b", "B", False), rival("c", "C"), rival("d", "D"), rival("e", "E, F", False)
    table, plan = rivals(*entries, scores=[(0, 0.5), (3, 0.7)])
    assert [row.label for row in table.rows] == ["D", "A", "C", "B", "E, F"]
    shown = markdown.render(table, plan).splitlines()
    assert [line.split("|")[1].strip() for line in shown if line.startswith("|")][2:] == ["D", "A", "C"]
    assert shown[-1] == "- Not run: B; E, F."
    table, plan = rivals(*entries[1::3], scores=[])  # of none that was run, all have a line
    assert [line.split("|")[1].strip() for line in markdown.grid(table).splitlines()[2:]] == ["B", "E, F"]
    assert markdown.below(table) == []


def test_rows_that_saw_some_training_rows_alone_are_named() -> None:
    few = [dataclasses.replace(rival(name.lower(), f"Few rows, {name}"), rows=1500) for name in "AB"]
    table, plan = rivals(*few, rival("c", "C"), scores=[(0, 0.5), (1, 0.4), (2, 0.7)])
    assert markdown.footnotes(table, plan) == ["Trained on 1,500 rows of each task: Few rows, A; Few rows, B."]


def test_rows_that_kept_another_epoch_than_the_rest_say_so() -> None:
    other = dataclasses.replace(entry("a"), kept=("best", "half"))
    plan = catalog(other, entry("b", "Second row"))
    (table,) = compare(plan, [score(other, "sst", 0.5)])
    assert markdown.footnotes(table, plan)[-1] == (
        "PALs, ours: epoch kept: the best on one half of dev; dev scores are of the other half."
    )


def test_withheld_test_labels_name_the_submission_files() -> None:
    pals = entry("pals")
    published = [PublishedRow(PAPER, "2", "PALs", "test", {"sst": 0.5, "qqp": 0.9})]
    found = [score(pals, "sst", None, split="test"), score(pals, "qqp", None, split="test")]
    (table,) = compare(catalog(pals), found, published)
    assert markdown.footnotes(table, catalog(pals)) == [
        "Withheld: the test labels of SST-5, QQP are not public. To have them scored, hand in `sst-test-output.csv`, "
        "`para-test-output.csv` from `build/submissions/pals/1/`."
    ]


def test_the_terminal_shows_a_row_a_line_within_100_columns() -> None:
    pals, idle = entry("pals"), entry("frozen", row="A row with quite a long name", selected=False)
    plan = catalog(pals, idle)
    found = [score(pals, task, value) for task, value in (("sst", 0.48), ("qqp", 0.92), ("sts", 0.8))]
    shown = terminal.render(compare(plan, found)[0], plan)
    assert shown == (
        "Pals for PALs, table 1 (dev)\n"
        "paper → ours; profile sample, encoder tiny, one seed\n"
        "\n"
        "      SST-5          QQP            STS-B          overall_raw    overall_normalised\n"
        "----  -------------  -------------  -------------  -------------  --------------------\n"
        "PALs  0.500 → 0.480  0.900 → 0.920  0.800 → 0.800  0.733 → 0.733  0.767 → 0.767\n"
        "1 more row of it: not run"
    )
    assert max(map(len, shown.splitlines())) <= 100


def test_the_terminal_says_of_how_many_seeds_the_rows_are_means() -> None:
    pals, frozen = entry("pals"), entry("frozen", row="Frozen PALs")
    plan = catalog(pals, frozen)
    twice = [score(pals, "sst", 0.4, seed) for seed in (1, 2)]
    both = [*twice, score(frozen, "sst", 0.4)]
    for found, words in ((twice, ", means of 2 seeds"), (both, ", means of 1 to 2 seeds"), ([], ", not run")):
        assert terminal.render(compare(plan, found)[0], plan).splitlines()[1].endswith(words)


def test_withheld_labels_of_a_task_that_the_course_does_not_grade_are_told_without_a_file_to_hand_in() -> None:
    snli = entry("a", tasks=("snli",))
    published = [PublishedRow(PAPER, "1", "PALs", "test", {})]
    (table,) = compare(catalog(snli), [score(snli, "snli", None, split="test")], published)
    assert "Withheld: the test labels of SNLI are not public.\n" in markdown.render(table, catalog(snli))


UNTRAINED = Untrained(sts=0.642, qqp=0.7, threshold=0.8, rows={})


def beside_untrained(known: Untrained | None = UNTRAINED, split: str = "dev") -> tables.Table:
    """A table of one row that scores 0.4, 0.9 and 0.6, beside what the untrained encoder knows."""
    pals = entry("pals")
    found = [score(pals, m, value, split=split) for m, value in (("sst", 0.4), ("qqp", 0.9), ("sts", 0.6))]
    published = [dataclasses.replace(PUBLISHED[0], split=split)]
    (table,) = tables.beside_untrained(compare(catalog(pals), found, published), known)
    return table


def test_the_untrained_encoder_is_the_first_row_and_a_score_below_it_is_marked() -> None:
    table = beside_untrained()
    lines = markdown.grid(table).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:6]] for line in lines[2:6]]
    assert cells == [
        ["Untrained encoder, cosine", "paper", "–", "–", "–"],
        ["", "ours", "–", "0.700", "0.642"],
        ["PALs", "paper", "0.500", "0.900", "0.800"],
        ["", "ours", "0.400", "0.900", "0.600 ↓"],
    ]
    legend = "↓ Below the untrained encoder: the training destroyed more of what it knew than it taught."
    assert markdown.below(table) == [legend]


def test_the_numbers_of_a_table_hold_the_untrained_encoder_and_what_is_below_it() -> None:
    tidy = beside_untrained().tidy()
    columns = ["row", "metric", "ours", "seeds", "below_untrained"]
    lines = tidy.loc[tidy["metric"].isin(["qqp", "sts"]), columns].values.tolist()
    assert lines == [
        ["Untrained encoder, cosine", "qqp", 0.7, 0, False], ["Untrained encoder, cosine", "sts", 0.642, 0, False],
        ["PALs", "qqp", 0.9, 1, False], ["PALs", "sts", 0.6, 1, True],
    ]  # fmt: skip


def test_the_page_shows_the_untrained_encoder_as_a_row_that_was_run() -> None:
    first, pals = table_of(beside_untrained(), catalog(entry("pals")))["rows"]
    assert (first["label"], first["run"], first["seeds"]) == ("Untrained encoder, cosine", True, 0)
    assert [cell["mark"] for cell in pals["cells"]] == ["", "", "↓", "", ""]


@pytest.mark.parametrize(
    ("known", "split"),
    [(None, "dev"), (UNTRAINED, "test"), (Untrained(sts=None, qqp=None, threshold=None, rows={}), "dev")],
)
def test_where_the_encoder_was_not_measured_or_the_table_has_no_dev_row_it_has_no_row(
    known: Untrained | None, split: str
) -> None:
    table = beside_untrained(known, split)
    assert [row.label for row in table.lines] == ["PALs"]
    assert "below_untrained" not in table.tidy()
    assert markdown.below(table) == []

"""The page's content, without a browser: what is told, and that no licensed sentence is handed on."""

import gzip
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from pages import HOSTILE, VERDICTS, page, write

from mtbert.reporting import catalog, report
from mtbert.reporting import page as rendered
from mtbert.reporting.costs import Cost
from mtbert.reporting.embeddings import Cloud
from mtbert.reporting.figures import rounded
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.page import rendering
from mtbert.reporting.sections import SECTIONS, costs, distances, embeddings, losses, summary
from mtbert.reporting.sections.base import Report


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("page") / "build")


@pytest.fixture(scope="module")
def html(build: Path) -> str:
    return page(build)


def content(html: str) -> dict[str, Any]:
    """What the script shows."""
    found = re.search(r'<script id="content" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


class Outline(HTMLParser):
    """Section ids, and every address that an element names."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sections: list[str | None] = []
        self.addresses: list[str | None] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.sections += [found.get("id")] if tag == "section" else []
        self.addresses += [found[name] for name in ("src", "href", "action") if name in found]


def test_every_section_is_there_and_nothing_names_another_place(html: str) -> None:
    outline = Outline(html)
    assert outline.sections == [
        "summary", "claims", "tables", "losses", "costs", "confusions", "distances", "misses", "embeddings", "data",
        "runs",
    ]  # fmt: skip
    assert [address for address in outline.addresses if not (address or "").startswith("#")] == ["data:,"]
    assert "default-src 'none'" in html


def test_a_sentence_is_text_and_never_markup(html: str) -> None:
    assert content(html)["sentences"]["sts"]["sts-3"] == [f"{HOSTILE} sts 3", "another 3"]
    assert "<script>document.title" not in html
    assert "&lt;script&gt;document.title" in html  # the statement of a claim


def test_without_sentences_there_is_none_and_it_says_where_they_are(tmp_path: Path) -> None:
    html = page(write(tmp_path / "build", "data/official", seeds=(1,)), local=False, verdicts=[])
    assert content(html)["sentences"] == {}
    assert "document.title" not in html
    assert "another 3" not in html
    assert "<code>build/report/index.html</code>" in html
    assert content(html)["misses"]["sst"]["pals"][0]["id"].startswith("sst-")


@pytest.mark.parametrize(("data_dir", "shown"), [("data/sample", True), ("data/official", False)])
def test_only_the_samples_sentences_are_committed(tmp_path: Path, data_dir: str, shown: bool) -> None:
    build = write(tmp_path / "build", data_dir, seeds=(1,))
    report.write(build, tmp_path / "reports", tmp_path / "submissions")
    written = {file: file.read_text() for file in tmp_path.glob("reports/**/*") if file.suffix in (".html", ".md")}
    assert len(written) > 2
    assert any("another 3" in text for text in written.values()) is shown
    assert "another 3" in (build / "report/index.html").read_text()


def test_verdicts_are_counted_and_told(html: str) -> None:
    counts = [(badge.text, count) for badge, count in summary.counts([VERDICTS[1], *VERDICTS])]
    assert counts == [("holds", 1), ("does not hold", 2), ("cannot be told", 1), ("not run", 1)]
    assert summary.counts([]) == []
    told = " ".join(re.sub(r"<[^>]+>", " ", html[html.index('id="claims"') : html.index('id="tables"')]).split())
    for words in (
        "pals against bert-sst", "+0.050", "+0.031", "+0.010 to +0.052",
        "p is 0.012 for holds and 0.340 for does not hold", "2,202", "0.024",
        "confounded: the order of tasks", "Why it is: does not hold.",
    ):  # fmt: skip
        assert words in told


def test_claims_that_were_told_stand_before_those_that_were_not_run(build: Path) -> None:
    html = page(build, verdicts=VERDICTS[::-1])
    shown = re.findall(r'<summary><span class="badge (\w+)"', html)
    assert shown == ["yes", "no", "open", "none"]


def test_a_section_of_the_markdown_names_files_without_a_link() -> None:
    assert rendering.below("## Leakage\n\nEach: [a.csv](a.csv).") == "### Leakage\n\nEach: `a.csv`."


def test_one_seed_is_said_to_tell_nothing_of_noise(tmp_path: Path, html: str) -> None:
    assert "cannot be concluded" not in html
    assert "cannot be concluded from this report" in page(write(tmp_path / "build", seeds=(1,)))


def test_runs_that_are_missing_are_named_and_one_command_makes_them(tmp_path: Path) -> None:
    build = write(tmp_path / "build")
    (build / "runs/pals/2").rename(tmp_path / "away")
    html = page(build)
    assert "<li>seed 2: <code>pals</code>, <code>vote</code></li>" in html
    command = (
        "dvc exp run -S profile=sample -S data_dir=data/sample -S &#39;variants=[bert-qqp,bert-sst,bert-sts,pals,"
        "sbert-pals]&#39; -S &#39;seeds=[1,2]&#39; -S pals.dim=276"
    )
    assert html.count(command) == 2
    assert "Some runs are missing" in html
    assert "<strong>1 to 2 seeds.</strong>" in html
    assert np.sum(content(html)["confusions"]["sst"]["pals"]) == 23
    assert np.sum(content(html)["confusions"]["sst"]["sbert-pals"]) == 2 * 23


def test_times_stand_in_the_local_page_alone(build: Path) -> None:
    committed, local = page(build, local=False), page(build)
    assert list(content(committed)["costs"]) == ["weights", "stored", "added"]
    assert list(content(local)["costs"]) == ["weights", "stored", "added", "time"]
    assert ("wall time" in committed, "wall time" in local) == (False, True)
    assert ("steps of training in all" in committed, "of training in all" in local) == (True, True)


def test_single_task_models_of_one_row_are_among_the_leaders_and_the_costs(html: str) -> None:
    leaders = html[html.index("Highest overall scores") : html.index('id="claims"')]
    assert "bert-qqp + bert-sst + bert-sts" in leaders
    overall, sst = (content(html)["costs"]["weights"][metric]["data"][0] for metric in ("overall_raw", "sst"))
    assert overall["text"] == ["Fine-tuned BERT", "pals", "sbert-pals", "vote"]
    assert overall["x"][0] == 3 * (1 + 1.25)
    assert sst["text"] == ["bert-sst", "pals", "sbert-pals", "vote"]


def test_the_number_of_what_matters_is_told(html: str) -> None:
    assert "What matters: 0.01 for SST-5" in html


def test_what_was_changed_is_told(html: str) -> None:
    assert html.count("changed: pals.dim=276") >= 2  # in the table of leaders and in the paper's
    assert "<strong>Changed settings.</strong>" in html


def test_where_nothing_is_known_the_page_says_so(tmp_path: Path) -> None:
    plan = replace(catalog.read_completed(write(tmp_path / "build")), entries=())
    nothing = Report(tmp_path / "none", plan, SECTIONS)
    nothing.verdicts = []
    html = rendered.render(nothing, local=True)
    for words in (
        "No run has left losses",
        "No run has scores",
        "not checked",
        "No run has left a log",
        "No claim was",
    ):
        assert words in html


def test_plotly_is_the_file_that_npm_has() -> None:
    unpacked = gzip.decompress(rendering.PLOTLY.read_bytes())
    assert hashlib.sha256(unpacked).hexdigest() == "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"


def test_rivals_have_a_figure_by_stored_and_by_trained_weights() -> None:
    one = Cost("one", "rivals", "One", ("one",), 10, 3_000_000, 2_000_000, 1.5, None, {"overall_raw": [0.5, 0.7]})
    shown = costs.by_weights([one])
    assert {name: figure["data"][0]["x"] for name, figure in shown.items()} == {"stored": [2.0], "trained": [3.0]}
    assert shown["stored"]["data"][0]["error_y"]["array"] == [1.2706]  # Student's t of two seeds, times 0.1
    assert shown["stored"]["layout"]["yaxis"]["range"] == [-0.9756, 2.1756]  # has room for the interval
    assert costs.by_weights([]) == {}


def test_figures_of_costs_show_faulty_code_hollow_and_few_rows_apart() -> None:
    shared = 10, 3_000_000, 2_000_000, 1.5, None, {"overall_raw": [0.5]}
    sound, faulty = (
        Cost("one", "rivals", "One", ("one",), *shared),
        Cost("two", "rivals", "Two", ("two",), *shared, faulty=True),
    )
    few = Cost("few", "rivals", "Few", ("few",), *shared, rows=500, faulty=True)
    points, *legend = costs.by_weights([sound, faulty, few])["stored"]["data"]
    assert points["marker"]["symbol"] == ["circle", "circle-open", "triangle-up-open"]
    assert [(entry["name"], entry["marker"]["symbol"]) for entry in legend] == [
        ("500 rows of each task", "triangle-up"), ("hollow: trained by faulty code", "circle-open"),
    ]  # fmt: skip
    assert costs.by_weights([sound])["stored"]["layout"]["showlegend"] is False


def test_every_figure_is_one_that_plotly_knows(html: str) -> None:
    found = content(html)
    trees = [found["losses"], found["costs"], {"distances": found["distances"]}, found["clouds"]]
    leaves = [leaf for tree in trees for leaf in _leaves(tree)]
    assert len(leaves) == 3 + 4 * 5 + 1 + 9 * 2
    for leaf in leaves:
        go.Figure({key: leaf[key] for key in ("data", "layout")})  # raises on a name or value that Plotly does not know


def _leaves(tree: dict[str, Any]) -> list[dict[str, Any]]:
    return [tree] if "data" in tree else [leaf for branch in tree.values() for leaf in _leaves(branch)]


def test_looks_of_48_variants_differ() -> None:
    looks = losses.styles([str(number) for number in range(48)])
    assert len({tuple(look.values()) for look in looks.values()}) == 48


def test_pairs_apart_are_joined_and_know_their_rows() -> None:
    places = np.arange(8.0).reshape(2, 2, 2)
    cloud = Cloud(["a", "b"], np.array([5.0, 2.0]), places, np.zeros((2, 2, 3)))
    data = embeddings.by_task({"sts": {"mine": cloud}}, {"sts": {"a": 7, "b": 8}})["sts"]["mine"]["2"]["data"]
    shown = [(trace["mode"], trace["x"], trace["meta"]) for trace in data]
    assert shown == [
        ("lines", [2.0, 6.0, None], {"colour": "between"}),
        ("markers", [2.0, 6.0], {"colour": "between", "rows": [8, 8], "apart": True}),
        ("lines", [0.0, 4.0, None], {"colour": "c0"}),
        ("markers", [0.0, 4.0], {"colour": "c0", "rows": [7, 7], "apart": True}),
    ]


def test_bars_of_distances_stand_in_order() -> None:
    def said(counts: list[list[int]]) -> Answers:
        return Answers(pd.Series(dtype=float), pd.DataFrame(), np.array(counts), 1)

    figure = distances.figure({"good": said([[3, 1], [0, 0]]), "bad": said([[1, 3], [0, 0]])})
    assert figure
    bars = [(trace["name"], trace["y"], trace["x"]) for trace in figure["data"]]
    assert bars == [("right", ["bad", "good"], [0.25, 0.75]), ("1 off", ["bad", "good"], [0.75, 0.25])]


def test_a_number_that_is_not_finite_is_null() -> None:
    assert rounded([1.26, float("nan"), float("inf")], 1) == [1.3, None, None]


def test_of_very_many_variants_the_first_are_shown_one_by_one_and_the_page_says_so(
    build: Path, html: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Many variants." not in html
    monkeypatch.setattr(catalog, "DETAILED", 4)
    shown = page(build)
    assert (
        "Embeddings, confusions, worst misses and pictures of losses show the first 4 of 5 variants, in the order of "
        "the catalog in params.yaml. All else is of all of them."
    ) in shown
    found = content(shown)
    assert [list(found[part]["sst"]) for part in ("clouds", "confusions", "misses")] == [
        ["bert-sst", "pals"],
        ["bert-sst", "pals", "vote"],
        ["all variants", "bert-sst", "pals", "vote"],
    ]
    assert [line["name"] for line in found["losses"]["sst"]["data"]] == ["bert-sst", "pals", "sbert-pals"]
    everyone = content(html)["misses"]["sst"]["all variants"]
    assert found["misses"]["sst"]["all variants"] == everyone

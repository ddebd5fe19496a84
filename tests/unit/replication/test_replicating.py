"""What is concluded of the papers' claims: judged, written as tables, read, and shown by the report."""

from pathlib import Path

import made
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtbert.errors import DataError
from mtbert.judge import BudgetRuns
from mtbert.replication import Replication, claims_section, replicate, report, submissions, tables
from mtbert.scores.results import Results

SST, QQP, STS = [0, 1, 2, 0], [0, 1, 0, 0], [0, 1, 2, 5]
BERT = {"row": "Fine-tuned BERT"}
SETTINGS = {"pals": {"row": "Original PALs"}, "bert-sst": BERT, "bert-qqp": BERT, "bert-sts": BERT}


@pytest.fixture(scope="module")
def results() -> Results:
    return made.results(
        {
            ("pals", 1): {"sst": SST, "qqp": QQP, "sts": STS},
            ("bert-sst", 1): {"sst": SST},
            ("bert-qqp", 1): {"qqp": QQP},
            ("bert-sts", 1): {"sts": STS},
        },
        SETTINGS,
    )


@pytest.fixture(scope="module")
def replication(results: Results) -> Replication:
    return replicate(results)


def test_claims_are_judged_of_these_tables(replication: Replication):
    known = BudgetRuns.from_results(replication.judgement.results)
    assert known.dev["qqp"].predictions["pals", 1].tolist() == QQP
    assert known.dev["sst"].rows["leaked"].tolist() == [True, False, False, False]
    (close,) = [result for result in replication.claims if result.claim.name == "pals-close-to-single"]
    assert claims_section.verdict(close) == "not comparable: budgets"  # 20 updates beside 60


def test_on_other_data_nothing_is_claimed():
    results = made.results({("pals", 1): {"sst": SST, "qqp": QQP, "sts": STS}}, SETTINGS, {"whose": "sample"})
    replication = replicate(results)
    assert not replication.claims
    assert not replication.questions


def test_what_was_judged_is_read_as_it_was_written(replication: Replication, results: Results, tmp_path: Path):
    tables.write(replication, tmp_path / "judged")
    again = tables.read(tmp_path / "judged", results)
    assert replication.claims
    assert again.claims == replication.claims
    assert again.questions == replication.questions
    assert again.judgement.rows == replication.judgement.rows


def test_a_report_of_the_tables_of_what_was_judged_has_the_same_bytes(
    replication: Replication, results: Results, tmp_path: Path
):
    tables.write(replication, tmp_path / "judged")
    report.write(replication, tmp_path / "first")
    report.write(tables.read(tmp_path / "judged", results), tmp_path / "again")
    first = {file.relative_to(tmp_path / "first"): file for file in (tmp_path / "first").rglob("*") if file.is_file()}
    assert {"claims.csv", "pictures/questions.png"} <= {path.as_posix() for path in first}
    for path, file in first.items():
        assert (tmp_path / "again" / path).read_bytes() == file.read_bytes(), path


def test_the_page_has_questions_before_and_claims_behind_the_tables(replication: Replication, tmp_path: Path):
    report.write(replication, tmp_path / "mine")
    page = (tmp_path / "mine/README.md").read_text()
    places = [page.index(part) for part in ("pictures/questions.png", "## Tables", "## Claims")]
    assert places == sorted(places)


def test_a_claim_that_the_papers_make_no_more_is_refused(replication: Replication, results: Results, tmp_path: Path):
    tables.write(replication, tmp_path / "judged")
    file = tmp_path / "judged" / tables.CLAIMS
    lines = pd.read_parquet(file)
    lines["claim"] = lines["claim"].where(lines["use"] != "claims", "a claim of yesterday")
    pq.write_table(pa.Table.from_pandas(lines, tables.COLUMNS, preserve_index=False), file)
    with pytest.raises(DataError, match=r"is of other papers .*a claim of yesterday"):
        tables.read(tmp_path / "judged", results)


def test_submissions_have_the_courses_form(tmp_path: Path):
    results = made.results({("pals", 1): {"sst": SST}})
    of_train = results.predictions.assign(split="train")
    submissions.write(
        Results(results.runs, pd.concat([results.predictions, of_train]), results.history), tmp_path / "out"
    )
    (file,) = tmp_path.rglob("*.csv")
    assert file.relative_to(tmp_path).as_posix() == "out/pals/1/sst-dev-output.csv"
    assert file.read_text().startswith("id \t Predicted_Sentiment \nsst-0 , 0 \nsst-1 , 1 \n")

"""The whole report from a synthetic build directory."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mtbert import files
from mtbert.errors import DataError, SettingsError
from mtbert.reporting import fairness, report

Make = Callable[..., Path]


def write(build: Path) -> tuple[Path, str]:
    out = build.parent / "reports" / "sample"
    return out, report.write(build, out, build / "submissions")


def contents(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def test_what_is_written(make_build: Make) -> None:
    out, shown = write(make_build())
    paper = "pals-for-pals"
    pictures = [
        "claims-pals-for-pals",
        "claims-rivals",
        "costs",
        "distances",
        *(f"{paper}-confusion-{task}" for task in ("qqp", "sst")),
    ]
    pictures += [f"{paper}-loss-{task}" for task in ("qqp", "sst", "sts")]
    assert sorted(contents(out)) == [
        "README.md", "claims.csv", "comparisons.csv", "curves.csv",
        *(f"details/{name}.md" for name in ("claims", "data", "leakage", "misses", "pictures", "runs")),
        "index.html", "leakage.csv",
        *(f"pictures/{name}.png" for name in pictures),
        "results.csv", "runs.csv", "scores.csv", "summary.json",
        "tables/pals-for-pals-table-1.csv", "tables/pals-for-pals-table-1.md",
        "tables/pals-for-pals-table-2.csv", "tables/pals-for-pals-table-2.md",
    ]  # fmt: skip
    lines = shown.splitlines()
    assert lines[5] == "Fine-tuned BERT  0.543 → 0.450  0.884 → 0.850  0.886 → 0.650  0.771 → 0.650  0.790 → 0.708"
    assert lines[-5:] == [
        "Without a result of ours, and in the report alone: 1 more table.",
        "",
        f"Open the page:     {(out.parents[1] / 'build/report/index.html').as_uri()}",
        "Compare the runs:  make mlflow",
        "Change something:  . .venv/bin/activate; dvc exp run -S pals.dim=276",
    ]


def test_what_is_committed_does_not_depend_on_the_clock(make_build: Make) -> None:
    build = make_build(seeds=(1, 2))
    out, _ = write(build)
    before = contents(out)
    for file in build.glob("logs/*/*/*/run.json"):
        log = files.read_json(file)
        files.write_json(file, log | {"seconds": 9999.0, "training_seconds": 8888.0, "peak_memory_mb": 7777.0})
    write(build)
    assert contents(out) == before
    assert "2 h 46 min" in (build / "report/index.html").read_text()
    assert set(pd.read_csv(build / "report/runs.csv")["seconds"]) == {9999.0}
    for file in build.glob("logs/*/*/*/run.json"):
        file.unlink()
    write(build)
    assert contents(out) == before


def test_ones_own_data_have_no_published_numbers_beside_them(make_build: Make) -> None:
    build = make_build()
    plan = files.read_yaml(build / "plan/catalog.yaml")
    files.write_yaml(build / "plan/catalog.yaml", plan | {"data_dir": "/home/me/reviews"})
    out, shown = write(build)
    assert "0.543" not in "".join(file.read_text() for file in out.rglob("*.md"))
    assert "Fine-tuned BERT  0.450    0.850  0.650" in shown
    page = (out / "index.html").read_text()
    assert ">paper</th>" not in page
    assert ">published</th>" not in page
    assert sorted(path.name for path in (out / "tables").glob("*.md")) == [
        "pals-for-pals-table-1.md", "pals-for-pals-table-2.md",
    ]  # fmt: skip


def test_rows_with_the_same_changes_share_a_note_and_threads_are_none(make_build: Make) -> None:
    build = make_build()
    plan = files.read_yaml(build / "plan/catalog.yaml")
    for name in ("bert-sst", "bert-qqp", "bert-sts", "pals"):
        plan["variants"][name]["departures"] = {"training.epochs": 2, "run.threads": 1}
    files.write_yaml(build / "plan/catalog.yaml", plan)
    _, shown = write(build)
    assert "† Fine-tuned BERT, Original PALs, ours: changed from the shipped settings: `training.epochs=2`." in shown


def test_a_changed_row_is_marked_everywhere(make_build: Make) -> None:
    build = make_build()
    plan = files.read_yaml(build / "plan/catalog.yaml")
    plan["variants"]["pals"]["departures"] = {"pals.dim": 276}
    files.write_yaml(build / "plan/catalog.yaml", plan)
    out, shown = write(build)
    told = "† Original PALs, ours: changed from the shipped settings: `pals.dim=276`."
    assert "Original PALs †  0.509 → 0.400" in shown
    assert told in shown
    table = (out / "tables/pals-for-pals-table-1.md").read_text()
    assert "| Original PALs † |" in table
    assert f"- {told}" in table
    assert "`pals.dim=276`" in (out / "README.md").read_text()
    assert "changed: pals.dim=276" in (out / "index.html").read_text()
    assert pd.read_csv(out / "results.csv").dropna(subset="departures")["variant"].tolist() == ["pals"]
    numbers = pd.read_csv(out / "tables/pals-for-pals-table-1.csv").dropna(subset="departures")
    assert set(numbers["row"]) == {"Original PALs"}


def test_what_faulty_code_trained_is_marked_everywhere(make_build: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairness, "FAULTS", {"1f": "rows were read twice"})
    build = make_build()
    settings = files.read_yaml(build / "runs/pals/1/settings.yaml")
    more = {"code": "1f", "phases": [{"rows": 500}, {}]}
    files.write_yaml(build / "runs/pals/1/settings.yaml", settings | more)
    files.seal(build / "runs/pals/1")
    out, shown = write(build)
    note = "‡ Trained before a fault in the code was repaired; do not compare with rows without the mark."
    assert "Original PALs ‡  0.509 → 0.400" in shown
    assert note in shown
    table = (out / "tables/pals-for-pals-table-1.md").read_text()
    assert "| Original PALs ‡ |" in table
    assert "| PALs ensemble ‡ |" in table  # for the sake of its member
    assert "| Fine-tuned BERT |" in table
    assert table.endswith(f"- Trained on 500 rows of each task: Original PALs.\n- {note}\n")
    leaders = (out / "README.md").read_text().partition("## Highest overall scores")[2]
    assert "noise. Left out: 2 rows of code with a fault, or of fewer seeds than others.\n" in leaders
    assert "Fine-tuned BERT (Pals for PALs) " in leaders
    assert "‡" not in leaders.partition("## What")[0]
    page = (out / "index.html").read_text()
    assert page.count(f'<p class="note">{note}</p>') == 2  # below two tables
    assert page.count('<th scope="row">Original PALs ‡<small>') == 2
    for name in ("results.csv", "scores.csv", "runs.csv"):
        lines = pd.read_csv(out / name)
        assert set(lines.loc[lines["faulty"], "variant"]) == {"pals", "vote"} & set(lines["variant"])
    numbers = pd.read_csv(out / "tables/pals-for-pals-table-1.csv")
    assert set(numbers.loc[numbers["faulty"], "row"]) == {"Original PALs", "PALs ensemble"}
    compared = pd.read_csv(out / "comparisons.csv")
    assert list(compared.columns)[-1] == "faulty"
    assert compared.empty


def test_summary_holds_means_of_dev_scores_over_seeds(make_build: Make) -> None:
    out, _ = write(make_build(seeds=(1, 2)))
    pals = {"sst": 0.405, "qqp": 0.805, "sts": 0.605, "overall_raw": 0.605, "overall_normalised": 0.670833}
    assert files.read_json(out / "summary.json") == {
        "bert-qqp": {"qqp": 0.855}, "bert-sst": {"sst": 0.455}, "bert-sts": {"sts": 0.655}, "pals": pals, "vote": pals,
    }  # fmt: skip


def test_results_hold_every_run_and_seed(make_build: Make) -> None:
    out, _ = write(make_build(seeds=(1, 2), test={"sst": 0.3}))
    table = pd.read_csv(out / "results.csv")
    assert table[["variant", "seed", "dev_sst", "test_sst"]].dropna().to_csv(index=False) == (
        "variant,seed,dev_sst,test_sst\n"
        "bert-sst,1,0.45,0.3\nbert-sst,2,0.46,0.3\npals,1,0.4,0.3\npals,2,0.41,0.3\nvote,1,0.4,0.3\nvote,2,0.41,0.3\n"
    )
    assert len(table) == 10


def test_tidy_csv_of_a_table(make_build: Make) -> None:
    out, _ = write(make_build())
    table = pd.read_csv(out / "tables" / "pals-for-pals-table-1.csv")
    assert len(table) == 7 * 5
    assert table.query("row == 'Original PALs' and metric == 'sst'").to_csv(index=False) == (
        "paper,table,row,split,metric,published,ours,difference,std,low,high,seeds,status,variants,departures,faulty,"
        "encoder,added,trained,stored,times_bert,printed_scale,note\n"
        "pals-for-pals,1,Original PALs,dev,sst,0.509,0.4,-0.109,,,,1,run,pals,,False,"
        "1000000.0,250000.0,1250000.0,1250000.0,1.25,raw,\n"
    )


def test_withheld_test_sets_are_said_to_be_withheld(make_build: Make) -> None:
    build = make_build(test={"sst": 0.3})
    out, _ = write(build)
    page = (out / "tables" / "pals-for-pals-table-2.md").read_text()
    assert (
        "|               | ours       |   0.300 | withheld | withheld |      withheld |             withheld |" in page
    )
    assert (
        "- Withheld: the test labels of QQP, STS-B are not public. To have them scored, hand in "
        "`para-test-output.csv`, `sts-test-output.csv` from `build/submissions/pals/1/`, `build/submissions/vote/1/`."
    ) in page
    assert (build / "submissions" / "vote" / "1" / "para-test-output.csv").is_file()
    assert sorted(path.name for path in (build / "submissions" / "bert-qqp" / "1").iterdir()) == [
        "para-dev-output.csv", "para-test-output.csv",
    ]  # fmt: skip


def test_the_same_build_gives_the_same_bytes(make_build: Make) -> None:
    build = make_build(seeds=(1, 2))
    out, _ = write(build)
    before = contents(out)
    files.write_text(out / "stale.md", "left by an earlier report")
    write(build)
    assert contents(out) == before


def test_a_missing_run_is_named_with_the_command_that_makes_it_and_the_rest_is_shown(make_build: Make) -> None:
    build = make_build(seeds=(1, 2))
    shutil.rmtree(build / "runs" / "bert-sst" / "2")
    shutil.rmtree(build / "ensembles" / "vote" / "1")
    out, _ = write(build)
    readme = (out / "README.md").read_text()
    assert "- seed 2: `bert-sst`\n- seed 1: `vote`\n" in readme
    runs = pd.read_csv(out / "results.csv").groupby("variant")["seed"].agg(list).to_dict()
    assert runs == {"bert-qqp": [1, 2], "bert-sst": [1], "bert-sts": [1, 2], "pals": [1, 2], "vote": [2]}


def test_nothing_that_ran_is_no_report(make_build: Make) -> None:
    build = make_build()
    shutil.rmtree(build / "runs")
    shutil.rmtree(build / "ensembles")
    with pytest.raises(DataError, match=r"no results below .*; `dvc repro` makes those that params.yaml asks for"):
        write(build)


def test_leftovers_of_unlisted_variants_and_seeds_do_not_count(make_build: Make) -> None:
    build = make_build()
    for leftover in (build / "runs" / "old" / "1", build / "runs" / "pals" / "9", build / "ensembles" / "old" / "1"):
        files.write_json(leftover / "metrics.json", {"dev": {"sst": 0.9}})
    out, _ = write(build)
    table = pd.read_csv(out / "results.csv")
    assert set(table["variant"]) == {"bert-qqp", "bert-sst", "bert-sts", "pals", "vote"}
    assert set(table["seed"]) == {1}


def test_no_catalog_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"catalog.yaml is missing; `dvc repro plan` makes it"):
        write(tmp_path / "build")


def test_a_run_of_an_earlier_version_is_told(make_build: Make) -> None:
    build = make_build()
    (build / "runs/pals/1/digests.json").unlink()
    with pytest.raises(
        DataError, match=r"pals/1 holds no digests.json.*earlier version.*dvc repro train@pals-1` makes"
    ):
        write(build)


def test_a_vote_of_members_that_are_not_there_does_not_count(make_build: Make) -> None:
    build = make_build()
    shutil.rmtree(build / "runs" / "pals")
    out, _ = write(build)
    assert set(pd.read_csv(out / "results.csv")["variant"]) == {"bert-qqp", "bert-sst", "bert-sts"}

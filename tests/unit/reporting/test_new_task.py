"""A task that no paper reports is trained, voted on, tabled and claimed like the others."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

from mtbert import files

TESTS = Path(__file__).parents[2]


def test_a_new_row_of_the_table_of_tasks_reaches_every_table_and_a_claim(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
    command = [sys.executable, str(TESTS / "newcomer.py"), str(tmp_path)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert "metric='likeness', difference=0.0, low=0.0, high=0.0" in done.stdout
    report = tmp_path / "report"
    results = pd.read_csv(report / "results.csv").set_index("variant")
    assert set(results.index) == {"other", "small", "vote"}
    assert results["dev_likeness"].notna().all()
    summary = files.read_json(report / "summary.json")
    assert all(set(scores) == {"sst", "likeness"} for scores in summary.values())
    table = pd.read_csv(report / "tables/pals-for-pals-table-1.csv").set_index(["row", "metric"])
    assert all(table.loc[(name, "likeness"), "status"] == "run" for name in ("other", "small", "vote"))
    heading = next(
        line for line in (report / "tables/pals-for-pals-table-1.md").read_text().splitlines() if "|" in line
    )
    assert "SST-5 |     QQP |   STS-B |   Likeness" in heading
    assert ">Likeness<" in (report / "index.html").read_text()

"""The search for learning rates, as the report shows it."""

from pathlib import Path

import pytest

from mtbert.errors import DataError
from mtbert.reporting import searches

CSV = """kind,variant,rate,seed,sst,qqp,mean,chosen,rows,steps
encoder,pals,0.0001,1,0.4,0.5,0.45,False,2000,40
encoder,pals,0.0003,1,0.5,0.5,0.5,True,2000,40
encoder,pals,0.001,1,0.3,0.5,0.4,False,2000,40
heads,frozen-bert,0.0001,1,0.2,0.5,0.35,False,2000,40
heads,frozen-bert,0.001,1,0.3,0.5,0.4,True,2000,40
"""


def test_the_table_tells_kinds_rates_scores_and_what_was_chosen(tmp_path: Path) -> None:
    (tmp_path / "laptop.csv").write_text(CSV)
    told = searches.render(searches.read("laptop", tmp_path))
    lines = ["".join(line.split()) for line in told.splitlines()]
    assert told.startswith("## Learning rates\n\n")
    assert "|kind|rate|SST-5|QQP|mean|rows|steps|chosen|" in lines
    assert "|encoder(`pals`)|3.0e-04|0.500|0.500|0.500|2,000|40|yes|" in lines
    assert "|heads(`frozen-bert`)|1.0e-04|0.200|0.500|0.350|2,000|40||" in lines
    assert told.endswith("one beyond may be better: heads.")


def test_where_nothing_was_searched_nothing_is_told(tmp_path: Path) -> None:
    assert searches.render(searches.read("laptop", tmp_path)) == ""


@pytest.mark.parametrize(("text", "said"), [("kind,variant\n", "lacks rate, seed"), ("", "is no table")])
def test_a_damaged_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "laptop.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        searches.read("laptop", tmp_path)

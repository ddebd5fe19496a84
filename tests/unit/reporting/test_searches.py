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


@pytest.mark.parametrize(("text", "said"), [("kind,variant\n", "lacks rate, seed"), ("", "is not a table")])
def test_a_damaged_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "laptop.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        searches.read("laptop", tmp_path)


SETTING = """variant,setting,value,rate,seed,sst,qqp,mean,chosen,rows,steps
rival-fixed,fixed.weights,"sst 1.0, qqp 1.0",0.0003,1,0.4,0.5,0.45,False,2000,40
rival-fixed,fixed.weights,"sst 1.5, qqp 0.5",0.0003,1,0.5,0.5,0.5,True,2000,40
"""


def test_the_table_of_a_setting_tells_values_scores_and_what_was_chosen(tmp_path: Path) -> None:
    (tmp_path / "laptop-setting.csv").write_text(SETTING)
    told = searches.render_setting(searches.read_setting("laptop", tmp_path))
    lines = ["".join(line.split()) for line in told.splitlines()]
    assert told.startswith("## `fixed.weights` of `rival-fixed`\n\n")
    assert "|fixed.weights|rate|SST-5|QQP|mean|rows|steps|chosen|" in lines
    assert "|sst1.5,qqp0.5|3.0e-04|0.500|0.500|0.500|2,000|40|yes|" in lines
    assert searches.render_setting(searches.read_setting("sample", tmp_path)) == ""


def test_the_results_of_a_profile_are_its_own(tmp_path: Path) -> None:
    for name in ("laptop.csv", "laptop-setting.csv", "laptops.csv"):
        (tmp_path / name).write_text(CSV)
    assert searches.files_of("laptop", tmp_path) == [tmp_path / "laptop.csv", tmp_path / "laptop-setting.csv"]
    assert searches.files_of("sample", tmp_path) == []

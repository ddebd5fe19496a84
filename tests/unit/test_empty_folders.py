"""The file of a stage's folder that is empty but for it."""

from pathlib import Path

from mtbert import files


def test_an_empty_folder_holds_why(tmp_path: Path):
    files.explain_empty(tmp_path / "votes", "Nobody votes.")
    assert [file.name for file in (tmp_path / "votes").iterdir()] == ["nothing.txt"]
    assert (tmp_path / "votes/nothing.txt").read_text() == "Nobody votes.\n"


def test_the_file_goes_where_there_is_something(tmp_path: Path):
    files.explain_empty(tmp_path, "Nobody votes.")
    files.write_text(tmp_path / "vote/1/metrics.json", "{}")
    files.explain_empty(tmp_path, "Nobody votes.")
    assert [file.name for file in tmp_path.iterdir()] == ["vote"]

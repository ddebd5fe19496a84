"""Whose corpora they are, told by content."""

from pathlib import Path

from mtbert import files
from mtbert.data import corpora

SAMPLE = Path(__file__).parents[3] / "data/sample"


def digests(folder: Path) -> dict[str, str]:
    return {file.relative_to(folder).as_posix(): files.sha256(file) for file in folder.rglob("*") if file.is_file()}


def test_the_sample_is_the_sample_as_a_whole():
    found = digests(SAMPLE)
    assert len(found) == 17
    assert corpora.whose(found) == "sample"
    assert corpora.whose(found | {"nli/snli_1.0_dev.jsonl": "0"}) == "own"
    assert corpora.whose({name: found[name] for name in list(found)[1:]}) == "own"


def test_the_courses_corpora_are_told_by_their_dev_sets():
    sst, sts = "cs224n/ids-sst-dev.csv", "cs224n/sts-dev.csv"
    assert sorted(corpora.COURSE) == [f"cs224n/{name}-dev.csv" for name in ("ids-cfimdb", "ids-sst", "quora", "sts")]
    course = {sst: corpora.COURSE[sst], "cs224n/ids-sst-train.csv": "a part"}
    assert corpora.whose(course) == "course"
    assert corpora.whose(course | {sts: "another"}) == "own"
    assert corpora.whose({"cs224n/ids-sst-train.csv": "no dev set"}) == "own"

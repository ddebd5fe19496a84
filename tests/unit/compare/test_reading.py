"""Two files of predictions: how their rows are read and paired, and what is said where they do not fit."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtbert import files
from mtbert.compare import pairing, reading
from mtbert.errors import DataError

HEAD = "id,label,prediction\n"
TWO = f"{HEAD}a,1,0.5\nb,2,3\n"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def paired(folder: Path, ours: str, theirs: str, metric: str = "pearson") -> pairing.Pairs:
    """Pair two files with these texts."""
    our_rows, their_rows = (
        reading.read(str(written(folder / name, text))) for name, text in (("x.csv", ours), ("y.csv", theirs))
    )
    return pairing.pair(our_rows, their_rows, metric)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_csv_and_parquet_are_the_same(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, f"\ufeff{HEAD}7, 1.0,0.50\r\n8,0,2\n")
    if name == "a.parquet":
        table = pa.table({"id": ["7", "8"], "label": [1.0, 0.0], "prediction": [0.5, 2.0]})
        pq.write_table(table.replace_schema_metadata({b"pandas": b"{"}), path)  # of a stranger; it is not read
    rows = reading.read(str(path))
    found = pairing.pair(rows, rows, "pearson")
    assert (rows["id"].tolist(), found.labels.tolist(), found.ours.tolist()) == (["7", "8"], [1, 0], [[0.5], [2]])
    assert rows["position"].tolist()[1] == f"{path}, {'row 2' if name == 'a.parquet' else 'line 3'}"


def test_a_model_of_other_rows_than_dev_has_now_is_refused(tmp_path: Path) -> None:
    run, data = tmp_path / "runs/pals/1", tmp_path / "data/sst"
    for folder in (run / "predictions", data):
        folder.mkdir(parents=True)
    rows = {"id": ["a"], "label": [1.0], "prediction": [1.0]}
    pq.write_table(pa.table(rows), run / "predictions/sst-dev.parquet")
    pq.write_table(pa.table({"id": ["a"], "cluster": [3]}), data / "dev.parquet")
    made_from = {"settings": {}, "code": {}, "files": {"data/sst/dev.parquet": files.sha256(data / "dev.parquet")}}
    files.write_json(run / "inputs.json", made_from)
    assert reading.read("pals", "sst", tmp_path)["cluster"].tolist() == ["3"]
    files.write_text(data / "dev.parquet", "another")
    with pytest.raises(DataError, match=r"pals/1: made before these changed: data sst/dev.parquet changed; .*pals-1`"):
        reading.read("pals", "sst", tmp_path)


def test_rows_are_paired_by_id_in_the_order_of_ours(tmp_path: Path) -> None:
    found = paired(tmp_path, TWO, f"{HEAD}b,2.0,4\na,1,7\n")
    assert (found.labels.tolist(), found.ours.tolist(), found.theirs.tolist()) == ([1, 2], [[0.5], [3]], [[7], [4]])
    assert found.clusters.tolist() == [0, 1]


def test_sides_may_have_other_seeds(tmp_path: Path) -> None:
    found = paired(tmp_path, "id,label,prediction,seed\na,1,3,3\na,1,9,9\na,1,5,5\n", f"{HEAD}a,1,7\n")
    assert (found.ours.tolist(), found.theirs.tolist()) == ([[3, 9, 5]], [[7]])


def test_rows_that_one_file_does_not_score_are_left_out_of_both(tmp_path: Path) -> None:
    found = paired(tmp_path, "id,label,prediction,scored,probability_0,sentence\na,1,1,True,0,s\nb,,,0,0,s\n", TWO)
    assert found.labels.tolist() == [1]


@pytest.mark.parametrize("name", ["confidence", "sure"])
def test_probabilities_of_the_predicted_class_are_not_needed(tmp_path: Path, name: str) -> None:
    assert paired(tmp_path, f"id,label,prediction,{name}\na,1,3,0.9\nb,2,4,\n", TWO).ours.tolist() == [[3], [4]]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_row_numbers_that_pandas_writes_are_left_out(tmp_path: Path, name: str) -> None:
    assert paired(tmp_path, f"{name},{HEAD}0,a,1,3\n7,b,2,4\n", TWO).ours.tolist() == [[3], [4]]


def test_classes_may_be_words(tmp_path: Path) -> None:
    """From 2 on, so that F1 is the mean over them."""
    found = paired(tmp_path, f"{HEAD}a,yes,no\nb,no,no\n", f"{HEAD}a,yes,yes\nb,no,yes\n", "f1")
    assert (found.labels.tolist(), found.ours.tolist(), found.theirs.tolist()) == ([3, 2], [[2], [2]], [[3], [3]])


def test_true_and_false_are_1_and_0(tmp_path: Path) -> None:
    found = paired(tmp_path, f"{HEAD}a,True,False\nb,FALSE,true\n", f"{HEAD}a,1,1\nb,0,0\n", "f1")
    assert (found.labels.tolist(), found.ours.tolist(), found.theirs.tolist()) == ([1, 0], [[0], [1]], [[1], [0]])


def right(folder: Path, ours: str, theirs: str, metric: str = "accuracy") -> list[list[bool]]:
    """Return on which rows ours is right, and theirs, of one seed each."""
    found = paired(folder, f"{HEAD}{ours}", f"{HEAD}{theirs}", metric)
    return [(side[:, 0] == found.labels).tolist() for side in (found.ours, found.theirs)]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        # codes that are one number, and are not one label
        ("a,01,1\nb,1,1\nc,1e1,10\nd,10,10\n", "a,01,01\nb,1,1\nc,1e1,1e1\nd,10,10\n", [[0, 1, 0, 1], [1] * 4]),
        ("a,1e5,b07\nb,b07,b07\n", "a,1e5,1e5\nb,b07,1e5\n", [[0, 1], [1, 0]]),
        ("a,1,1\nb,other,1\n", "a,1.0,1\nb,other,other\n", [[1, 0], [1, 1]]),
        ("a,True,true\nb,maybe,TRUE\n", "a,true,True\nb,maybe,maybe\n", [[1, 0], [1, 1]]),
        ("a,1.1,1.10\nb,1.10,1.10\n", "a,1.1,1.1\nb,1.10,1.10\n", [[0, 1], [1, 1]]),
        # which a number of 64 bits does not tell apart
        ("a,9007199254740993,9007199254740992\nb,9007199254740992,9007199254740992\n",
         "a,9007199254740993,9007199254740993\nb,9007199254740992,9007199254740992\n", [[0, 1], [1, 1]]),
        ('a,"1","1"\nb,"0",1 \n', "a,1,0\nb, 0,0\n", [[1, 0], [0, 1]]),
    ],
)  # fmt: skip
def test_classes_are_compared_as_text(tmp_path: Path, ours: str, theirs: str, expected: list[list[int]]) -> None:
    assert right(tmp_path, ours, theirs) == expected


@pytest.mark.parametrize("separator", [";", "\t"])
def test_each_file_may_have_a_separator_of_its_own(tmp_path: Path, separator: str) -> None:
    assert paired(tmp_path, TWO, TWO.replace(",", separator)).theirs.tolist() == [[0.5], [3]]


def test_labels_of_scores_are_equal_to_a_millionth(tmp_path: Path) -> None:
    found = paired(tmp_path, f"{HEAD}a,0.7199026942,1\nb,4e6,2\n", f"{HEAD}a,0.7199027060,1\nb,4000003,2\n")
    assert found.labels.tolist() == [0.7199026942, 4e6]
    message = r"^labels that differ: a \(.*'0.7199026942'\), a \(.*'0.7199066942'\); predictions of other rows"
    with pytest.raises(DataError, match=message):
        paired(tmp_path, f"{HEAD}a,0.7199026942,1\n", f"{HEAD}a,0.7199066942,1\n")


def test_minus_zero_of_parquet_is_zero(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b"], "label": [0.0, 1.0], "prediction": [-0.0, 1.0]}), tmp_path / "a.parquet")
    rows = reading.read(str(tmp_path / "a.parquet"))
    assert pairing.pair(rows, rows, "accuracy").ours.tolist() == [[0], [1]]


def test_a_row_counts_or_does_not_also_where_a_program_wrote_decimals(tmp_path: Path) -> None:
    head = "id,label,prediction,scored\n"
    assert paired(tmp_path, f"{head}a,1,1,1.0\nb,2,1,0.0\n", TWO).labels.tolist() == [1]


def test_clusters_7_and_7_0_are_one(tmp_path: Path) -> None:
    found = paired(tmp_path, "id,label,prediction,cluster\na,1,1,7\nb,2,1,7.0\nc,2,1,8\n", f"{TWO}c,2,1\n")
    assert found.clusters.tolist() == [0, 0, 1]


def test_a_file_without_seeds_has_none(tmp_path: Path) -> None:
    seeds = "id,label,prediction,seed\na,1,3,1\na,1,9,2\n"
    assert paired(tmp_path, seeds, f"{HEAD}a,1,7\n").have_seeds == (True, False)
    assert paired(tmp_path, "id,label,prediction,seed\na,1,3,\n", seeds).have_seeds == (False, True)


@pytest.mark.parametrize("swap", [False, True])
def test_clusters_of_either_file(tmp_path: Path, swap: bool) -> None:
    texts = f"{HEAD}a,1,1\nb,2,1\nc,2,1\n", "id,label,prediction,cluster\na,1,1,x\nb,2,1,y\nc,2,1,x\n"
    assert paired(tmp_path, *(texts[::-1] if swap else texts)).clusters.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,prediction\n1,1\n", "lacks label; it has id, prediction"),
        ("a.csv", "id,label,prediction,Cluster\n1,1,1,1\n", "unknown columns: Cluster; known: id, label, prediction,"),
        ("a.csv", ",id,label,prediction\nx,1,1,1\n", "unknown columns: one without a name; known: id, label,"),
        ("a.csv", HEAD, "has no rows"),
        ("a.parquet", "nonsense", "is not a whole Parquet file"),
        ("a.txt", "id\n", r"no file .*a.txt that ends in .csv or .parquet"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises(DataError, match=message):
        reading.read(str(path))


ONE = f"{HEAD}a,1,1\n"
CLUSTER = "id,label,prediction,cluster\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "metric", "message"),
    [
        (f"{TWO}c,1,1\n", TWO, "pearson", r"^rows that not every side and seed has: c \(.*x.csv, line 4\)"),
        ("id,label,prediction,seed\na,1,1,1\na,1,1,2\nb,1,1,2\n", f"{HEAD}a,1,1\nb,1,1\n", "pearson", r"has: b \("),
        ("id,label,prediction,seed\na,1,1,1\na,1,1,2\nb,1,1,2\n", TWO, "pearson", r"has: b \(.*; all need the same"),
        (f"{TWO}a,1,2\n", TWO, "pearson", r"ids that occur twice: a \(.*x.csv, line 2\), a \(.*x.csv, line 4\);"),
        (TWO, f"{HEAD}a,1,1\nb,3,1\n", "pearson", r"labels that differ: b \(.*'2'\), b \(.*y.csv, line 3: '3'\)"),
        (TWO, f"{HEAD}a,1,x\nb,2,1\n", "pearson", r"prediction is not a number: a \(.*y.csv, line 2: 'x'\)"),
        (TWO, f"{HEAD}a,1,inf\nb,2,1\n", "pearson", r"prediction is not a number: a \(.*y.csv, line 2: 'inf'\)"),
        (TWO, f"{HEAD}a,1,1_0\nb,2,1e400\n", "pearson", r"is not a number: a \(.*line 2: '1_0'\), b \(.*'1e400'\)"),
        (f"{HEAD}a,1,\n", ONE, "pearson", r"no prediction: a \(.*x.csv, line 2\);"),
        ("id,label,prediction,scored\na,1,1,0\n", ONE, "pearson", "no row is scored"),
        ("id,label,prediction,scored\na,1,1,maybe\n", ONE, "pearson", r"scored is none of .*: a \(.*'maybe'\)"),
        (f"{CLUSTER}a,1,1,x\nb,1,1,\n", f"{HEAD}a,1,1\nb,1,1\n", "pearson", "no cluster: b"),
        (f"{CLUSTER}a,1,1,x\n", f"{CLUSTER}a,1,1,y\n", "pearson", "clusters that differ: a"),
        (f"{HEAD}a,1,0.83\n", ONE, "accuracy", r"prediction is no class: a \(.*x.csv, line 2: '0.83'"),
        (f"{HEAD}01,1,1\n", f"{HEAD}1.0,1,1\n", "pearson", r"; ids differ in leading zeros or type, as '01' and '1.0'"),
        (f"{HEAD}a,yes,Yes\n", f"{HEAD}a,yes,yes\n", "f1", r"prediction is the label of no row: a \(.*line 2: 'Yes'\)"),
        (f"{HEAD}a,yes,1\n", f"{HEAD}a,yes,yes\n", "f1", r"prediction is the label of no row: a \(.*line 2: '1'\)"),
        (f"{HEAD}a,yes,yes\n", f"{HEAD}a,no,yes\n", "f1", r"labels that differ: a \("),
        ("id,label,prediction,seed\na,1,1,1\na,1,1,1.0\n", ONE, "pearson", r"ids that occur twice: a \("),
        (f"{HEAD}a,nan,yes\nb,yes,yes\n", f"{HEAD}a,nan,yes\nb,yes,yes\n", "f1", r"^label stands for no class: a \("),
        (f"{HEAD}a,1,1.00\n", ONE, "accuracy", r"prediction is the label of no row: a \(.*'1.00'\).*; classes are"),
        (f"{HEAD}a,0,-0\n", f"{HEAD}a,0,0\n", "accuracy", r"prediction is the label of no row: a \(.*'-0'\)"),
        (f"{HEAD}a,café,cafe\u0301\n", f"{HEAD}a,café,café\n", "f1", r"is the label of no row: .* form NFC"),
        (f"{HEAD}a,café,café\n", f"{HEAD}a,cafe\u0301,café\n", "f1", r"^labels that differ: .*in Unicode's form NFC$"),
        (f"{HEAD}a,1,1\nb,2,2\n", f"{HEAD}a,1,0\nb,2,1\n", "f1", r"^labels are 1 to 2, and predictions seem to be"),
        (f"{HEAD}a,80%,70%\n", f"{HEAD}a,80%,70%\n", "pearson", r"^label is not a number: a \(.*'80%'\)"),
        (f"{HEAD}a,yes,yes\n", f"{HEAD}a,yes,yes\n", "pearson", r"label is not a number: a \(.*line 2: 'yes'\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_the_first_rows(
    tmp_path: Path, ours: str, theirs: str, metric: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        paired(tmp_path, ours, theirs, metric)


def test_a_file_called_like_a_model_is_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an ending, it is refused as a file: the model of its name is not what is compared."""
    (tmp_path / "build/runs/pals/1").mkdir(parents=True)
    written(tmp_path / "pals", TWO)
    monkeypatch.chdir(tmp_path)
    assert reading.models("pals", "sst", Path("build")) == []

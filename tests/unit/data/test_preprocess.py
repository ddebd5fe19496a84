"""Preprocessing: what is written, what is reported, and which places are refused."""

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from mtbert.data.preprocess import preprocess
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import DataError
from mtbert.files import write_yaml

SST = "\tid\tsentence\tsentiment\n0\ta\tA fine film .\t3\n1\tb\tA FINE film .\t4\n2\tc\tDull .\tbad\n"
SST_DEV = "\tid\tsentence\tsentiment\n0\tc\tA fine  film .\t3\n"
STS = "\tid\tsentence1\tsentence2\tsimilarity\n0\td\tOne .\tTwo two .\t2.5\n"
SNLI = '{"gold_label": "neutral", "sentence1": "Other .", "sentence2": "One .", "pairID": "e"}\n'


def tokenize(texts: list[str]) -> list[list[int]]:
    """Stand-in for word pieces: the length of each word."""
    return [[len(word) for word in text.split()] for text in texts]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    files = {
        "cs224n/ids-sst-train.csv": SST,
        "cs224n/ids-sst-dev.csv": SST_DEV,
        "cs224n/sts-dev.csv": STS,
        "nli/snli_1.0_train.jsonl": SNLI,
    }
    for name, text in files.items():
        path = tmp_path / "corpora" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "corpora"


def test_writes_sentences_with_their_tokens(data_dir: Path, tmp_path: Path) -> None:
    preprocess(data_dir, tmp_path / "out", tokenize, set())
    assert pq.read_table(tmp_path / "out/sst/train.parquet").to_pylist()[1:] == [
        {
            "id": "b",
            "sentence1": "A FINE film .",
            "sentence2": None,
            "label": 4.0,
            "line": 3,
            "tokens1": [1, 4, 4, 1],
            "tokens2": None,
            "hash": 769906465943758459,
            "cluster": 0,
            "dev_folds": 0,
        }
    ]
    assert pq.read_table(tmp_path / "out/sts/dev.parquet", columns=["tokens1", "tokens2"]).to_pylist() == [
        {"tokens1": [3, 1], "tokens2": [3, 3, 1]}
    ]


def test_dev_rows_tell_what_a_score_has_to_know(data_dir: Path, tmp_path: Path) -> None:
    (data_dir / "cs224n/sts-train.csv").write_text(
        "\tid\tsentence1\tsentence2\tsimilarity\n0\tt\tTWO two .\tFour .\t1.0\n"
    )
    (data_dir / "cs224n/sts-dev.csv").write_text(
        STS + "1\tf\tother\tONE .\t1.0\n2\tg\tFive .\tSix .\t3.0\n3\th\tfour .\tTwo two .\t3.0\n"
    )
    preprocess(data_dir, tmp_path / "out", tokenize, set())
    assert pq.read_table(tmp_path / "out/sts/dev.parquet")["cluster"].to_pylist() == [0, 0, 1, 0]
    rows = pq.read_table(tmp_path / "out/sts/dev-shared.parquet").to_pandas()
    assert rows["id"].tolist() == ["d", "f", "g", "h"]
    assert rows["in_train"].tolist() == [False, False, False, True]
    assert rows["shares"].tolist() == [True, False, False, True]
    assert rows["shared_cluster"].tolist() == [-1] * 4


def test_a_group_has_one_hash_in_all_files_and_without_groups_a_text_has(tmp_path: Path) -> None:
    described = {
        name: {
            "sentences": ["text"],
            "label": "mood",
            "classes": 2,
            "files": {"train": f"{name}.csv", "dev": "dev.csv"},
        }
        for name in ("one", "two")
    }
    for of_task in described.values():
        of_task["group_on"] = "customer"
    write_yaml(tmp_path / "tasks.yaml", described)
    (tmp_path / "dev.csv").write_text("text,mood,customer\nd,0,9\ne,1,9\n")
    (tmp_path / "one.csv").write_text("text,mood,customer\na,0,1\nb,1,2\nc,1,1\n")
    (tmp_path / "two.csv").write_text("text,mood,customer\nf,0,2\ng,1,1\n")

    def hashes(name: str) -> list[int]:
        return pd.read_parquet(tmp_path / f"out/{name}/train.parquet")["hash"].tolist()

    preprocess(tmp_path, tmp_path / "out", tokenize, set())
    first, second, third = hashes("one")
    assert first == third != second
    assert hashes("two") == [second, first]
    write_yaml(
        tmp_path / "tasks.yaml", {"two": {key: value for key, value in described["two"].items() if key != "group_on"}}
    )
    (tmp_path / "two.csv").write_text("text,mood\nA  f,0\ng,1\na f,1\n")
    preprocess(tmp_path, tmp_path / "out", tokenize, set())
    first, second, third = hashes("two")
    assert first == third != second


def test_rows_of_train_that_share_a_sentence_are_one_cluster(data_dir: Path, tmp_path: Path) -> None:
    (data_dir / "cs224n/sts-train.csv").write_text(
        "\tid\tsentence1\tsentence2\tsimilarity\n0\tt\tOne\tTwo\t1.0\n1\tu\tThree\tFour\t1.0\n2\tv\tFive\tone\t1.0\n"
    )
    preprocess(data_dir, tmp_path / "out", tokenize, set())
    rows = pq.read_table(tmp_path / "out/sts/train.parquet").to_pandas()
    assert (rows["id"].tolist(), rows["cluster"].tolist()) == (["t", "u", "v"], [0, 1, 0])


def test_reports_what_was_read_refused_and_found_twice(data_dir: Path, tmp_path: Path) -> None:
    preprocess(data_dir, tmp_path / "out", tokenize, set())
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert report["files"]["sst/train"] == {
        "file": "cs224n/ids-sst-train.csv",
        "labelled": True,
        "read": 3,
        "kept": 2,
        "refused": [
            {"line": 4, "reason": "sentiment is 'bad'; allowed: 0, 1, 2, 3, 4", "label": "bad", "is_faulty": True}
        ],
        "drawn": False,
        "lacking": ["0", "1", "2"],
        "is_constant": False,
        "duplicates": 1,
        "conflicts": 1,
    }
    assert report["files"].keys() == {"sst/train", "sst/dev", "sts/dev", "snli/train"}


def test_the_same_files_give_the_same_bytes(data_dir: Path, tmp_path: Path) -> None:
    for out in ("one", "two"):
        preprocess(data_dir, tmp_path / out, tokenize, set())
    for path in ("sst/train.parquet", "sts/dev.parquet", "sts/dev-shared.parquet", "report.json"):
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()


def test_what_pretraining_reads_changes_with_its_own_files_alone(data_dir: Path, tmp_path: Path) -> None:
    (data_dir / "cs224n/sts-train.csv").write_text(STS)

    def digests(longest: int) -> bytes:
        limits = {"sts": (True, longest)}
        preprocess(data_dir, tmp_path / "out", tokenize, set(), longest=limits, pretraining=["sst"])
        return (tmp_path / "out/pretraining.json").read_bytes()

    before = digests(longest=64)
    (data_dir / "cs224n/sts-train.csv").unlink()
    assert digests(longest=8) == before
    file = data_dir / "cs224n/ids-sst-train.csv"
    file.write_text(file.read_text().replace("a", "o"))
    assert digests(longest=8) != before


def test_what_pretraining_reads_is_named_as_in_the_seal(data_dir: Path, tmp_path: Path) -> None:
    preprocess(data_dir, tmp_path / "out", tokenize, set(), pretraining=["sst"])
    read = {name: json.loads((tmp_path / f"out/{name}.json").read_text()) for name in ("digests", "pretraining")}
    assert read["pretraining"] == {"sst/train.parquet": read["digests"]["sst/train.parquet"]}


def test_names_every_file_that_is_needed_and_missing(data_dir: Path, tmp_path: Path) -> None:
    named = r": cs224n/quora-train\.csv \(for qqp/train\), cs224n/sts-test-student\.csv \(for sts/test\); looked below"
    with pytest.raises(DataError, match=named):
        preprocess(data_dir, tmp_path / "out", tokenize, {("sst", "train"), ("qqp", "train"), ("sts", "test")})


def test_a_compressed_file_is_named_with_what_unpacks_it(data_dir: Path, tmp_path: Path) -> None:
    (data_dir / "cs224n/quora-train.csv.gz").touch()
    named = r"params\.yaml; (.*)/quora-train\.csv\.gz is there, but compressed: `gunzip -k \1/\*\.gz` unpacks it$"
    with pytest.raises(DataError, match=named):
        preprocess(data_dir, tmp_path / "out", tokenize, {("qqp", "train"), ("sts", "test")})


def test_a_dev_that_is_drawn_and_rows_that_are_cut_are_told(tmp_path: Path):
    texts = [f"word {n} of ten" for n in range(9)] + ["a text of seven words and two more"]
    rows = "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts))
    (tmp_path / "a.csv").write_text(f"text,mood\n{rows}")
    described = "mood: {files: {train: a.csv}, sentences: [text], label: mood, classes: 2}\n"
    (tmp_path / "tasks.yaml").write_text(described)
    needs = {("mood", "train"), ("mood", "dev")}
    made = preprocess(tmp_path, tmp_path / "out", tokenize, needs, longest={"mood": (True, 8)})
    assert pq.read_table(tmp_path / "out/mood/dev.parquet", columns=["id"]).num_rows == 2
    assert made["faults"][:2] == [
        "a.csv: 12% of its train rows are longer than model.max_tokens, and lose their end",
        "a.csv: 2 of its rows are dev, drawn by their text; tasks.yaml names no dev file",
    ]


@pytest.mark.parametrize(
    ("is_joined", "separators", "limit", "cut"),
    [
        (True, 1, 8, 0.0),  # 5 word pieces and 3 special tokens
        (True, 1, 7, 1.0),
        (True, 2, 9, 0.0),  # RoBERTa's second </s>, too
        (True, 2, 8, 1.0),
        (False, 2, 5, 0.0),  # 3 word pieces and 2 special tokens
        (False, 2, 4, 1.0),
    ],
)
def test_rows_are_cut_that_are_too_long_with_the_encoders_special_tokens(
    data_dir: Path, tmp_path: Path, is_joined: bool, separators: int, limit: int, cut: float
):
    (data_dir / "cs224n/sts-train.csv").write_text(STS)
    special, longest = SpecialTokens(0, 2, 1, separators=separators), {"sts": (is_joined, limit)}
    made = preprocess(data_dir, tmp_path / "out", tokenize, set(), longest=longest, special_tokens=special)
    assert made["files"]["sts/train"]["cut"] == cut


MOOD = "sentences: [text], label: mood, classes: 2"
LONG = "a text of seven words and two more"


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_cut_rows_of_each_split_are_told(tmp_path: Path, split: str):
    for number, name in enumerate(("train", "dev", "test")):
        text = LONG if name == split else "short"
        (tmp_path / f"{name}.csv").write_text(f"text,mood\n{text} {number},0\nother {number},1\n")
    described = f"mood: {{files: {{train: train.csv, dev: dev.csv, test: test.csv}}, {MOOD}}}\n"
    (tmp_path / "tasks.yaml").write_text(described)
    made = preprocess(tmp_path, tmp_path / "out", tokenize, set(), longest={"mood": (True, 8)})
    assert made["faults"] == [
        f"{split}.csv: 50% of its {split} rows are longer than model.max_tokens, and lose their end"
    ]


@pytest.mark.parametrize("shared", [1, 2])
def test_a_dev_that_is_more_than_a_quarter_in_another_tasks_train_is_told(tmp_path: Path, shared: int):
    rows = [f"text {n},{n % 2}\n" for n in range(6)]
    (tmp_path / "a.csv").write_text("text,mood\n" + "".join(rows[:2]))
    (tmp_path / "a-dev.csv").write_text("text,mood\n" + "".join(rows[2:]))
    (tmp_path / "b.csv").write_text("text,mood\n" + "".join(rows[:2]) + "".join(rows[2 : 2 + shared]).upper())
    (tmp_path / "b-dev.csv").write_text("text,mood\nx,0\ny,1\n")
    described = (f"{name}: {{files: {{train: {name}.csv, dev: {name}-dev.csv}}, {MOOD}}}\n" for name in "ab")
    (tmp_path / "tasks.yaml").write_text("".join(described))
    made = preprocess(tmp_path, tmp_path / "out", tokenize, set())
    assert made["files"]["a/dev"]["in_train"] == {"b": shared}
    line = "a-dev.csv: 2 of 4 dev rows of a are in train of b, so a model of both tasks has seen their text"
    assert [fault for fault in made["faults"] if fault.startswith("a-dev")] == [line] * (shared == 2)


def test_what_tasks_of_one_file_share_is_told_and_numbered(tmp_path: Path):
    rows = [f"text {n // 2 if n < 4 else n},{n % 2 if n < 6 else ''},{n % 2 if n > 2 else ''}" for n in range(10)]
    for split in ("train", "dev"):
        (tmp_path / f"{split}.csv").write_text("text,mood,topic\n" + "\n".join(rows))
    files = "files: {train: train.csv, dev: dev.csv}, sentences: [text], classes: 2"
    (tmp_path / "tasks.yaml").write_text("".join(f"{name}: {{{files}, label: {name}}}\n" for name in ("mood", "topic")))
    made = preprocess(tmp_path, tmp_path / "out", tokenize, {("mood", "train"), ("topic", "train")})
    mood, topic = (pq.read_table(tmp_path / f"out/{name}/dev-shared.parquet").to_pandas() for name in ("mood", "topic"))
    assert mood["id"].tolist() == [f"dev.csv:{n + 2}" for n in range(6)]
    assert mood["shared_cluster"].tolist() == [-1, -1, 1, 1, 2, 3]
    assert topic["shared_cluster"].tolist() == [1, 2, 3, -1, -1, -1, -1]
    assert [made["files"]["mood/train"][key] for key in ("read", "kept", "refused")] == [6, 6, []]
    seen = "so a model of both tasks has seen their text"
    assert made["faults"] == [
        "dev.csv, task mood: 6 of 6 dev rows are in train, too",
        f"dev.csv, task mood: 4 of 6 dev rows of mood are in train of topic, {seen}",
        f"dev.csv, task topic: 3 of 7 dev rows of topic are in train of mood, {seen}",
        "dev.csv, task topic: 7 of 7 dev rows are in train, too",
    ]


def test_a_text_of_a_file_of_several_tasks_is_tokenised_once(tmp_path: Path):
    (tmp_path / "notes.csv").write_text("text,mood,topic\ngood,1,\nbad,0,1\nbad,0,0\nfine,,1\n")
    (tmp_path / "dev.csv").write_text("text,mood,topic\nwell,1,0\n")
    task = "files: {train: notes.csv, dev: dev.csv}, sentences: [text], classes: 2"
    (tmp_path / "tasks.yaml").write_text("".join(f"{name}: {{{task}, label: {name}}}\n" for name in ("mood", "topic")))
    tokenised: list[str] = []

    def recording(texts: list[str]) -> list[list[int]]:
        tokenised.extend(texts)
        return tokenize(texts)

    preprocess(tmp_path, tmp_path / "out", recording, set())
    assert sorted(tokenised) == ["bad", "fine", "good", "well"]
    topic = pq.read_table(tmp_path / "out/topic/train.parquet").to_pydict()
    assert topic["tokens1"] == [[3], [3], [4]]


def test_faulty_rows_are_counted_among_all_of_a_file_that_dev_is_drawn_from(tmp_path: Path):
    (tmp_path / "a.csv").write_text("text,mood\n" + "".join(f"text {n},{n % 5}\n" for n in range(60)))
    (tmp_path / "tasks.yaml").write_text("mood: {files: {train: a.csv}, sentences: [text], label: mood, classes: 4}\n")
    with pytest.raises(DataError, match=r"a\.csv: 12 of 60 rows cannot be used, more than 1%.*, here 0\.2$"):
        preprocess(tmp_path, tmp_path / "out", tokenize, {("mood", "train")})


def test_what_is_wrong_and_does_not_end_the_stage_is_told(data_dir: Path, tmp_path: Path):
    with (data_dir / "cs224n/ids-sst-train.csv").open("a") as file:
        file.write("3\td\tOne .\t5\n4\ta\tTwo .\t1\n5\te\t \t1\n6\tf\t\t1\n")
    made = preprocess(data_dir, tmp_path / "out", tokenize, set())
    assert made == json.loads((tmp_path / "out/report.json").read_text())
    told = [line for line in made["faults"] if "sst" in line]
    assert told == [
        "cs224n/ids-sst-train.csv: 5 of 7 rows are left out; line 4: sentiment is 'bad'; allowed: 0, 1, 2, 3, 4",
        "cs224n/ids-sst-train.csv: no row has the label 0, 1, 2",
        "cs224n/ids-sst-dev.csv: 1 of 1 dev rows are in train, too",
        "cs224n/ids-sst-dev.csv: no row has the label 0, 1, 2, 4",
        "cs224n/ids-sst-dev.csv: all rows have one label, so no score can tell models apart",
    ]


def test_labels_of_another_kind_end_the_stage_with_what_was_found_and_what_allows_it(data_dir: Path, tmp_path: Path):
    rows = "".join(f"{n}\t{n}\tFilm {n} .\t{n % 5 + 1}\n" for n in range(100))
    (data_dir / "cs224n/ids-sst-train.csv").write_text(f"\tid\tsentence\tsentiment\n{rows}")
    told = (
        r"ids-sst-train.csv: 20 of 100 rows cannot be used, more than 1%. Its sentiment holds 1, 2, 3, 4, 5; allowed: "
        r"0, 1, 2, 3, 4. First, line 6: sentiment is '5'; .* set most_refused in params.yaml .* here 0.2$"
    )
    with pytest.raises(DataError, match=told):
        preprocess(data_dir, tmp_path / "out", tokenize, {("sst", "train")})
    assert not (tmp_path / "out").exists()
    preprocess(data_dir, tmp_path / "out", tokenize, {("sst", "train")}, most_refused=0.2)
    assert len(pq.read_table(tmp_path / "out/sst/train.parquet")) == 80


@pytest.mark.parametrize(("rows", "lines"), [(3, ["b.csv: 1 of 3 dev rows are in train, too"]), (4, [])])
def test_a_dev_that_is_more_than_a_quarter_in_train_is_told(tmp_path: Path, rows: int, lines: list[str]):
    (tmp_path / "a.csv").write_text("text,mood\none !,1\nother,0\n")
    (tmp_path / "b.csv").write_text("text,mood\n" + "".join(f"{n},{n % 2}\n" for n in range(rows - 1)) + "ONE,1\n")
    (tmp_path / "tasks.yaml").write_text(
        "mood: {files: {train: a.csv, dev: b.csv}, sentences: [text], label: mood, classes: 2}"
    )
    assert preprocess(tmp_path, tmp_path / "out", tokenize, set())["faults"] == lines


def test_a_class_of_several_labels_is_told_by_all_of_them(tmp_path: Path):
    (tmp_path / "a.csv").write_text("text,mood\none,pos\ntwo,POS\n")
    classes = "{neg: 0, bad: 0, pos: 1, ok: 1}"
    (tmp_path / "tasks.yaml").write_text(
        f"mood: {{files: {{train: a.csv, dev: b.csv}}, sentences: [text], label: mood, classes: {classes}}}"
    )
    made = preprocess(tmp_path, tmp_path / "out", tokenize, set())
    assert made["faults"][1:] == ["a.csv: no row has the label neg / bad"]
    told = r"Its mood holds POS, pos / ok; allowed: neg, bad, pos, ok\. First, line 3: mood is 'POS'"
    with pytest.raises(DataError, match=told):
        preprocess(tmp_path, tmp_path / "out", tokenize, {("mood", "train")}, most_refused=0)


def with_empty_sentences(data_dir: Path, empty: int, rows: int) -> None:
    """Write a file of that many rows, of which some lack their sentence."""
    text = "".join(f"0\tid{n}\t{' ' if n < empty else f'Film {n} .'}\t3\n" for n in range(rows))
    (data_dir / "cs224n/ids-sst-train.csv").write_text(f"\tid\tsentence\tsentiment\n{text}")


@pytest.mark.parametrize(("empty", "rows"), [(3, 24), (4, 400)])
def test_three_faulty_rows_are_slips_however_small_the_file_is(
    data_dir: Path, tmp_path: Path, empty: int, rows: int
) -> None:
    with_empty_sentences(data_dir, empty, rows)
    made = preprocess(data_dir, tmp_path / "out", tokenize, {("sst", "train")})
    assert made["files"]["sst/train"]["kept"] == rows - empty


@pytest.mark.parametrize(
    ("empty", "rows", "share", "shown"), [(4, 24, 0.01, "1%"), (5, 400, 0.01, "1%"), (1, 24, 0, "0%")]
)
def test_labels_are_not_named_where_other_faults_are_too_many(
    data_dir: Path, tmp_path: Path, empty: int, rows: int, share: float, shown: str
) -> None:
    with_empty_sentences(data_dir, empty, rows)
    told = f"cannot be used, more than {shown}. First, line 2: sentence is empty. To leave such rows out"
    with pytest.raises(DataError, match=told):
        preprocess(data_dir, tmp_path / "out", tokenize, {("sst", "train")}, most_refused=share)


def test_rows_whose_annotators_did_not_agree_are_left_out_and_are_no_faults(data_dir: Path, tmp_path: Path):
    with (data_dir / "nli/snli_1.0_train.jsonl").open("a") as file:
        file.write('{"gold_label": "-", "sentence1": "Some .", "sentence2": "One .", "pairID": "f"}\n')
    made = preprocess(data_dir, tmp_path / "out", tokenize, {("snli", "train")})
    told, lacking = [line for line in made["faults"] if "snli" in line]
    assert told.endswith("1 of 2 rows are left out; line 2: its gold_label is '-', which is left out")
    assert lacking.endswith("no row has the label contradiction, entailment")


def test_rows_of_a_group_are_one_cluster_also_over_tasks_and_no_train_has_a_group_of_any_dev_or_test(
    tmp_path: Path,
) -> None:
    mood = {"sentences": ["text"], "label": "mood", "classes": 2, "group_on": "customer"}
    described = {
        "mood": mood | {"files": {"train": "a.csv", "dev": "b.csv"}},
        "other": mood | {"files": {"train": "c.csv", "dev": "d.csv", "test": "e.csv"}},
    }
    write_yaml(tmp_path / "tasks.yaml", described)
    customers = {"a": [1, 1, 2, 3], "b": [2, 4, 4, 5], "c": [4, 6, 5, 9], "d": [7, 7, 8, 2], "e": ["", 9]}
    for name, of_file in customers.items():
        rows = [f"{name} {number},{number % 2},{customer}\n" for number, customer in enumerate(of_file)]
        (tmp_path / f"{name}.csv").write_text("text,mood,customer\n" + "".join(rows))
    report = preprocess(tmp_path, tmp_path / "out", tokenize, set())
    table = {task: pd.read_parquet(tmp_path / f"out/{task}/dev.parquet") for task in described}
    assert [rows["cluster"].tolist() for rows in table.values()] == [[0, 1, 1, 2], [0, 0, 1, 2]]
    shared = {task: pd.read_parquet(tmp_path / f"out/{task}/dev-shared.parquet") for task in described}
    assert [(rows["shared_cluster"] >= 0).tolist() for rows in shared.values()] == [
        [True, False, False, False], [False, False, False, True],
    ]  # fmt: skip
    assert pq.read_table(tmp_path / "out/mood/train.parquet", columns=["line"])["line"].to_pylist() == [2, 3, 5]
    assert report["faults"] == [
        "a.csv: 1 of 4 rows are left out; line 4: its customer is that of a row of dev or test",
        "c.csv: 3 of 4 rows are left out; line 2: its customer is that of a row of dev or test of mood",
        "c.csv: no row has the label 0",
        "e.csv: 1 of 2 test rows have no customer, so train may have it",
    ]

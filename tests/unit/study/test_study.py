"""A folder of one's own: what is said of it, what is written, and what is refused with nothing written."""

import contextlib
import datetime
import itertools
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import desk
import pytest
import runs
import torch

from mtbert import files, tasks
from mtbert.config import planning
from mtbert.config.params import Params
from mtbert.data.readers import Example
from mtbert.errors import MtbertError
from mtbert.machine import hardware
from mtbert.study import costs, selecting
from mtbert.study.run import run
from mtbert.study.selecting import StudyOptions, times
from mtbert.study.table import _majority_score
from mtbert.tasks import Split
from mtbert.variants.building import build_model

ROOT = Path(__file__).parents[3]
SMALL = dict.fromkeys(desk.SIZES, (60, 40))


IN_WORDS = costs.in_words


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository's params.yaml and papers; no step is measured, which takes seconds."""
    monkeypatch.setattr(costs, "in_words", lambda *_: "At most about an hour.")
    shutil.copytree(ROOT / "papers", tmp_path / "papers")
    return Path(shutil.copy(ROOT / "params.yaml", tmp_path))


QUICK = StudyOptions(quick=True)


@pytest.mark.parametrize("form", desk.FORMS)
def test_the_four_tasks_of_a_support_desk_in_every_form(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str], form: str
):
    desk.write(tmp_path / "desk", form, SMALL)
    run(tmp_path / "desk", QUICK, "utf-8", params)
    lines = [line.split("    ") for line in capsys.readouterr().out.splitlines()[:4]]
    assert [[cell.strip() for cell in line if cell] for line in lines] == [
        ["dup", "60 train, 40 dev", "sentence1, sentence2", "2 classes: 0, 1", "accuracy", "majority 0.50"],
        ["rel", "60 train, 40 dev", "sentence1, sentence2", "score 0 to 5", "Pearson", "\N{EN DASH}"],
        ["topic", "60 train, 40 dev", "text", "4 classes: billing, bug, praise, question", "macro-F1", lines[2][-1]],
        ["urgent", "60 train, 40 dev", "body", "2 classes: no, yes", "accuracy", "majority 0.50"],
    ]
    assert [*tasks.read_folder(tmp_path / "desk")] == ["dup", "rel", "topic", "urgent"]
    now, before = (files.read_yaml(file, "") for file in (params, ROOT / "params.yaml"))
    ways = ["single-dup", "single-rel", "single-topic", "single-urgent", "shared", "lora"]
    pairs_apart = {"dup": "matching", "rel": "matching"}
    assert now == before | {
        "model": before["model"] | {"heads": before["model"]["heads"] | pairs_apart},
        "profile": "own",
        "data_dir": "desk",
        "seeds": [1],
        "variants": [f"own-{way}" for way in ways],
    }


def test_without_quick_every_way_has_its_seeds_and_a_written_file_is_read(tmp_path: Path, params: Path):
    desk.write(tmp_path / "desk", "csv", SMALL)
    run(tmp_path / "desk", QUICK, "utf-8", params)
    own = tmp_path / "desk/tasks.yaml"
    own.write_text(own.read_text() + "  matters: 0.02\n")
    run(tmp_path / "desk", StudyOptions(seeds=6), "utf-8", params)
    assert (files.read_yaml(params, "")["seeds"], len(files.read_yaml(params, "")["variants"]) > 10) == (
        [1, 2, 3, 4, 5, 6], True,
    )  # fmt: skip
    assert tasks.read_folder(tmp_path / "desk")["urgent"].matters == 0.02


def test_of_one_task_no_way_is_trained_that_repeats_another(tmp_path: Path, params: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-train.csv").write_text(TRAIN)
    run(tmp_path / "mine", QUICK, "utf-8", params)
    assert files.read_yaml(params, "")["variants"] == ["own-single-a", "own-lora"]
    run(tmp_path / "mine", StudyOptions(seeds=1), "utf-8", params)
    names = ["single-a", "lora", "pals", "low-rank", "heads", "distilled"]
    assert files.read_yaml(params, "")["variants"] == [f"own-{name}" for name in names]
    ensembles = planning.plan(Params(params))["catalog"]["ensembles"]
    assert not any(entry["selected"] for entry in ensembles.values())


def test_the_time_of_other_programs_is_no_part_of_the_estimate(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    own, clock = itertools.count(0, 2), itertools.count(0, 100)
    monkeypatch.setattr(costs, "in_words", IN_WORDS)
    monkeypatch.setattr(costs, "TRIED", 0.0)
    monkeypatch.setattr(costs, "time", SimpleNamespace(thread_time=lambda: next(own), perf_counter=lambda: next(clock)))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-train.csv").write_text(TRAIN)
    run(tmp_path / "mine", QUICK, "utf-8", params)
    out = capsys.readouterr().out
    assert " steps of 2,000 ms;" in out
    assert "Adapters' weights, in millions: LoRA 0.07." in out


def test_rows_that_are_held_out_take_no_steps_of_the_estimate():
    passes = {"batch_size": 10, "epochs": 3, "epoch_length": "0 steps + 0 a class + 1 passes of each task"}
    rows = {"sst": 100, "sts": 40}
    assert costs._steps(runs.settings(phase=passes), rows) == 3 * (10 + 4)
    assert costs._steps(runs.settings(phase=passes | {"spared": 0.25}), rows) == 3 * (8 + 3)


def pairs(rows: int, label: str) -> str:
    return "text,text_pair,label\n" + "".join(f"a {n},b {n},{label.split()[n % 2]}\n" for n in range(rows))


@pytest.mark.parametrize(("minutes", "words"), [(0.2, "a minute"), (1.6, "2 minutes"), (150.0, "2.5 hours")])
def test_how_long_trainings_take_is_told_in_words(minutes: float, words: str):
    assert costs._time_in_words(minutes) == words


def test_steps_are_tried_in_the_precision_of_trainings_on_rows_of_as_many_tokens(
    tmp_path: Path, params: Path, monkeypatch: pytest.MonkeyPatch
):
    tried: set[tuple[bool, tuple[int, ...]]] = set()

    def build(*arguments: Any) -> Any:
        model = build_model(*arguments)
        model.register_forward_pre_hook(
            lambda _, given: tried.add((torch.is_autocast_enabled("cpu"), (*given[0].input_ids.shape,)))
        )
        return model

    monkeypatch.setattr(costs, "in_words", IN_WORDS)
    monkeypatch.setattr(costs, "TRIED", 0.0)
    monkeypatch.setattr(costs, "build_model", build)
    monkeypatch.setattr(hardware, "faster", lambda: "bf16")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-train.csv").write_text(pairs(400, "no yes"))
    run(tmp_path / "mine", QUICK, "utf-8", params)
    assert tried == {(True, (64, 4))}  # 32 pairs of 8 tokens, whose sentences are encoded apart


def test_pairs_with_scores_and_few_pairs_with_classes_are_encoded_apart(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(selecting, "FEW_PAIRS", 30)
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, rows in (("few", 29), ("many", 30)):
        (folder / f"{name}-train.csv").write_text(pairs(rows, "no yes"))
        (folder / f"{name}-dev.csv").write_text(pairs(20, "no yes"))
    for split in ("train", "dev"):
        (folder / f"near-{split}.csv").write_text(pairs(40, "0.5 2.5"))
        (folder / f"topic-{split}.csv").write_text(TRAIN)
    run(folder, QUICK, "utf-8", params)
    assert "\nfew, near: both sentences are encoded apart (`model.heads` in " in capsys.readouterr().out
    of_course = dict.fromkeys(["sst", "qqp", "sts", "cfimdb", "others"])
    assert files.read_yaml(params, "")["model"]["heads"] == of_course | {"few": "matching", "near": "matching"}


def test_an_encoder_that_embeds_no_sentences_has_pairs_in_one_sequence(tmp_path: Path, params: Path):
    (tmp_path / "mine").mkdir()
    for split in ("train", "dev"):
        (tmp_path / f"mine/near-{split}.csv").write_text(pairs(40, "0.5 2.5"))
    run(tmp_path / "mine", StudyOptions(quick=True, encoder="bert-base-uncased"), "utf-8", params)
    assert "near" not in files.read_yaml(params, "")["model"]["heads"]


def test_a_head_that_somebody_chose_is_kept_and_those_of_another_folder_go(tmp_path: Path, params: Path):
    params.write_text(params.read_text().replace("  heads: {sst: null,", "  heads: {near: mlp, gone: mlp, sst: null,"))
    (tmp_path / "mine").mkdir()
    for split in ("train", "dev"):
        (tmp_path / f"mine/near-{split}.csv").write_text(pairs(40, "0.5 2.5"))
    run(tmp_path / "mine", QUICK, "utf-8", params)
    of_course = dict.fromkeys(["sst", "qqp", "sts", "cfimdb", "others"])
    assert files.read_yaml(params, "")["model"]["heads"] == of_course | {"near": "mlp"}


def test_the_head_for_pairs_apart_stays_where_somebody_chose_it_and_goes_where_a_study_did(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(selecting, "FEW_PAIRS", 30)
    for folder in ("mine", "yours"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same-train.csv").write_text(pairs(40, "no yes"))
        (tmp_path / folder / "same-dev.csv").write_text(pairs(20, "no yes"))
        (tmp_path / folder / "near-train.csv").write_text(pairs(40, "0.5 2.5"))
        (tmp_path / folder / "near-dev.csv").write_text(pairs(40, "0.5 2.5"))

    def heads_after(folder: str, **options: Any) -> dict[str, str]:
        run(tmp_path / folder, StudyOptions(quick=True, **options), "utf-8", params)
        heads = files.read_yaml(params, "")["model"]["heads"]
        return {task: heads[task] for task in ("near", "same") if task in heads}

    assert heads_after("mine") == {"near": "matching"}
    files.edit_yaml(params, {"model.heads": {"near": "matching", "same": "matching"}})
    assert heads_after("mine") == {"near": "matching", "same": "matching"}
    assert heads_after("mine", encoder="bert-base-uncased") == {"same": "matching"}
    assert "\nnear: matching of an earlier study is no longer in `model.heads` in " in capsys.readouterr().out
    assert heads_after("yours", encoder="minilm") == {"near": "matching"}
    assert "\nsame: matching of an earlier study is no longer in `model.heads` in " in capsys.readouterr().out


def test_texts_with_two_labels_are_told(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-train.csv").write_text(f"{TRAIN}text number 1,no\n")
    (tmp_path / "mine/a-dev.csv").write_text(TRAIN)
    run(tmp_path / "mine", QUICK, "utf-8", params)
    assert "\na-train.csv: 1 text has rows of different labels\n" in capsys.readouterr().out


def test_f1_is_called_by_the_class_that_it_is_of(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-train.csv").write_text(TRAIN)
    described = "a:\n  files: {train: a-train.csv}\n  sentences: [text]\n  label: label\n  classes: ['no', 'yes']\n"
    (tmp_path / "mine/tasks.yaml").write_text(f"{described}  positive: 'no'\n")
    run(tmp_path / "mine", QUICK, "utf-8", params)
    assert "    F1 of no    majority " in capsys.readouterr().out


def test_of_two_equally_frequent_classes_the_majority_is_the_first_as_in_a_report():
    labels: dict[Split, list[float]] = {"train": [1.0, 0.0], "dev": [0.0, 0.0, 0.0, 1.0]}
    rows = {split: [Example("", "", None, label, 2) for label in of_split] for split, of_split in labels.items()}
    assert _majority_score(tasks.COURSE["qqp"], rows) == 0.75


@pytest.mark.parametrize(
    ("most_refused", "faulty", "is_read"), [(0, 1, False), ("", 3, True), ("", 4, False), (0.1, 4, True)]
)
def test_as_many_rows_may_be_faulty_as_params_yaml_says(
    tmp_path: Path, params: Path, most_refused: float | str, faulty: int, is_read: bool
):
    params.write_text(params.read_text().replace("\nmost_refused:", f"\nmost_refused: {most_refused}"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-train.csv").write_text(TRAIN)
    (tmp_path / "mine/a-dev.csv").write_text(TRAIN + faulty * " ,no\n")
    refused = pytest.raises(MtbertError, match=f"a-dev.csv: {faulty} of {40 + faulty} rows cannot be used")
    with contextlib.nullcontext() if is_read else refused:
        run(tmp_path / "mine", QUICK, "utf-8", params)


def test_outside_a_repository_nothing_is_read(tmp_path: Path):
    with pytest.raises(MtbertError, match=r"params.yaml is missing; give commands in the root of the repository$"):
        run(tmp_path, QUICK, "utf-8", tmp_path / "params.yaml")


@pytest.mark.parametrize("name", ["2024", "null", "a: b"])
def test_a_folder_of_any_name_is_the_one_that_is_trained(tmp_path: Path, params: Path, name: str):
    (tmp_path / name).mkdir()
    (tmp_path / name / "a-train.csv").write_text(TRAIN)
    for _ in range(2):  # the second time over the first one's value
        run(tmp_path / name, QUICK, "utf-8", params)
        assert files.read_yaml(params, "")["data_dir"] == name
    assert "# which sentences: data/sample," in params.read_text()


def told(folder: Path, params: Path, capsys: pytest.CaptureFixture[str], **contents: str) -> list[str]:
    """What a study says of a folder, between the table and the costs; `a_train` is a-train.csv."""
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name.replace('_', '-')}.csv").write_text(content)
    run(folder, QUICK, "utf-8", params)
    return capsys.readouterr().out.split("\n\n")[1].splitlines()


def test_what_is_odd_in_rows_and_columns_is_told(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]):
    labels = ["yes", "no", "Yes.", "N/A"]
    train = "text,label,source\n" + "".join(f"text number {n},{labels[n % 4]},x\n" for n in range(40))
    dev, test = f"{HEAD}TEXT  number 1,no\nother,yes\nmore,no\n", f"{HEAD}text number 2,yes\n"
    assert told(tmp_path / "mine", params, capsys, a_train=train, a_dev=dev, a_test=test) == [
        "separated by commas: a-dev.csv, a-test.csv, a-train.csv",
        "a-train.csv: not used: source (x in every row)",
        "a-train.csv: taken for classes: N/A; if they stand for no label, move them from `classes` to `left_out: "
        "['N/A']`",
        "a-train.csv: different classes, though they look alike: 'Yes.' and 'yes'",
        "a-dev.csv: 1 of 3 dev rows are in train, too",
        "a-dev.csv: no row of dev has the label N/A, Yes.",
        "a-test.csv: 1 of 1 test rows are in train, too",
    ]


def test_that_one_class_has_almost_all_rows_is_told_until_the_metric_is_another(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    train = HEAD + "".join(f"text number {n},{'no' if n else 'yes'}\n" for n in range(20))
    dev = HEAD + "".join(f"other text {n},{'no' if n else 'yes'}\n" for n in range(10))
    separators = "separated by commas: a-dev.csv, a-train.csv"
    assert told(tmp_path / "mine", params, capsys, a_train=train, a_dev=dev) == [
        separators,
        "a-dev.csv: 9 of 10 dev rows have the label no, so accuracy hardly tells models apart; write `metric: f1` "
        "into tasks.yaml",
    ]
    (tmp_path / "mine/tasks.yaml").write_text((tmp_path / "mine/tasks.yaml").read_text() + "  metric: f1\n")
    assert told(tmp_path / "mine", params, capsys) == [separators]


def test_what_was_guessed_and_may_be_wrong_is_told_until_tasks_yaml_says_it(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    rows = HEAD + "".join(f"text number {n},{n % 30}\n" for n in range(60))
    files_told = ["separated by commas: a-dev.csv, a-train.csv", "a-dev.csv: 60 of 60 dev rows are in train, too"]
    doubt = (
        "a-train.csv: its label holds 30 whole numbers, which are taken for classes; if they are a score, write "
        "`score: [0, 29]` in place of `classes` and `metric`"
    )
    assert told(tmp_path / "mine", params, capsys, a_train=rows, a_dev=rows) == [files_told[0], doubt, files_told[1]]
    assert told(tmp_path / "mine", params, capsys) == files_told


def test_files_that_no_task_reads_are_told(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-dev.json").write_text("[]")
    (tmp_path / "mine/b/v1").mkdir(parents=True)
    (tmp_path / "mine/b/v1/train.csv").write_text(TRAIN)
    unreadable = "not read: a-dev.json; allowed: .csv, .tsv, .jsonl, .parquet"
    deep = "not read: b/v1/train.csv; allowed: files in the folder, or in a folder in it"
    folds = [
        "a-train.csv: fewer than 300 labelled rows, so tasks.yaml says `folds: 5`; 5 seeds make a repeat, each with "
        "another fold as dev; to have one dev, delete `folds` there",
        "a-train.csv: each of its 40 rows is predicted by a model that did not see it (5 folds, drawn by their text)",
    ]
    assert told(tmp_path / "mine", params, capsys, a_train=TRAIN)[1:] == [unreadable, deep, *folds]


def test_a_task_more_is_added_to_tasks_yaml_and_after_a_fault_it_is_as_it_was(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    folder, own = tmp_path / "mine", tmp_path / "mine/tasks.yaml"
    told(folder, params, capsys, a_train=TRAIN)
    own.write_text(f"# mine\n{own.read_text()}")
    before = own.read_text()
    (folder / "b-train.csv").write_text(TRAIN.replace("text number", "other text"))
    (folder / "b-dev.csv").write_text(HEAD + "x,yes\ny,yes\n")
    with pytest.raises(MtbertError, match="all rows of dev have one label"):
        run(folder, QUICK, "utf-8", params)
    assert own.read_text() == before
    (folder / "b-dev.csv").write_text(HEAD + "x,yes\ny,no\n")
    run(folder, QUICK, "utf-8", params)
    assert f"{own} has new entries (b): correct it where it is wrong" in capsys.readouterr().out
    assert own.read_text().startswith(before)
    assert [*tasks.read_folder(folder)] == ["a", "b"]


def test_an_encoding_beside_another_one_in_tasks_yaml_is_refused(tmp_path: Path, params: Path):
    (tmp_path / "a-train.csv").write_bytes(
        TRAIN.replace("text", "café").encode("cp1252").replace(b"caf\xe9", b"text", 1)
    )
    run(tmp_path, QUICK, "cp1252", params)
    run(tmp_path, QUICK, "cp1252", params)
    with pytest.raises(MtbertError) as error:
        run(tmp_path, QUICK, "latin-1", params)
    assert str(error.value) == (
        f"--encoding is latin-1, and {tmp_path / 'tasks.yaml'} says that a is cp1252; set `encoding` there, and leave "
        "--encoding out"
    )


def tickets(rows: range, prefix: str = "text") -> str:
    """Three labels a text; each second text has a topic, each third a team."""
    words = ["bug", "praise", "question"]
    lines = [f"{prefix} {n},{words[n % 3] if n % 2 else ''},{n % 2},{'' if n % 3 else 'AB'[n % 2]}" for n in rows]
    return "\n".join(["text,topic,urgent,team", *lines, ""])


def test_a_file_of_several_labels_is_a_task_for_each(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "tickets.csv").write_text(tickets(range(300)))
    run(folder, QUICK, "utf-8", params)
    table, notes, *_ = capsys.readouterr().out.split("\n\n")
    rows = [[cell.strip() for cell in line.split("    ") if cell][:4] for line in table.splitlines()]
    assert [[row[0], *row[2:]] for row in rows] == [
        ["topic", "text", "3 classes: bug, praise, question"],
        ["urgent", "text", "2 classes: 0, 1"],
        ["team", "text", "2 classes: A, B"],
    ]
    counts = {row[0]: [int(count.split()[0]) for count in row[1].split(", ")] for row in rows}
    assert {name: sum(of_task) for name, of_task in counts.items()} == {"topic": 150, "urgent": 300, "team": 100}
    assert counts["urgent"] == [240, 60]
    drawn = "tasks.yaml names no dev file, so {} of its rows, drawn by their text, are dev"
    predicted = "to have each of them predicted, write `folds: 5` to every task of this file"
    assert notes.splitlines() == [
        "separated by commas: tickets.csv",
        f"tickets.csv: topic has 150 labelled rows alone, so its dev is small; {predicted}",
        f"tickets.csv: team has 100 labelled rows alone, so its dev is small; {predicted}",
        *(f"tickets.csv, {name}: {drawn.format(of_task[1])}" for name, of_task in counts.items()),
    ]
    assert files.read_yaml(params, "")["variants"][:3] == ["own-single-topic", "own-single-urgent", "own-single-team"]


def test_a_text_of_dev_that_another_task_trains_on_is_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    train = f"{tickets(range(60))}dev 1,,1,\ndev 3,bug,1,\n"
    dev = tickets(range(12), "dev")
    told_lines = told(tmp_path / "mine", params, capsys, ticket_train=train, ticket_dev=dev)
    assert [line for line in told_lines if line.startswith("ticket-dev.csv, ")] == [
        "ticket-dev.csv, topic: 1 of 6 dev rows are in train, too",
        "ticket-dev.csv, urgent: 2 of 12 dev rows are in train, too",
        "ticket-dev.csv, topic: 1 of 6 dev rows of topic are in train of urgent",
        "ticket-dev.csv, team: 1 of 4 dev rows of team are in train of topic",
        "ticket-dev.csv, team: 1 of 4 dev rows of team are in train of urgent",
    ]


def test_a_column_that_dev_has_no_label_of_is_refused_with_how_to_leave_it_out(tmp_path: Path, params: Path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "ticket-train.csv").write_text(tickets(range(60)))
    (folder / "ticket-dev.csv").write_text(tickets(range(60)).replace(",A\n", ",\n").replace(",B\n", ",\n"))
    with pytest.raises(MtbertError) as error:
        run(folder, QUICK, "utf-8", params)
    answer = (
        "ticket: {files: {dev: ticket-dev.csv, train: ticket-train.csv}, sentences: [text], label: [topic, urgent]}"
    )
    assert str(error.value) == (
        f"{folder / 'ticket-dev.csv'}: it holds no row that can be used for team: its team is empty in every row; to "
        f"leave team out, write into tasks.yaml: `{answer}`"
    )
    assert not (folder / "tasks.yaml").exists()
    (folder / "tasks.yaml").write_text(f"{answer}\n")
    run(folder, QUICK, "utf-8", params)
    assert [*tasks.read_folder(folder)] == ["topic", "urgent"]


def test_columns_that_no_task_uses_are_told_once_with_those_that_say_nothing(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    rows = [f"text {n},{n % 2},{n % 3},,en" for n in range(60)]
    content = "\n".join(["text,urgent,stars,empty,language", *rows, ""])
    notes = told(tmp_path / "mine", params, capsys, tickets=content)
    assert [note for note in notes if "used" in note] == [
        "tickets.csv: not used: empty (empty in every row), language (en in every row)"
    ]


HEAD = "text,label\n"
TRAIN = HEAD + "".join(f"text number {n},{'yes' if n % 2 else 'no'}\n" for n in range(40))
ENTRY = "a:\n  files: {train: a-train.csv}\n  sentences: [text]\n  label: label\n"
FAULTS = {
    "another header": ({"a-dev.csv": "body,label\nx,yes\ny,no\n"}, "a-dev.csv needs the columns text, label; missing:"),
    "an unknown class": ({"a-dev.csv": HEAD + "x,yes\ny,maybe\n"}, "line 3: label is 'maybe'; allowed: no, yes; corr"),
    "a dev of one class": ({"a-dev.csv": HEAD + "x,yes\ny,yes\n"}, "a-dev.csv: all rows of dev have one label"),
    "empty text": (
        {"a-dev.csv": HEAD + "x,yes\ny,no\n" + 4 * " ,no\n"},
        "4 of 6 rows cannot be used; line 4: text is ",
    ),
    "a score out of range": (
        {
            "a-train.csv": HEAD + "".join(f"text number {n},{n % 5}.5\n" for n in range(40)),
            "a-dev.csv": HEAD + "x,1.5\ny,2\n" + 4 * "z,7.5\n",
        },
        "line 4: label is '7.5'; allowed: a number from 0 to 5",
    ),
    "two files for a split": ({"a-val.csv": TRAIN, "a-dev.csv": TRAIN}, "two files are dev of a: a-dev.csv and a-val"),
    "no task": ({"a-train.csv": None, "notes.txt": "x"}, "holds no task; allowed: files such as topic-train.csv"),
    "a technique's name": ({"a-train.csv": None, "pals-train.csv": TRAIN}, "a task would be called pals"),
    "a column of tables": ({"a-train.csv": None, "verdict-train.csv": TRAIN}, "would be called verdict, as something"),
    "a word with another meaning": ({"a-train.csv": None, "all-train.csv": TRAIN}, "a task would be called all"),
    "another encoding": ({"a-dev.csv": HEAD.encode() + "café,yes\n".encode("cp1252")}, "line 2: not UTF-8 text; set"),
    "an empty file": ({"a-train.csv": ""}, "a-train.csv: it holds no row"),
    "a header alone": ({"a-dev.csv": HEAD}, "a-dev.csv: it holds no row that can be used"),
    "an open quote": ({"a-train.csv": TRAIN.replace("text number 7", '"text number 7')}, "line 9: a quote opens here"),
    "many rows without a label": (
        {"a-train.csv": TRAIN.replace("text number 7", "text number 7,no\n" + 4 * "no label,nan\ntext number 7")},
        "4 of 45 rows cannot be used; line 10: label is 'nan'; allowed: no, yes",
    ),
    "a NUL byte": (
        {"a-train.csv": TRAIN.replace("number 7", "number\0")},
        "line 9: it holds a NUL byte, as no text does",
    ),
    "numbers and words": (
        {"a-train.csv": HEAD + "".join(f"text number {n},{n if n % 2 else 'no'}\n" for n in range(40))},
        "a-train.csv: its label holds numbers such as 1, and 'no'; correct it, or say in tasks.yaml its `classes`, or ",
    ),
    "one text": (
        {"a-train.csv": HEAD + "".join(f"the same,{'yes' if n % 2 else 'no'}\n" for n in range(40))},
        "no dev can be drawn from its 40 rows, which share sentences or are too few; name a file `dev` of a in ",
    ),
    "a file outside": (
        {
            "a-train.csv": None,
            "tasks.yaml": "a:\n  files: {train: ../a.csv}\n  sentences: [text]\n  label: label\n  classes: 2\n",
        },
        "tasks.yaml:2: a.files: it has to name that of train, and files below the folder",
    ),
    "a file to ignore that is not there, beside one that would be asked about": (
        {"tasks.yaml": f"ignore: ['*.csv']\n{ENTRY}  classes: [no, yes]\n", "notes.csv": "x\n1\n"},
        "tasks.yaml:1: ignore.0: *.csv is not there; allowed: files below the folder",
    ),
    "a file to ignore that is a task's": (
        {"tasks.yaml": f"ignore: [a-train.csv]\n{ENTRY}  classes: [no, yes]\n"},
        "tasks.yaml:1: ignore: a-train.csv is a file of a; allowed: files of no task",
    ),
    "tasks.yaml by another name": ({"tasks.yml": ENTRY}, "tasks.yml is not read; call it tasks.yaml"),
    "columns that bars separate": (
        {"a-train.csv": TRAIN.replace(",", "|")},
        "a-train.csv: its only column is 'text|label', which seems to be several; allowed: commas, semicolons or tabs",
    ),
    "a yes or no to each label": (
        {
            "a-train.csv": None,
            "a-train.jsonl": "".join(f'{{"text": "t {n}", "labels": [{n % 2}, 1]}}\n' for n in range(9)),
        },
        "a-train.jsonl: its labels holds [0, 1] and lists as long, a yes or no to each of several labels; write a col",
    ),
    "no train": ({"a-train.csv": None, "a-dev.csv": TRAIN}, "a has a-dev.csv, but no train; add a-train.csv"),
    "a class that only dev has drawn": (
        {
            "a-train.csv": "text,label,sent\n"
            + "".join(f"text number {n},{'maybe' if n == 39 else n % 2},{2000 + n}-01-01\n" for n in range(40)),
            "tasks.yaml": f"{ENTRY}  classes: ['0', '1', maybe]\n  time_on: sent\n",
        },
        "line 41: its label is 'maybe', all rows of which were drawn for dev; add more of them, or give ",
    ),
    "a folder that no command can name": ({}, "cannot be part of a command"),
    "a folder with a number sign": ({}, "cannot be part of a command"),
}
FOLDERS = {"a folder that no command can name": "a;b", "a folder with a number sign": "desk #2"}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_understood_is_refused_and_nothing_is_written(tmp_path: Path, params: Path, fault: str):
    written, told = FAULTS[fault]
    folder = tmp_path / FOLDERS.get(fault, "mine")
    folder.mkdir()
    for name, content in ({"a-train.csv": TRAIN} | written).items():
        if content is not None:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    there = {file.name for file in folder.iterdir()}
    with pytest.raises(MtbertError) as error:
        run(folder, StudyOptions(), "utf-8", params)
    assert told in str(error.value)
    assert {file.name for file in folder.iterdir()} == there
    assert params.read_bytes() == (ROOT / "params.yaml").read_bytes()


def test_another_encoder_and_other_lengths_are_set_and_a_wide_encoder_has_a_lower_rate(tmp_path: Path, params: Path):
    desk.write(tmp_path / "desk", "csv", SMALL)
    run(tmp_path / "desk", StudyOptions(quick=True, encoder="bert-base-uncased", steps=2.0), "utf-8", params)
    now = files.read_yaml(params)
    assert (now["encoder"]["name"], now["training"]["epochs"]) == ("bert-base-uncased", 12)
    assert now["profiles"]["own"]["training"]["learning_rate"]["encoder"] == 1e-4  # 2e-4 of a width of 384, halved
    assert now["training"]["learning_rate"]["encoder"] is None  # a value here would overrule what `mtbert tune` finds
    assert "# (bert-base-uncased) tiny, minilm," in params.read_text()


@pytest.mark.parametrize(("text", "number"), [("2x", 2.0), ("0.5x", 0.5), ("3", 3.0)])
def test_how_many_times_as_long_models_train(text: str, number: float):
    assert times(text) == number


@pytest.mark.parametrize("text", ["", "x", "2y", "0x", "1000x", "-1x", "nan"])
def test_other_words_for_it_are_refused(text: str):
    with pytest.raises(MtbertError, match=r"allowed: a number from 0\.1x to 100x"):
        times(text)


def test_what_params_yaml_has_of_an_earlier_study_is_told_and_rates_of_another_folder_go(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    rates = {"own-single-old": {"training": {"learning_rate": 0.1}}, "pals": {"training": {"learning_rate": 0.2}}}
    files.edit_yaml(params, {"tuned": rates, "training.rows": 30, "held_out": 9})
    folder = tmp_path / "mine"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"a-{split}.csv").write_text(TRAIN)
    run(folder, QUICK, "utf-8", params)
    lines = capsys.readouterr().out.splitlines()
    assert f"own-single-old: rates of another folder or encoder are no longer in `tuned` in {params}" in lines
    assert f"{params} changes profile own: training.rows 30, held_out 9; a key that is null does not" in lines
    assert files.read_yaml(params, "")["tuned"] == {"pals": {"training": {"learning_rate": 0.2}}}
    files.edit_yaml(params, {"tuned": rates})
    run(folder, QUICK, "utf-8", params)
    assert files.read_yaml(params, "")["tuned"] == rates
    run(folder, StudyOptions(quick=True, encoder="bert-base-uncased"), "utf-8", params)
    assert [*files.read_yaml(params, "")["tuned"]] == ["pals"]


def test_a_fault_of_the_settings_names_params_yaml_and_its_line(tmp_path: Path, params: Path):
    desk.write(tmp_path / "desk", "csv", SMALL)
    lines = params.read_text().splitlines()
    number = next(number for number, line in enumerate(lines) if line.startswith("limit:"))
    lines[number] = "limit: {milliseconds: 0, megabytes: null}"
    params.write_text("\n".join(lines))
    with pytest.raises(MtbertError) as error:
        run(tmp_path / "desk", StudyOptions(quick=True, encoder="tiny"), "utf-8", params)
    assert f"{params}:{number + 1}: limit.milliseconds: Input should be greater than 0, got 0" in str(error.value)


def test_a_folder_that_holds_no_encoder_is_refused(tmp_path: Path, params: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-train.csv").write_text(TRAIN)
    with pytest.raises(MtbertError, match=r"encoder\.name is .*/no, which is no folder"):
        run(tmp_path / "mine", StudyOptions(encoder=f"{tmp_path}/no"), "utf-8", params)
    with pytest.raises(MtbertError, match=r"the encoder's folder .*/mine lacks config\.json; weights in \.bin files"):
        run(tmp_path / "mine", StudyOptions(encoder=f"{tmp_path}/mine"), "utf-8", params)


def test_an_unknown_encoder_is_refused_with_those_that_are_known(tmp_path: Path, params: Path):
    desk.write(tmp_path / "desk", "csv", SMALL)
    with pytest.raises(MtbertError, match=r"--encoder: name: unknown encoder 'bert'.*minilm"):
        run(tmp_path / "desk", StudyOptions(encoder="bert"), "utf-8", params)
    assert not (tmp_path / "desk/tasks.yaml").exists()


def test_what_only_the_user_knows_is_asked_in_tasks_yaml_and_its_answer_is_read(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    folder, own = tmp_path / "mine", tmp_path / "mine/tasks.yaml"
    folder.mkdir()
    scores = [0, 0.5, 1, 2.5, 5, 999]
    rows = "text,score\n" + "".join(f"text number {n},{scores[n % 6]}\n" for n in range(60))
    (folder / "a-train.csv").write_text(rows)
    with pytest.raises(
        MtbertError, match=r"tasks\.yaml is written with a question: a\.left_out: a-train\.csv: 999 may"
    ):
        run(folder, QUICK, "utf-8", params)
    assert params.read_bytes() == (ROOT / "params.yaml").read_bytes()
    question = own.read_text().splitlines()[1]
    assert question.startswith("# mtbert asks: a.left_out: a-train.csv: 999 may stand for no score, since ")
    with pytest.raises(
        MtbertError, match=r"tasks\.yaml:12: a\.left_out: it is '\?', where `mtbert study` asks something"
    ):
        run(folder, QUICK, "utf-8", params)
    own.write_text(own.read_text().replace("left_out: '?'", "left_out: [999]"))
    run(folder, QUICK, "utf-8", params)
    assert "50 in 5 folds    text    score 0 to 5" in capsys.readouterr().out
    assert "mtbert asks" not in own.read_text()


def test_a_folder_that_cannot_be_written_is_copied(tmp_path: Path, params: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a-train.csv").write_text(TRAIN)
    write_yaml = files.write_yaml

    def refuse(path: Path, *given: object, **options: bool) -> None:
        if path.parent == folder:
            raise PermissionError(13, "Permission denied")
        write_yaml(path, *given, **options)

    monkeypatch.setattr(files, "write_yaml", refuse)
    with pytest.raises(MtbertError) as error:
        run(folder, QUICK, "utf-8", params)
    assert str(error.value) == (
        f"{folder / 'tasks.yaml'} cannot be written: Permission denied; copy the folder to where you may write, such "
        f"as `cp -r {folder} .`, and study the copy"
    )


def test_settings_without_the_papers_beside_them_are_refused(tmp_path: Path):
    shutil.copy(ROOT / "params.yaml", tmp_path)
    with pytest.raises(
        MtbertError, match=r"params\.yaml: .*papers/own\.yaml, which says what is trained, is missing; na"
    ):
        run(tmp_path, QUICK, "utf-8", tmp_path / "params.yaml")


def with_customers(first: int, customers: int, dates: str = "%Y-%m-%d") -> str:
    rows = []
    for n in range(60):
        sent = datetime.date(2024, 1, 1) + datetime.timedelta(n)
        rows.append(f"text {first + n},{['no', 'yes'][n % 2]},C{first + n // (60 // customers)},{sent:{dates}}\n")
    return "text,label,customer_id,date\n" + "".join(rows)


def test_columns_that_may_be_groups_and_dates_are_neither_text_nor_label_and_are_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    assert told(tmp_path / "mine", params, capsys, a_train=with_customers(0, 30)) == [
        "separated by commas: a-train.csv",
        "a-train.csv: fewer than 300 labelled rows, so tasks.yaml says `folds: 5`; 5 seeds make a repeat, each with "
        "another fold as dev; to have one dev, delete `folds` there",
        "a-train.csv: each of its 60 rows is predicted by a model that did not see it (5 folds, drawn by their text)",
        "a-train.csv: not used: customer_id, date",
        "a-train.csv: customer_id may say which rows belong together; to keep its rows in one split, write `group_on: "
        "customer_id` into tasks.yaml",
        "a-train.csv: date looks like dates; to draw the latest rows for dev, write `time_on: date` in place of "
        "`folds`",
    ]


def test_how_dev_is_drawn_and_which_rows_are_left_out_for_it_is_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "mine"
    told(folder, params, capsys, a_train=with_customers(0, 30), b_train=with_customers(0, 60, "%d/%m/%Y"))
    own = folder / "tasks.yaml"
    entries = files.read_yaml(own, "")
    for entry in entries.values():
        del entry["folds"]
    files.write_yaml(own, {"a": entries["a"] | {"group_on": "customer_id", "time_on": "date"}, "b": entries["b"]})
    (folder / "a-test.csv").write_text("text,label,customer_id\nx,yes,C3\ny,no,\n")
    assert [line for line in told(folder, params, capsys) if line.startswith("a-")] == [
        "a-train.csv: 2 rows are left out; line 8: its customer_id is that of a row of dev or test",
        "a-train.csv: tasks.yaml names no dev file, so 12 of its rows, the latest by date, are dev",
        "a-test.csv: 1 of 2 rows have no customer_id, so rows of their group may be in train",
        "a-train.csv: 11 of 12 dev rows of a are in train of b",
    ]
    entries["b"] |= {"group_on": "customer_id", "time_on": "date"}
    files.write_yaml(own, {"b": entries["b"]})
    (folder / "a-train.csv").unlink()
    (folder / "a-test.csv").unlink()
    before = params.read_text()
    with pytest.raises(MtbertError, match=r"b-train\.csv, line 2: its date is '01/01/2024'; .*: \"%d/%m/%Y\"$"):
        told(folder, params, capsys)
    assert (files.read_yaml(own, ""), params.read_text()) == ({"b": entries["b"]}, before)
    files.write_yaml(own, {"b": entries["b"] | {"time_format": "%d/%m/%Y"}})
    assert "b-train.csv: customer_id is another in each row, so `group_on` keeps no rows together" in told(
        folder, params, capsys
    )


@pytest.mark.parametrize(
    ("last", "note"),
    [
        ("2024-12-31", []),
        ("2999-01-31", ["a-train.csv: 1 row of dev has a date after today, first line 61; correct slips"]),
    ],
)
def test_a_date_to_come_is_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str], last: str, note: list[str]
):
    folder = tmp_path / "mine"
    rows = with_customers(0, 30).splitlines()
    rows[-1] = f"{rows[-1].rsplit(',', 1)[0]},{last}"
    described = {"a": {"files": {"train": "a-train.csv"}, "sentences": ["text"], "label": "label", "time_on": "date"}}
    folder.mkdir()
    files.write_yaml(folder / "tasks.yaml", {"a": described["a"] | {"classes": ["no", "yes"]}})
    lines = told(folder, params, capsys, a_train="\n".join(rows) + "\n")
    assert [line for line in lines if "after today" in line] == note


def test_groups_that_look_alike_or_stand_for_none_and_a_label_left_out_that_no_row_has_are_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "mine"
    folder.mkdir()
    described = {"files": {"train": "a-train.csv", "dev": "a-dev.csv"}, "sentences": ["text"], "label": "label"}
    more = {"classes": ["no", "yes"], "group_on": "customer", "left_out": ["N/A"]}
    files.write_yaml(folder / "tasks.yaml", {"a": described | more})
    train = "".join(f"text {n},{'yes' if n % 2 else 'no'},{'Unknown' if n < 5 else f'{n:03d}'}\n" for n in range(40))
    dev = "text,label,customer\nx,yes,7\ny,no,41\n"
    assert told(folder, params, capsys, a_train=f"text,label,customer\n{train}", a_dev=dev)[1:] == [
        "a-train.csv: no row has the label N/A, which is `left_out`",
        "a-train.csv: customer '007' and '7' look alike, and are two groups, of which one may be in train and one in "
        "dev; write both alike",
        "a-train.csv: 5 rows have the customer 'Unknown', so they are kept together; if it stands for none, give each "
        "of them a group of its own",
    ]


def test_words_for_no_text_and_rows_of_dev_in_test_are_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    train = HEAD + "".join(f"{'nan' if n % 8 == 0 else f'text {n}'},{'yes' if n % 2 else 'no'}\n" for n in range(40))
    dev = f"{HEAD}x,yes\nX,no\n"
    assert told(tmp_path / "mine", params, capsys, a_train=train, a_dev=dev, a_test=dev)[1:] == [
        "a-train.csv: 5 rows have the text 'nan'; if it stands for none, empty it",
        "a-dev.csv: 1 dev text has rows of different labels",
        "a-test.csv: 1 test text has rows of different labels",
        "a-test.csv: 2 of 2 test rows are in dev, too",
    ]


def test_texts_in_a_wrong_encoding_are_told(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]):
    train = HEAD + "".join(f"caf\u00c3\u00a9 {n},{'yes' if n % 2 else 'no'}\n" for n in range(40))
    dev = HEAD + "".join(f"caf\ufffd {n},{'yes' if n % 2 else 'no'}\n" for n in range(100, 140))
    test = HEAD + "".join(f"caf\u00e9 {n},{'yes' if n % 2 else 'no'}\n" for n in range(200, 240))
    lines = told(tmp_path / "mine", params, capsys, a_train=train, a_dev=dev, a_test=test)
    assert [line.partition("; ")[0] for line in lines[1:]] == [
        "a-train.csv: 40 texts were read or saved in a wrong encoding, such as 'caf\u00c3\u00a9 0'",
        "a-dev.csv: 40 texts were read or saved in a wrong encoding, such as 'caf\ufffd 100'",
    ]


def test_a_link_to_a_file_that_is_not_there_is_refused(tmp_path: Path, params: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a-train.csv").write_text(TRAIN)
    (tmp_path / "mine/a-dev.csv").symlink_to("gone.csv")
    with pytest.raises(MtbertError, match=r"a-dev\.csv is a link to gone\.csv, which is not there; fetch the file, or"):
        run(tmp_path / "mine", QUICK, "utf-8", params)


def test_two_sentences_that_are_one_are_told(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]):
    rows = "text,text_pair,label\n" + "".join(f"x {n},X {n},{n % 2}\n" for n in range(40))
    lines = told(tmp_path / "mine", params, capsys, a_train=rows, a_dev=rows)
    assert "a-train.csv: both sentences are the same in every row" in lines


def test_scores_of_another_scale_are_told(tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]):
    train, dev = ("text,score\n" + "".join(f"{scale} {n},{n * scale}\n" for n in range(20)) for scale in (1.0, 0.05))
    assert told(tmp_path / "mine", params, capsys, a_train=train, a_dev=dev)[1:] == [
        "a-train.csv: its score is 0 to 0.95 in dev, and 0 to 19 in train; write both on one scale"
    ]


def test_classes_that_dev_numbers_otherwise_are_told_by_the_words_beside_them(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    train, dev = (
        "text,label,name\n" + "".join(f"{split} {n},{n % 2},{names[n % 2]}\n" for n in range(20))
        for split, names in (("a", ["neg", "pos"]), ("b", ["pos", "neg"]))
    )
    assert told(tmp_path / "mine", params, capsys, a_train=train, a_dev=dev)[2:] == [
        "a-train.csv: name has 'pos' beside 0 in dev, and beside 1 in train; number the classes alike in both files"
    ]


def test_groups_that_another_task_has_in_a_column_of_another_name_are_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "mine"
    folder.mkdir()
    for task, column in (("a", "customer"), ("b", "customer_id")):
        rows = "".join(f"{task} {n},{'yes' if n % 2 else 'no'},C{n % 10}\n" for n in range(40))
        (folder / f"{task}.csv").write_text(f"text,label,{column}\n{rows}")
    described = {"sentences": ["text"], "label": "label", "classes": ["no", "yes"]}
    more = {
        name: {"files": {"train": f"{name}.csv"}, "group_on": of}
        for name, of in (("a", "customer"), ("b", "customer_id"))
    }
    files.write_yaml(folder / "tasks.yaml", {name: described | entry for name, entry in more.items()})
    notes = [line for line in told(folder, params, capsys) if line.endswith("mean the same, call the columns alike")]
    assert [note.partition("; if")[0] for note in notes] == [
        "a: 2 of 2 groups of dev, by customer, are in train of b, by customer_id",
        "b: 2 of 2 groups of dev, by customer_id, are in train of a, by customer",
    ]


def test_predictions_of_others_are_no_task_and_are_told_or_refused(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "mine"
    (folder / "others/gpt").mkdir(parents=True)
    (folder / "a-dev.csv").write_text(HEAD + "nice,yes\ndull,no\n")
    (folder / "others/gpt/a-dev.csv").write_text("text,prediction\nnice,yes\n")
    with pytest.raises(MtbertError, match=r"a-dev\.csv: 1 of 2 rows of dev have no prediction, first text 'dull'"):
        told(folder, params, capsys, a_train=TRAIN)
    assert not (folder / "tasks.yaml").is_file()
    (folder / "others/gpt/a-dev.csv").write_text("text,prediction\nnice,yes\ndull,yes\n")
    (folder / "others/gpt/costs.yaml").write_text("price: 0.4\n")
    assert told(folder, params, capsys) == [
        "separated by commas: a-dev.csv, a-train.csv",
        "others/gpt: predictions of a dev",
    ]
    assert [*tasks.read_folder(folder)] == ["a"]

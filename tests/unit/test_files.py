"""What is at a path is whole: the old until the new is finished, whatever happens between."""

import contextlib
import os
import signal
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from mtbert import files
from mtbert.errors import DataError

SOURCE = Path(files.__file__).parents[1]


def tree(directory: Path) -> dict[str, str]:
    """Every file below a directory, hidden ones too, with its text."""
    found = sorted(file for file in directory.rglob("*") if file.is_file())
    return {file.relative_to(directory).as_posix(): file.read_text(encoding="utf-8") for file in found}


def write_half(place: Path, fault: type[BaseException]) -> None:
    """Half of a file, or of a directory with a file."""
    with (files.new_file if place.suffix else files.new_directory)(place) as partial:
        (partial if place.suffix else partial / "a.txt").write_text("ha", encoding="utf-8")
        raise fault


def write_a_directory(directory: Path, texts: dict[str, str]) -> None:
    with files.new_directory(directory) as partial:
        for name, text in texts.items():
            (partial / name).write_text(text, encoding="utf-8")


def killed(script: str, cwd: Path) -> None:
    """Run a script that kills itself in the middle, as the kernel would."""
    prologue = "import os, signal\nfrom pathlib import Path\nfrom mtbert import files\n"
    ended = subprocess.run(
        [sys.executable, "-c", prologue + script], cwd=cwd, env=os.environ | {"PYTHONPATH": str(SOURCE)}, check=False
    )
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("name", ["d/a.txt", "d"])
def test_a_fault_leaves_what_was_there(tmp_path: Path, name: str, fault: type[BaseException]):
    with pytest.raises(fault):
        write_half(tmp_path / name, fault)
    assert tree(tmp_path) == {}
    files.write_text(tmp_path / "d/a.txt", "old")
    with pytest.raises(fault):
        write_half(tmp_path / name, fault)
    assert tree(tmp_path) == {"d/a.txt": "old"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize(("name", "below"), [("d/a.txt", ""), ("d", " / 'a.txt'")])
def test_a_kill_leaves_what_was_there_and_the_next_write_makes_good(tmp_path: Path, name: str, below: str):
    files.write_text(tmp_path / "d/a.txt", "old")
    killed(
        f"with files.new_{'directory' if below else 'file'}(Path({name!r})) as partial:\n"
        f"    (partial{below}).write_text('a long half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n",
        tmp_path,
    )
    assert (tmp_path / "d/a.txt").read_text(encoding="utf-8") == "old"
    if below:
        write_a_directory(tmp_path / "d", {"a.txt": "new"})
    else:
        files.write_text(tmp_path / "d/a.txt", "new")
    assert tree(tmp_path) == {"d/a.txt": "new"}


def test_a_kill_between_the_old_directory_and_the_new_one_loses_neither(tmp_path: Path):
    write_a_directory(tmp_path / "d", {"a.txt": "old"})
    killed(
        "rename = Path.replace\n"
        "def replace(path, target):\n"
        "    if target == Path('d').resolve() and not target.exists():\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    rename(path, target)\n"
        "Path.replace = replace\n"
        "with files.new_directory(Path('d')) as partial:\n"
        "    (partial / 'a.txt').write_text('new')\n",
        tmp_path,
    )
    assert not (tmp_path / "d").exists()
    with pytest.raises(ValueError, match=r"^$"):
        write_half(tmp_path / "d", ValueError)
    assert tree(tmp_path) == {"d/a.txt": "old"}


def test_a_new_directory_replaces_the_old_one_with_all_that_was_in_it(tmp_path: Path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "stale.txt").write_text("old", encoding="utf-8")
    with files.new_directory(tmp_path / "d") as partial:
        files.write_text(partial / "deep" / "new.txt", "new")
        place = partial.relative_to(tmp_path)
        assert fnmatch(place.as_posix(), ".d.*.partial/d")
        assert tree(tmp_path) == {f"{place}/deep/new.txt": "new", "d/stale.txt": "old"}
    assert tree(tmp_path) == {"d/deep/new.txt": "new"}


def test_what_a_killed_process_left_of_another_path_stays(tmp_path: Path):
    files.write_text(tmp_path / ".d.e.0a1b2c3d.partial/0.old/a.txt", "of d.e")
    write_a_directory(tmp_path / "d", {"a.txt": "of d"})
    assert tree(tmp_path) == {".d.e.0a1b2c3d.partial/0.old/a.txt": "of d.e", "d/a.txt": "of d"}
    write_a_directory(tmp_path / "d.f", {})
    write_a_directory(tmp_path / "d.e", {"b.txt": "new"})
    assert tree(tmp_path) == {"d/a.txt": "of d", "d.e/b.txt": "new"}


@pytest.mark.parametrize("names", [("first", "second"), ("second", "first")])
def test_of_two_that_write_one_directory_the_last_one_is_whole(tmp_path: Path, names: tuple[str, str]):
    with contextlib.ExitStack() as stack:
        ends: dict[str, contextlib.ExitStack] = {}
        for name in ("first", "second"):
            ends[name] = stack.enter_context(contextlib.ExitStack())
            partial = ends[name].enter_context(files.new_directory(tmp_path / "d"))
            for part in "ab":
                (partial / f"{name}-{part}").write_text(name)
        for name in names:
            ends[name].close()
            assert tree(tmp_path / "d") == {f"{name}-a": name, f"{name}-b": name}
    assert [entry.name for entry in tmp_path.iterdir()] == ["d"]


def test_of_two_that_write_one_file_the_last_one_is_whole(tmp_path: Path):
    with files.new_file(tmp_path / "f") as first:
        first.write_text("first")
        with files.new_file(tmp_path / "f") as second:
            second.write_text("second")
        assert (tmp_path / "f").read_text() == "second"
    assert tree(tmp_path) == {"f": "first"}


def test_what_is_written_is_on_the_disk_before_it_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file, folder = tmp_path / "a.txt", tmp_path / "d"
    waited: list[tuple[int, bool]] = []  # for which file, and whether it was in place
    monkeypatch.setattr(
        os, "fsync", lambda handle: waited.append((os.fstat(handle).st_ino, file.exists() or folder.exists()))
    )
    files.write_text(file, "new")
    assert waited == [(file.stat().st_ino, False)]
    file.unlink()
    write_a_directory(folder, {"b.txt": "new"})
    assert waited[1:] == [((folder / "b.txt").stat().st_ino, False)]


def test_a_file_in_a_new_directory_is_as_readable_as_the_directory(tmp_path: Path):
    with files.new_directory(tmp_path / "new") as folder:
        (folder / "weights").touch(0o600)
    assert (tmp_path / "new/weights").stat().st_mode & 0o777 == (tmp_path / "new").stat().st_mode & 0o666


def test_folders_that_hold_nothing_are_removed_and_no_others(tmp_path: Path):
    for name in ("empty", "full/1"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file").touch()
    files.remove_empty(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "full"]


def test_json_is_sorted_and_indented_utf_8_with_unix_line_ends(tmp_path: Path):
    files.write_json(tmp_path / "v.json", {"b": [1, 0.5], "a": "é"})
    assert (tmp_path / "v.json").read_bytes() == b'{\n  "a": "\xc3\xa9",\n  "b": [\n    1,\n    0.5\n  ]\n}\n'
    assert files.read_json(tmp_path / "v.json") == {"a": "é", "b": [1, 0.5]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_json_refuses_numbers_that_it_has_no_words_for(tmp_path: Path, value: float):
    files.write_json(tmp_path / "v.json", {"loss": 1.0})
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(tmp_path / "v.json", {"loss": value})
    assert files.read_json(tmp_path / "v.json") == {"loss": 1.0}


def test_equal_settings_are_equal_bytes_of_yaml(tmp_path: Path):
    files.write_yaml(tmp_path / "one.yaml", {"b": None, "a": {"d": 1.0e-05, "c": ["é", True]}})
    files.write_yaml(tmp_path / "two.yaml", {"a": {"c": ["é", True], "d": 0.00001}, "b": None})
    text = (tmp_path / "one.yaml").read_text(encoding="utf-8")
    assert text == "a:\n  c:\n  - é\n  - true\n  d: 1.0e-05\nb: null\n"
    assert (tmp_path / "two.yaml").read_text(encoding="utf-8") == text
    assert files.read_yaml(tmp_path / "one.yaml") == {"a": {"c": ["é", True], "d": 1e-05}, "b": None}


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (files.read_json, b"{"), (files.read_json, b"[NaN]"), (files.read_json, b"[-Infinity]"),
        (files.read_json, b"1" * 5000), (files.read_json, b"[" * 100_000),
        (files.read_yaml, b"{"), (files.read_yaml, b"\x80\x04."), (files.read_yaml, b"!!python/object/apply:f []"),
        (files.read_yaml, b"[" * 600), (files.read_yaml, b"[" * 101 + b"]" * 101), (files.read_yaml, b"a: &x 1\nb: *x"),
    ],
)  # fmt: skip
def test_what_this_project_did_not_write_is_told_with_its_name(tmp_path: Path, read, content: bytes):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(DataError, match=r"v is not (JSON|plain YAML): .+; remove it and run the stage that makes it$"):
        read(tmp_path / "v")


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        (dict[str, float], '{"a": true}', "a: Input should be a valid number, got True"),
        (dict[str, float], '{"a": 1e999}', "a: Input should be a finite number, got inf"),
        (list[int], "[1, 2.5]", "1: Input should be a valid integer, got 2.5"),
    ],
)
def test_what_a_file_should_hold_is_said(tmp_path: Path, kind: type, content: str, said: str):
    files.write_text(tmp_path / "v.json", content)
    with pytest.raises(DataError) as error:
        files.read_as(kind, tmp_path / "v.json", "dvc repro preprocess")
    assert str(error.value).startswith(f"{tmp_path / 'v.json'} is damaged: {said}")
    assert str(error.value).endswith("; `dvc repro preprocess` makes it again")


def test_what_is_as_it_should_be_is_read(tmp_path: Path):
    files.write_text(tmp_path / "v.json", '{"a": 1, "b": 0.5}')
    assert files.read_as(dict[str, float], tmp_path / "v.json", "dvc repro") == {"a": 1.0, "b": 0.5}
    for read in (files.read_json, files.read_yaml, lambda file: files.read_as(list[int], file, "dvc repro")):
        with pytest.raises(DataError, match=r"w\.json is missing; "):
            read(tmp_path / "w.json")


@pytest.mark.parametrize("word", ["off", "no", "yes", "on", "y", "12e3", "0o17", "1_0", "~", "2024-01-01"])
def test_a_word_is_a_word_to_every_reader_of_what_is_written(tmp_path: Path, word: str):
    files.write_yaml(tmp_path / "v.yaml", {word: [word]})
    assert files.read_yaml(tmp_path / "v.yaml") == {word: [word]}
    (tmp_path / "own.yaml").write_text("off: [no, yes, on]", encoding="utf-8")
    assert files.read_yaml(tmp_path / "own.yaml") == {"off": ["no", "yes", "on"]}


def test_lists_in_brackets_hold_words_with_colons_and_question_marks(tmp_path: Path):
    (tmp_path / "own.yaml").write_text("sentences: [What is it?, a:b]\nlabel: kind\n", encoding="utf-8")
    assert files.read_yaml(tmp_path / "own.yaml") == {"sentences": ["What is it?", "a:b"], "label": "kind"}
    assert files.yaml_line(tmp_path / "own.yaml", ["label"]) == 2


def test_what_a_person_named_is_written_through_where_it_is_no_plain_file(tmp_path: Path):
    (tmp_path / "old").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "old")
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    for name in ("link", "pipe", "new"):
        with files.out_file(tmp_path / name) as partial:
            files.write_text(partial, "new")
    assert reader.communicate(timeout=10)[0] == b"new"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "old").read_text(encoding="utf-8") == (tmp_path / "new").read_text(encoding="utf-8") == "new"
    with pytest.raises(DataError, match="is a folder"), files.out_file(tmp_path):
        pass


def test_what_is_no_folder_is_not_replaced_by_one(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is no folder"):
        write_a_directory(tmp_path / "file", {"a": "a"})
    assert tree(tmp_path) == {"file": ""}


def test_a_new_directory_is_written_where_a_link_leads(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    write_a_directory(tmp_path / "link", {"a": "a"})
    assert (tmp_path / "link").is_symlink()
    assert tree(tmp_path / "folder") == {"a": "a"}


def test_single_values_of_a_file_of_yaml_are_edited_and_all_else_stays(tmp_path: Path):
    file = tmp_path / "params.yaml"
    file.write_text(
        "a: 1\ndata_dir: x y     # which\nseeds:\n- 1\n- 2\nencoder:\n  name:     # (bert)\nend:   # none\n"
    )
    files.edit_yaml(file, {"data_dir": "null", "seeds": [3], "encoder.name": "./mine #1"})
    assert file.read_text() == (
        "a: 1\ndata_dir: 'null'  # which\nseeds:\n- 3\nencoder:\n  name: './mine #1' # (bert)\nend:   # none\n"
    )
    with pytest.raises(DataError, match=r"has no section decoder for decoder\.name"):
        files.edit_yaml(file, {"decoder.name": "x"})

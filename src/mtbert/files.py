"""Write files that are either whole or absent: under another name first, then renamed."""

import contextlib
import errno
import glob
import hashlib
import io
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, SequenceNode
from ruamel.yaml.representer import SafeRepresenter

from mtbert.errors import DataError, in_words, one_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Content = TypeVar("Content")
AGAIN = "remove it and run the stage that makes it"
try:
    import fcntl
except ModuleNotFoundError:  # of Windows
    fcntl = None

NOTHING = "nothing.txt"  # of a stage's folder that holds nothing else
PARTIAL = ".partial"  # ending of unfinished files; .dvcignore and .gitignore list it
OLD = ".old"  # ending of a folder that another one replaces


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; move it to `path` if the block succeeds, else remove it."""
    with _temporary_folder(path) as folder:
        partial = _file_of(folder)
        yield partial
        flush(partial)
        partial.replace(path)


def _file_of(folder: Path) -> Path:
    """Return the unfinished file that belongs to a temporary folder, and lies beside it."""
    return folder.with_name(f"{folder.name}{PARTIAL}")


@contextlib.contextmanager
def _temporary_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path` that is this process's own, and remove it.

    Those of processes that were killed are removed first; what one of them had just taken out of its place goes back. A
    living process holds the lock of its folder; where a file system has no such locks, no folder of another process is
    removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}/"):
        if leftover.name[: -len(PARTIAL)].rpartition(".")[0] != f".{path.name}":  # a glob's * matches dots, too
            continue
        with _locked(leftover, waits=False) as is_locked:
            if is_locked:
                _put_back(leftover, path)
                _remove(leftover)
    while True:
        folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=PARTIAL))
        with _locked(folder):
            if not folder.is_dir():  # before it was locked, another process took it for one that was left
                continue
            try:
                yield folder
            finally:
                _remove(folder)
            return


def _put_back(folder: Path, path: Path) -> None:
    """Move what `_put` had taken from `path`, when its process was killed, back to there."""
    old = folder / f"0{OLD}"
    if old.is_dir() and not path.exists():
        old.replace(path)


def _remove(folder: Path) -> None:
    """Remove a temporary folder and its file."""
    _file_of(folder).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path, waits: bool = True) -> Iterator[bool]:
    """Hold the lock of a folder, and yield whether it is held; not where folder, file system or system has none."""
    if fcntl is None:
        yield False
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # removed, or of another person
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_held = True
        except OSError:
            is_held = False
        yield is_held
    finally:
        os.close(handle)


@contextlib.contextmanager
def out_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to what a person named: through a link, a device or a pipe; else as `new_file` does."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; allowed: the name of a file")
    if not path.is_symlink() and (path.is_file() or not path.exists()):
        with new_file(path) as partial:
            yield partial
        return
    with tempfile.TemporaryDirectory() as folder:
        yield (partial := Path(folder, path.name))
        with partial.open("rb") as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Yield an empty directory to fill; move it to `path` if the block succeeds, else remove it.

    Of two processes that write one directory, the last one's is there in the end, whole.

    DataError where `path` is anything else than a directory.
    """
    path = path.resolve()
    if path.exists() and not path.is_dir():
        raise DataError(f"{path} is no folder; allowed: a folder, or the name of a new one")
    with _temporary_folder(path) as folder:
        partial = folder / path.name
        partial.mkdir()
        yield partial
        mode = partial.stat().st_mode & 0o666  # as the umask has it: safetensors lets nobody but the owner read
        for file in partial.rglob("*"):
            if file.is_file():
                file.chmod(mode)
                flush(file)
        _put(partial, path)


def _put(partial: Path, path: Path) -> None:
    """Move a directory to `path`; what was there goes beside `partial`."""
    for number in itertools.count():  # two renames, since a directory cannot be renamed onto one that is not empty
        try:
            partial.replace(path)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        with contextlib.suppress(FileNotFoundError):  # another process has just moved it away
            path.replace(partial.with_name(f"{number}{OLD}"))


def compressed(folder: Path, names: Iterable[str]) -> str:
    """Return an end of a message, with what to do, where the first of these files lies there as .gz; else nothing."""
    archive = next((folder / f"{name}.gz" for name in names if (folder / f"{name}.gz").is_file()), None)
    return f"; {archive} is there, but compressed: `gunzip -k {archive.parent}/*.gz` unpacks it" if archive else ""


def remove_empty(directory: Path) -> None:
    """Remove the folders in a directory that hold nothing."""
    for folder in directory.glob("*"):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def explain_empty(folder: Path, reason: str) -> None:
    """Write into a stage's empty folder why it is so; DVC warns of one without a file. Else remove that file."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names - {NOTHING}:
        (folder / NOTHING).unlink(missing_ok=True)
    else:
        write_text(folder / NOTHING, f"{reason}\n")


def keep_only(directory: Path, kept: Collection[Path]) -> None:
    """Make a directory, or remove of it all folders at the depth of `a/b` but these, and what is empty then."""
    directory.mkdir(parents=True, exist_ok=True)
    for folder in sorted({*directory.glob("*/*")} - {*kept}):
        shutil.rmtree(folder)
    remove_empty(directory)


def flush(path: Path) -> None:
    """Wait until a file, or a directory's entries, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with Unix line ends, whole or not at all."""
    with new_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON with sorted keys; NaN and infinities are refused (ValueError)."""
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """Return the text that `write_json` writes."""
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def read_json(path: Path, again: str = AGAIN) -> Any:
    """Read JSON; DataError where the file is missing or holds something else, also for NaN and infinities."""
    return _parsed(path, partial(from_json, allow_inf_nan=False), "JSON", again)


def read_as(content_type: type[Content], path: Path, remedy: str) -> Content:
    """Read a file of YAML or JSON, by its ending, that this project wrote, as a value of that type.

    Args:
        content_type: a type that pydantic can check, such as `dict[str, float]` or a `Section`.
        path: the file.
        remedy: the command that makes it again, such as `dvc repro preprocess`.

    Raises:
        DataError: the file is missing or holds something else; the message says where, what came and what is allowed.
    """
    if not path.is_file():
        raise DataError(f"{path} is missing; `{remedy}` makes it")
    read = read_yaml if path.suffix == ".yaml" else read_json
    return checked(content_type, read(path, f"`{remedy}` makes it again"), path, remedy)


def checked(content_type: type[Content], content: object, path: Path, remedy: str) -> Content:
    """Return what a file holds, or part of it, as a value of that type; arguments and errors as for `read_as`."""
    try:
        return _adapter(content_type).validate_python(content, strict=True)
    except ValidationError as error:
        raise DataError(f"{path} is damaged: {in_words(error)}; `{remedy}` makes it again") from None


@cache
def _adapter(content_type: type[Content]) -> TypeAdapter[Content]:
    if isinstance(content_type, type) and hasattr(content_type, "model_config"):  # pydantic refuses a second one
        return TypeAdapter(content_type)
    return TypeAdapter(content_type, config=ConfigDict(allow_inf_nan=False))


class _WithoutAliases(SafeRepresenter):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_float(self, data: float) -> Any:
        """Write 1.0e-05: YAML 1.1, by which others may read it, takes 1e-05 for text."""
        node = super().represent_float(data)
        if "e" in node.value and "." not in node.value:
            node.value = node.value.replace("e", ".0e")
        return node


_WithoutAliases.add_representer(float, _WithoutAliases.represent_float)


MOST_COLUMNS = 10**6  # so that no line of an edited file is broken
DEEPEST = 100  # collections within one another


def write_yaml(path: Path, value: Any, in_order: bool = False) -> None:
    """Write block-style YAML without aliases; keys `in_order`, or sorted, so that equal settings are equal bytes."""
    yaml, text = YAML(typ="safe", pure=True), io.StringIO()
    yaml.default_flow_style, yaml.width, yaml.Representer = False, 120, _WithoutAliases
    yaml.sort_base_mapping_type_on_output = not in_order  # pyright: ignore[reportAttributeAccessIssue]
    yaml.dump(value, text)
    write_text(path, text.getvalue())


def edit_yaml(path: Path, values: Mapping[str, Any], without: Iterable[str] = ()) -> None:
    """Set values in a file of YAML by dotted keys, such as `encoder.name`; comments, order and all else stay.

    The keys in `without`, at the top of the file, go.

    Raises:
        DataError: the file is missing, is no YAML, or lacks a section that a key names.
    """
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, MOST_COLUMNS
    content = _parsed(path, yaml.load, "plain YAML", "correct it")
    for key, value in values.items():
        *sections, name = key.split(".")
        node = content
        for section in sections:
            node = node.get(section) if isinstance(node, dict) else None
        if not isinstance(node, dict):
            raise DataError(f"{path} has no section {'.'.join(sections)} for {key}")
        node[name] = value
    for key in without:
        del content[key]
    text = io.StringIO()
    yaml.dump(content, text)
    write_text(path, text.getvalue())


def read_yaml(path: Path, again: str = AGAIN, aliases: bool = False) -> Any:
    """Read YAML; DataError where the file is missing or has another form, also for aliases where they are refused."""
    return _parsed(path, partial(_load, aliases=aliases), "plain YAML", again)


def _load(text: str, aliases: bool) -> Any:
    """Read version 1.2, as DVC does, so that `off` and `no` are words.

    libyaml takes a quarter of Python's time. It refuses `[What is it?]` and `[a:b]`: what it refuses, Python reads.
    """
    try:
        return _load_by(text, aliases, pure=False)
    except YAMLError:
        return _load_by(text, aliases, pure=True)


def _load_by(text: str, aliases: bool, pure: bool) -> Any:
    """Read YAML by libyaml, or by `pure` Python.

    A few nested aliases can stand for billions of values, and libyaml ends the process where nesting is too deep.
    """
    depth = 0
    for event in YAML(typ="safe", pure=pure).parse(text):
        if isinstance(event, AliasEvent) and not aliases:
            raise ValueError(f"line {event.start_mark.line + 1} holds an alias")
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"line {event.start_mark.line + 1} is nested more than {DEEPEST} deep")
    return YAML(typ="safe", pure=pure).load(text)


def yaml_line(path: Path, place: Iterable[str | int]) -> int:
    """Return the line of a value in a file of YAML, or of the last of its keys that is there."""
    node, line = YAML(typ="safe", pure=True).compose(path), 1
    for key in place:
        pairs: list[tuple[Any, Any]] = []  # the key, or the item of a list, that starts the line; and the value
        if isinstance(node, MappingNode):
            pairs = [pair for pair in node.value if pair[0].value == str(key)]
        elif isinstance(node, SequenceNode) and isinstance(key, int):
            pairs = [(item, item) for item in node.value[key:][:1]]
        if not pairs:
            break
        start, node = pairs[0]
        line = start.start_mark.line + 1
    return line


def _parsed(path: Path, parse: Callable[[str], Any], form: str, again: str) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is missing; run the stage that makes it") from None
    except (ValueError, RecursionError, YAMLError) as error:
        raise DataError(f"{path} is not {form}: {one_line(error)}; {again}") from None


def read_parquet(path: Path, columns: list[str] | None = None) -> "pd.DataFrame":
    """Read a table, or these columns of it; DataError where the file is missing or holds something else."""
    table = read_arrow(path, columns).to_pandas()
    if missing := set(columns or ()) - set(table.columns):
        raise DataError(f"{path} lacks columns: {', '.join(sorted(missing))}; run the stage that makes it")
    return table


def read_arrow(path: Path, columns: list[str] | None = None) -> "pa.Table":
    """Read a table as Arrow has it, which keeps lists and empty values; DataError as for `read_parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:  # pandas' own reader takes 2.5 times as long for a small file
            return file.read(columns).replace_schema_metadata()  # a stranger may have written the metadata
    except FileNotFoundError:
        raise DataError(f"{path} is missing; run the stage that makes it") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a whole Parquet file: {one_line(error)}; run the stage that makes it") from None


def sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_of(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()

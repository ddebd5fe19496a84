"""Digests of the code that results depend on: a stage runs again where one changes.

Comments and docstrings do not count. A stage depends on its script and on what the script reaches by its imports. A
training depends on the files that every training uses, and on those of its techniques, which its plan file lists.
Imports are read from the source, also those within functions. An import by a name that is made at run time cannot be
read there, and is passed as a start.
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

import mtbert
from mtbert import files

PACKAGE = Path(mtbert.__file__).parent
# Makes a training of a plan file, and reaches all that its numbers go through.
TRAINING = (PACKAGE / "training/assembly.py",)
# Scripts whose code no stage depends on: `download` is no stage, `machine` keeps what it once found, `plan` depends on
# all of the source, and `train` on the code of all trainings.
NO_INPUTS = ("download", "machine", "plan", "train")


def of_stages(scripts: Path, without: frozenset[Path]) -> dict[str, dict[str, str]]:
    """Return the files of the plan on code, such as `code-encoder`: the digest of each file that a stage reaches.

    `without`: files that bring in every technique of a kind, and every task; they do not count.
    """
    stages = [file for file in scripts.glob("[a-z]*.py") if file.stem not in NO_INPUTS]  # no editor's `.#train.py`
    by_file = {f"code-{file.stem}": digests([file]) for file in stages}
    return by_file | {"code-train": digests(TRAINING, without)}


@cache
def of_technique(source: Path, without: frozenset[Path]) -> dict[str, str]:
    """Return the digests of the files that a technique or task uses, without those that every training uses."""
    return dict(digests([source], without - {source}).items() - digests(TRAINING, without).items())


@cache
def digest(file: Path) -> str:
    """Return the SHA-256 of a module's syntax tree without docstrings, of another file that of its bytes."""
    return _parsed(file)[0] if file.suffix == ".py" else files.sha256(file)


@cache
def _parsed(file: Path) -> tuple[str, list[str]]:
    """Return a module's digest, and the names that it imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = [*ast.walk(tree)]
    imports = [name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for name in _names(node)]
    for node in nodes:
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node):
            node.body = node.body[1:]
    return files.sha256_of(ast.dump(tree).encode()), imports


def digests(starts: Iterable[Path], without: Collection[Path] = ()) -> dict[str, str]:
    """Return the digest of every file that `starts` reach, by name, sorted; files in `without` are not entered."""
    reached: set[Path] = set()
    waiting = [start.resolve() for start in starts]
    while waiting:
        file = waiting.pop()
        if file in reached or file in without:
            continue
        reached.add(file)
        if file.suffix == ".py":
            waiting += _imported(file)
    names = {file.relative_to(PACKAGE if file.is_relative_to(PACKAGE) else file.parents[1]): file for file in reached}
    return {name.as_posix(): digest(names[name]) for name in sorted(names)}


@cache
def _imported(file: Path) -> list[Path]:
    """Return the package's files that a module imports, and others in its folder that it names, also as `*.yaml`."""
    text = file.read_text(encoding="utf-8")
    imported = [path for name in _parsed(file)[1] for path in _files(name)]
    for data_file in file.parent.glob("*.*"):
        is_named = data_file.name in text or f'"*{data_file.suffix}"' in text
        if data_file.suffix != ".py" and is_named:
            imported.append(data_file)
    return imported


def _names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    yield from (f"{base}{alias.name}" for alias in node.names)  # a module, or something within one


def _files(name: str) -> Iterator[Path]:
    """Yield the file of a module of the package, or of the module that defines a name, and each `__init__.py` above."""
    first, *rest = name.split(".")
    if first == PACKAGE.name:
        for depth in range(len(rest) + 1):
            module = PACKAGE.joinpath(*rest[:depth])
            yield from (file for file in (module / "__init__.py", module.with_suffix(".py")) if file.is_file())

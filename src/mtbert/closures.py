"""Which files of a package a script comes to by its imports: where one of them changes, its results may change.

Imports are read from the source text, so nothing is imported and imports within functions count, too. Imports by a name
that is made while the program runs cannot be seen; who has one gives what it leads to as a further start.
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from mtbert import files


def closure(starts: Iterable[Path], package: Path, without: Collection[str] = ()) -> dict[str, str]:
    """Every file of `package` that `starts` come to, with its SHA-256; by path relative to the package, sorted.

    A file beside a module that is no Python counts where the module's text has its name, as with `claims.yaml`.

    Args:
        starts: scripts or modules; those outside of the package are read, and not in the result.
        package: the package's folder, such as src/mtbert.
        without: relative paths of files, or of folders with a `/` at the end, that are neither named nor followed.
    """
    found: set[Path] = set()
    waiting = [start.resolve() for start in starts]
    package = package.resolve()
    while waiting:
        file = waiting.pop()
        if file in found or (file.is_relative_to(package) and _left_out(_name(file, package), without)):
            continue
        found.add(file)
        text = file.read_text(encoding="utf-8")
        waiting += _imported(ast.parse(text), file, package)
        found |= _named_beside(text, file) if file.is_relative_to(package) else set()
    inside = sorted(_name(file, package) for file in found if file.is_relative_to(package))
    return {name: files.sha256(package / name) for name in inside}


def _left_out(name: str, without: Collection[str]) -> bool:
    return any(name.startswith(entry) if entry.endswith("/") else name == entry for entry in without)


def _name(file: Path, package: Path) -> str:
    return file.relative_to(package).as_posix()


def _imported(tree: ast.AST, file: Path, package: Path) -> Iterator[Path]:
    """The files of the package that a module's import statements run, those of the folders around them, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name, package)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, file, package)
            yield from _files(base, package)
            for alias in node.names:  # a module, or something within the module `base`
                yield from _files(f"{base}.{alias.name}", package)


def _absolute(node: ast.ImportFrom, file: Path, package: Path) -> str:
    """The module that `from ... import` names, without dots in front."""
    if not node.level:
        return node.module or ""
    folder = file.parents[node.level - 1].relative_to(package.parent)
    return ".".join([*folder.parts, *filter(None, [node.module])])


def _files(module: str, package: Path) -> Iterator[Path]:
    """The file of a module of the package, and the `__init__.py` of every folder that it lies in; else nothing."""
    first, *rest = module.split(".")
    if first != package.name:
        return
    folders = [package.joinpath(*rest[:depth]) for depth in range(len(rest) + 1)]
    wanted = [*(folder / "__init__.py" for folder in folders), folders[-1].with_suffix(".py")]
    yield from (file for file in wanted if file.is_file())


def _named_beside(text: str, file: Path) -> set[Path]:
    """Files in a module's folder that its text names and that are no modules."""
    return {
        other for other in file.parent.iterdir() if other.is_file() and other.suffix != ".py" and other.name in text
    }

"""Find the files of a package that a script reaches by its imports: if one of them changes, its results may change.

Imports are read from the source text, so nothing is imported, and imports within functions count, too. Imports by a
name that is made at run time cannot be seen; pass the module that they load as a further start.
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from mtbert import files


def closure(starts: Iterable[Path], package: Path, without: Collection[str] = ()) -> dict[str, str]:
    """Return every file of `package` that `starts` reach, with its SHA-256; by path relative to the package, sorted.

    A file in a module's folder that is not Python counts where the module's text names it, as with `claims.yaml`.

    Args:
        starts: scripts or modules; those outside of the package are read but left out of the result.
        package: the package's folder, such as src/mtbert.
        without: relative paths of files, or of folders with a `/` at the end, that are neither named nor followed.
    """
    reached: set[Path] = set()
    waiting = [start.resolve() for start in starts]
    package = package.resolve()
    while waiting:
        file = waiting.pop()
        if file in reached or (file.is_relative_to(package) and _left_out(_name(file, package), without)):
            continue
        reached.add(file)
        text = file.read_text(encoding="utf-8")
        waiting += _imported(text, file, package)
        reached |= _named_beside(text, file) if file.is_relative_to(package) else set()
    inside = sorted(_name(file, package) for file in reached if file.is_relative_to(package))
    return {name: files.sha256(package / name) for name in inside}


def _left_out(name: str, without: Collection[str]) -> bool:
    return any(name.startswith(entry) if entry.endswith("/") else name == entry for entry in without)


def _name(file: Path, package: Path) -> str:
    return file.relative_to(package).as_posix()


def _imported(text: str, file: Path, package: Path) -> Iterator[Path]:
    """Yield the files of the package that a module imports, with the `__init__.py` of their folders."""
    for node in _imports(text):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name, package)
        else:
            base = _absolute(node, file, package)
            yield from _files(base, package)
            for alias in node.names:  # a module, or something within the module `base`
                yield from _files(f"{base}.{alias.name}", package)


@cache
def _imports(text: str) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports of a module, which many starts reach."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]


def _absolute(node: ast.ImportFrom, file: Path, package: Path) -> str:
    """Return the module that `from ... import` names, as an absolute name."""
    if not node.level:
        return node.module or ""
    folder = file.parents[node.level - 1].relative_to(package.parent)
    return ".".join([*folder.parts, *filter(None, [node.module])])


def _files(module: str, package: Path) -> Iterator[Path]:
    """Yield the file of a module of the package, and the `__init__.py` of every folder around it; else nothing."""
    first, *rest = module.split(".")
    if first != package.name:
        return
    folders = [package.joinpath(*rest[:depth]) for depth in range(len(rest) + 1)]
    wanted = [*(folder / "__init__.py" for folder in folders), folders[-1].with_suffix(".py")]
    yield from (file for file in wanted if file.is_file())


def _named_beside(text: str, file: Path) -> set[Path]:
    """Return the files in a module's folder that its text names and that are not modules."""
    return {
        other for other in file.parent.iterdir() if other.is_file() and other.suffix != ".py" and other.name in text
    }

"""Copy the code of this package that some classes need into files without other code of mtbert.

Starting from these classes, all names that a definition uses at run time are followed through the package. Annotations
are not, so that the types of settings, and pydantic, stay behind. The needed definitions of a module go into a file of
their own, such as `mtbert_encoder_bert.py` for mtbert/encoder/bert.py. Their order and text stay; imports become
relative, as transformers copies code that comes with a model.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import mtbert
from mtbert.errors import MtbertError

PACKAGE = Path(mtbert.__file__).parent
ALLOWED = frozenset({"torch", "transformers", "sentence_transformers", "mtbert"})  # beside Python's own
Names = tuple[str, str]  # a module, and a name that it defines
ABSOLUTE = re.compile(r"^(\s*)from (mtbert(?:\.\w+)*) import ", re.MULTILINE)


@dataclass
class Module:
    """A module's text and its top-level definitions.

    Attributes:
        name: its dotted name.
        text: its source.
        needed: names of the definitions that are needed.
    """

    name: str
    text: str
    needed: set[str] = field(default_factory=set)

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """The statement that defines each name."""
        return {name: node for node in self.tree.body for name in _defined(node)}

    @cached_property
    def imports(self) -> dict[str, tuple[ast.stmt, ast.alias]]:
        """The statement that imports each name."""
        statements = [node for node in self.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        return {
            (alias.asname or alias.name).split(".")[0]: (node, alias) for node in statements for alias in node.names
        }


def bundle(starts: Iterable[Names], renamed: Mapping[str, str]) -> dict[str, str]:
    """Return the files, by name, that hold these definitions and all that they need.

    Args:
        starts: module and name of each definition.
        renamed: file names, without `.py`, of modules that do not get the default name.

    Raises:
        MtbertError: a needed definition imports another package than torch and transformers.
    """
    modules: dict[str, Module] = {}
    waiting = list(starts)
    while waiting:
        name, wanted = waiting.pop()
        module = modules.setdefault(name, Module(name, _path(name).read_text(encoding="utf-8")))
        if wanted in module.needed:
            continue
        module.needed.add(wanted)
        waiting += _followed(module, wanted)
    return {f"{file_name(name, renamed)}.py": _written(module, renamed) for name, module in sorted(modules.items())}


def file_name(module: str, renamed: Mapping[str, str]) -> str:
    """Return the name of a module's file, without `.py`."""
    return renamed.get(module, module.replace(".", "_"))


def _path(module: str) -> Path:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def _followed(module: Module, wanted: str) -> Iterator[Names]:
    """Yield the definitions that a definition needs, in its own module and in others."""
    if wanted not in module.definitions:  # imported from another module, as in a package's __init__
        node, alias = module.imports[wanted]
        assert isinstance(node, ast.ImportFrom)
        yield str(node.module), alias.name
        return
    for node in _at_run_time(module.definitions[wanted]):
        if isinstance(node, ast.ImportFrom | ast.Import):  # within a function
            yield from _imported(module, node)
        elif isinstance(node, ast.Name) and node.id in module.definitions:
            yield module.name, node.id
        elif isinstance(node, ast.Name) and node.id in module.imports:
            yield from _imported(module, *module.imports[node.id])


def _imported(module: Module, node: ast.stmt, only: ast.alias | None = None) -> Iterator[Names]:
    assert isinstance(node, ast.ImportFrom | ast.Import)
    source = node.module if isinstance(node, ast.ImportFrom) else None
    for alias in [only] if only else node.names:
        package = (source or alias.name).split(".")[0]
        if package not in ALLOWED and package not in sys.stdlib_module_names:
            raise MtbertError(f"{module.name} needs the package {package}, which an export cannot bring")
        if package == PACKAGE.name:
            if source is None or _path(f"{source}.{alias.name}").is_file():
                raise MtbertError(
                    f"{module.name} imports the module {alias.name} as a whole; import the names that it needs"
                )
            yield source, alias.name


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it but annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _at_run_time(child)


def _written(module: Module, renamed: Mapping[str, str]) -> str:
    """Return the text of a module's file: the needed definitions, with their imports."""
    kept = list(dict.fromkeys(id(module.definitions[name]) for name in module.needed if name in module.definitions))
    nodes = [node for node in module.tree.body if id(node) in kept]
    used = {part.id for node in nodes for part in _at_run_time(node) if isinstance(part, ast.Name)}
    used |= module.needed - module.definitions.keys()
    lines = [_import(*module.imports[name], renamed) for name in module.imports if name in used]
    first = (ast.get_docstring(module.tree) or "").partition("\n")[0].replace('"""', "'''")
    head = f'"""{first}\n\nFrom {module.name} of mtbert, whose licence is Apache-2.0.\n"""'
    bodies = [ABSOLUTE.sub(lambda match: _relative(match, renamed), _text(module, node)) for node in nodes]
    imports = "\n".join(["from __future__ import annotations", "", *sorted(set(lines))])
    return "\n\n\n".join([f"{head}\n\n{imports}", *bodies]) + "\n"


def _import(node: ast.stmt, alias: ast.alias, renamed: Mapping[str, str]) -> str:
    imported = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
    if isinstance(node, ast.Import):
        return f"import {imported}"
    assert isinstance(node, ast.ImportFrom)
    module = str(node.module)
    inside = module.split(".")[0] == PACKAGE.name
    return f"from {'.' + file_name(module, renamed) if inside else module} import {imported}"


def _relative(match: re.Match[str], renamed: Mapping[str, str]) -> str:
    return f"{match[1]}from .{file_name(match[2], renamed)} import "


def _text(module: Module, node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(module.text.splitlines()[first - 1 : node.end_lineno])

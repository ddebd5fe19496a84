"""Copy the code of this package that some definitions need into files without other code of mtbert.

Starting from these, all names that a definition uses at run time are followed through the package. Annotations
are not, so that the types of settings, and pydantic, stay behind. The needed definitions of a module go into a file of
their own, such as `mtbert_models_encoder_bert.py` for mtbert/models/encoder/bert.py, with relative imports, as
transformers copies code that comes with a model. Comments stay behind.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import mtbert
from mtbert.errors import MtbertError

PACKAGE = Path(mtbert.__file__).parent
ALLOWED = frozenset({"torch", "transformers", "sentence_transformers", "mtbert"}) | sys.stdlib_module_names


class Module:
    """A module's statements by the names that they define or import, and which of these are needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tree = ast.parse(_path(name).read_text(encoding="utf-8"))
        self.definitions = {name: node for node in self.tree.body for name in _defined(node)}
        self.imports = {
            (alias.asname or alias.name).partition(".")[0]: _single(node, alias)
            for node in self.tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        self.needed: set[str] = set()


def bundle(starts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the files, by name, that hold these definitions, each a module and a name, and all that they need.

    Raises:
        MtbertError: a needed definition imports another package than torch and transformers.
    """
    modules: dict[str, Module] = {}
    waiting = list(starts)
    while waiting:
        name, wanted = waiting.pop()
        module = modules[name] = modules.get(name) or Module(name)
        if wanted not in module.needed:
            module.needed.add(wanted)
            waiting += _followed(module, wanted)
    return {f"{file_name(name)}.py": _written(module) for name, module in sorted(modules.items())}


def file_name(module: str) -> str:
    """Return the name of a module's file, without `.py`."""
    return module.replace(".", "_")


def _path(module: str) -> Path:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def _single(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.Import | ast.ImportFrom:
    return ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], node.level)


def _followed(module: Module, wanted: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of each definition that a definition needs."""
    definition = module.definitions.get(wanted) or module.imports[wanted]  # imported as in a package's __init__
    for node in _at_run_time(definition):
        if isinstance(node, ast.ImportFrom | ast.Import):  # within a function, or the definition itself
            yield from _imported(module, node)
        elif isinstance(node, ast.Name) and node.id in module.definitions:
            yield module.name, node.id
        elif isinstance(node, ast.Name) and node.id in module.imports:
            yield from _imported(module, module.imports[node.id])


def _imported(module: Module, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    source = str(node.module) if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        package = (source or alias.name).partition(".")[0]
        if package not in ALLOWED:
            raise MtbertError(f"{module.name} needs the package {package}, which an export cannot bring")
        if package == PACKAGE.name:
            if not source or _path(f"{source}.{alias.name}").is_file():
                raise MtbertError(
                    f"{module.name} imports the module {alias.name} as a whole; import the names that it needs"
                )
            yield source, alias.name


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it but annotations."""
    yield node
    for child in ast.iter_child_nodes(node):
        if child not in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            yield from _at_run_time(child)


def _written(module: Module) -> str:
    """Return the text of a module's file: the needed definitions, with their imports."""
    nodes = [node for node in module.tree.body if module.needed.intersection(_defined(node))]
    used = {part.id for node in nodes for part in _at_run_time(node) if isinstance(part, ast.Name)} | module.needed
    imports = [node for name, node in module.imports.items() if name in used]
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    for node in ast.walk(ast.Module([*imports, *nodes], [])):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == PACKAGE.name:
            node.module, node.level = file_name(str(node.module)), 1
    first = (ast.get_docstring(module.tree) or "").partition("\n")[0]
    docstring = ast.Expr(ast.Constant(f"{first}\n\nFrom {module.name} of mtbert, whose licence is Apache-2.0.\n"))
    return ast.unparse(ast.Module([docstring, future, *imports, *nodes], [])) + "\n"

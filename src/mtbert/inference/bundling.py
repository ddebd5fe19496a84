"""Copy the code of this package that some definitions need into files without other code of mtbert.

Starting from these, all names that a definition uses at run time are followed through the package. Annotations
are not, so that the types of settings, and pydantic, stay behind. The needed definitions of a module go into a file of
their own, such as `mtbert_models_encoder_bert.py` for mtbert/models/encoder/bert.py, with relative imports, as
transformers copies code that comes with a model. Comments stay behind.

Why not whole files: a technique's file has its settings' type, too, and its package's `__init__` imports all techniques
of a kind. Copied whole, the code of one model would be some fifty files that need pydantic to be installed.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import mtbert
from mtbert.errors import MtbertError

PACKAGE = Path(mtbert.__file__).parent
ALLOWED = frozenset({"torch", "transformers", "mtbert"}) | sys.stdlib_module_names
_Statements = dict[str, ast.stmt]  # those of a module, by the names that they define or import
_Definition = tuple[str, str]  # a module, and a name that it defines


def bundle(starts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the files, by name, that hold these definitions (module, name) and all that they need.

    Raises:
        MtbertError: a needed definition imports a whole module, or another package than torch and transformers.
    """
    modules: dict[str, _Statements] = {}
    needed: set[_Definition] = set()
    waiting: list[_Definition] = list(starts)
    while waiting:
        definition = waiting.pop()
        module, name = definition
        if module not in modules:
            modules[module] = _statements(module)
        if name not in modules[module]:
            raise MtbertError(f"{module} defines no {name}, which an export needs; import names, not modules")
        if definition not in needed:
            needed.add(definition)
            waiting += _needed_by(module, modules[module], name)
    texts: dict[str, str] = {}
    for module in sorted(modules):
        nodes = [node for name, node in modules[module].items() if (module, name) in needed]
        texts[f"{file_name(module)}.py"] = _text(module, nodes)
    return texts


def file_name(module: str) -> str:
    """Return the name of a module's file, without `.py`."""
    return module.replace(".", "_")


def _statements(module: str) -> _Statements:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    statements: _Statements = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        statements |= _by_name(node)
    return statements


def _by_name(node: ast.stmt) -> _Statements:
    """Return a statement of a module by each name that it defines; of an import, the part that brings each name."""
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name.partition(".")[0]: ast.Import([alias]) for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: ast.ImportFrom(node.module, [alias], 0) for alias in node.names}
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name: node}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets: list[ast.expr] = [*node.targets] if isinstance(node, ast.Assign) else [node.target]
        return {part.id: node for part in ast.walk(ast.Tuple(targets)) if isinstance(part, ast.Name)}
    return {}


def _needed_by(module: str, statements: _Statements, name: str) -> Iterator[_Definition]:
    """Yield each definition that a definition or an import needs."""
    for node in _at_run_time(statements[name]):
        if isinstance(node, ast.Name) and node.id in statements:
            yield module, node.id
        elif isinstance(node, ast.ImportFrom | ast.Import):  # also within a function
            for alias in node.names:
                source = str(node.module) if isinstance(node, ast.ImportFrom) else alias.name
                package = source.partition(".")[0]
                if package not in ALLOWED:
                    raise MtbertError(f"{module} needs the package {package}, which an export cannot bring")
                if package == PACKAGE.name:
                    yield source, alias.name


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it but annotations."""
    yield node
    for child in ast.iter_child_nodes(node):
        if child not in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            yield from _at_run_time(child)


def _text(module: str, statements: list[ast.stmt]) -> str:
    """Return the text of a module's file, where imports of this package lead to the files beside it."""
    nodes = list(dict.fromkeys(statements))  # one that defines two names comes twice
    for node in ast.walk(ast.Module(nodes, [])):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == PACKAGE.name:
            node.module, node.level = file_name(str(node.module)), 1
    docstring = ast.Expr(ast.Constant(f"From {module} of mtbert, whose licence is Apache-2.0."))
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    return ast.unparse(ast.Module([docstring, future, *nodes], [])) + "\n"

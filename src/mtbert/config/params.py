"""params.yaml laid over the papers beside it: values by place, which of them counts, and messages with file and line.

From weak to strong: the typed defaults, the paper's preset, the profile, the section at the top of params.yaml, the
variant. Null means "not set here" in each of them, so that a weaker layer sets the value.
"""

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files, tasks
from mtbert.config import papers, studies
from mtbert.errors import SettingsError
from mtbert.settings import LENGTHS

COMMON = ("run", "model", "training")  # sections that every variant uses
SHARED = ("encoder", "pretrain")  # sections that all variants share
OTHERS = "others"  # the key of heads and pooling of tasks that have no key of their own
Place = tuple[str | int, ...]  # the keys that lead to a value
IN_PAPERS = {"presets": "presets", "catalog": "variants", "ensembles": "ensembles"}  # by what params.yaml calls them


class Fault(NamedTuple):
    """Something wrong in the settings: the keys that lead to it, and what is wrong and allowed."""

    place: Place
    message: str


class Params:
    """params.yaml and the papers in `papers` beside it.

    Attributes:
        file: params.yaml.
        own: its values.
        values: the same with all presets, variants and ensembles of the papers; an entry of `catalog` is merged into
            the paper's variant of its name.
        tasks: those of the data folder.
        written: the entries that variants of one task each are made of, by the variants' names.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        if not file.is_file():
            raise SettingsError(f"{file} is missing; commands run at the repository's root")
        self.own: dict[str, Any] = files.read_yaml(file, "correct it", aliases=True)
        if not isinstance(self.own, dict):
            raise SettingsError(f"{file} has to hold sections, but holds {type(self.own).__name__}")
        self.tasks = tasks.of_folder(file.parent / str(self.own.get("data_dir", "")))
        self.papers = papers.load(file.parent / "papers")
        self.of_papers: dict[str, dict[str, Any]] = {
            key: {name: entry for paper in self.papers.values() for name, entry in getattr(paper, theirs).items()}
            for key, theirs in IN_PAPERS.items()
        }
        written, every = self.of_papers["catalog"], tasks.main(self.tasks)
        self.of_papers["catalog"] = studies.expanded(written, every)
        self.of_papers["ensembles"] = studies.members(self.of_papers["ensembles"], written, every)
        self.written = {studies.named(name, task): name for name in written for task in every}
        self.values = self._merged()

    def _merged(self) -> dict[str, Any]:
        """Return all values; what params.yaml has in the place of a mapping and is none stays, to be refused."""
        given = {key: {} if (own := self.own.get(key)) is None else own for key in self.of_papers}
        return self.own | {key: over(theirs, given[key]) for key, theirs in self.of_papers.items()}

    def get(self, *place: str | int) -> Any:
        """Return the value at a place, or None."""
        return at(self.values, place)

    def put(self, place: Place, value: Any) -> "Params":
        """Return a copy with another value at a place of params.yaml."""
        other = copy.copy(self)
        other.own = _put(self.own, place, value)
        other.values = other._merged()
        return other

    def find(self, place: Place) -> tuple[Path, int, str]:
        """Return file, line and dotted key of a place, or of the part of it that exists."""
        file, keys = self.file, place
        if place[0] in IN_PAPERS and len(place) > 1 and at(self.own, place) is None:
            key = IN_PAPERS[str(place[0])]
            for name, paper in self.papers.items():
                for entry in (str(place[1]), self.written.get(str(place[1]), "")):
                    if entry in getattr(paper, key):
                        file, keys = self.file.parent / "papers" / f"{name}.yaml", (key, entry, *place[2:])
        return file, files.yaml_line(file, keys), dotted(keys)

    def format_faults(self, faults: Iterable[Fault]) -> str:
        """Return all faults in one message, sorted by file and line; of several at one place only the first."""
        first = {fault.place: fault for fault in reversed([*faults])}
        lines = sorted((*self.find(place), fault.message) for place, fault in first.items())
        shown = "\n".join(f"  {file}:{line}: {key}: {message}" for file, line, key, message in lines)
        return f"{len(lines)} fault{'s' * (len(lines) > 1)} in the settings; nothing was trained\n{shown}"


def _put(node: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    node = node if isinstance(node, dict) else {}
    return {**node, place[0]: _put(node.get(place[0]), place[1:], value)}


def at(node: Any, place: Iterable[str | int]) -> Any:
    """Return the value that these keys lead to, or None."""
    for key in place:
        if isinstance(node, dict):
            node = node.get(key)
        elif isinstance(node, list) and isinstance(key, int) and key < len(node):
            node = node[key]
        else:
            return None
    return node


def dotted(place: Place) -> str:
    """Return a place in dotted form: pals.dim."""
    return ".".join(map(str, place))


def layers(params: Params, variant: str | None = None) -> list[Place]:
    """Return the layers above the defaults, the strongest last; without a variant, those of no variant or paper."""
    profile: Place = ("profiles", str(params.get("profile")))
    if variant is None:
        return [profile, ()]
    preset = params.get("catalog", variant, "preset") or params.get("catalog", variant, "paper")
    return [("presets", str(preset)), profile, (), ("catalog", variant)]


def merged(params: Params, section: str, variant: str | None = None) -> dict[str, Any]:
    """Return a section merged from all layers, without nulls; what is not in it has its typed default."""
    result: dict[str, Any] = {}
    for layer in layers(params, variant):
        result = over(result, params.get(*layer, section) or {})
    return result


def over(base: Any, top: Any) -> Any:
    """Lay `top` over `base`: merge mappings, ignore nulls, and replace everything else.

    A way to state an epoch's length in `top` replaces any other way.
    """
    if not isinstance(top, dict):
        return copy.deepcopy(top)
    stated = {key: value for key, value in top.items() if value is not None}
    if not stated and base is not None:
        return base
    below = base if isinstance(base, dict) else {}
    if any(key in stated for key in LENGTHS):
        below = {key: value for key, value in below.items() if key not in LENGTHS}
    return below | {key: over(below.get(key), value) for key, value in stated.items()}


def origin(params: Params, place: Place, variant: str | None = None) -> Place:
    """Return the place where the value that counts was set, or the place itself where none was."""
    strongest = reversed(layers(params, variant))
    return next(((*layer, *place) for layer in strongest if params.get(*layer, *place) is not None), place)

"""params.yaml laid over the papers beside it: the value at a place, and its file and line."""

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from mtbert import errors, files, tasks
from mtbert.config import papers, templates
from mtbert.errors import SettingsError

COMMON = ("run", "model", "training")  # sections of which each variant may have values of its own
OTHERS = "others"  # the key of heads and pooling of tasks that have no key of their own
Place = tuple[str | int, ...]  # the keys that lead to a value
IN_PAPERS = {"presets": "presets", "catalog": "variants", "ensembles": "ensembles"}  # by what params.yaml calls them


class Fault(NamedTuple):
    """A fault in the settings: the keys that lead to it, and a message that says what is wrong and what is allowed."""

    place: Place
    message: str


def faults_of(error: ValidationError, *place: str) -> list[Fault]:
    """Return the faults that pydantic found in what stands at a place."""
    return [Fault((*place, *keys), message) for keys, message in errors.faults(error)]


class Params:
    """params.yaml and the papers in `papers` beside it.

    Attributes:
        file: params.yaml, or a draft of it.
        shown: the file that messages name, where a draft is read.
        own: the values of params.yaml.
        values: these with all presets, variants and ensembles of the papers; an entry of `catalog` is merged into
            the paper's entry or variant of its name.
        tasks: those of the data folder.
        of_papers: the papers' entries under `presets`, `catalog` and `ensembles`, as they are written there.
        template_of: by the name of a variant of one task, the entry with `tasks: each` that it was expanded from.
    """

    def __init__(self, file: Path, shown: Path | None = None) -> None:
        self.file = file
        self.shown = shown or file
        if not file.is_file():
            raise SettingsError(f"{file} is missing; give commands in the root of the repository")
        self.own: dict[str, Any] = files.read_yaml(file, "correct it", aliases=True)
        if not isinstance(self.own, dict):
            raise SettingsError(f"{file} has to hold sections, but holds {type(self.own).__name__}")
        self.tasks = tasks.read_folder(file.parent / str(self.own.get("data_dir", "")))
        self.papers = papers.load(file.parent / "papers")
        self.of_papers = {key: self._entries_of_papers(field) for key, field in IN_PAPERS.items()}
        self._merge()

    def _entries_of_papers(self, field: str) -> dict[str, Any]:
        """Return the entries that all papers have under `variants`, `presets` or `ensembles`."""
        entries: dict[str, Any] = {}
        for paper in self.papers.values():
            entries |= getattr(paper, field)
        return entries

    def _merge(self) -> None:
        """Set `values` and `template_of`; a value that ought to be a mapping and is none stays, to be refused later.

        An entry with `tasks: each` is expanded behind what params.yaml changes of it, and before what params.yaml
        changes of the variants that it becomes.
        """
        own = {key: {} if self.own.get(key) is None else self.own[key] for key in IN_PAPERS}
        values = {key: over(entries, own[key]) for key, entries in self.of_papers.items()}
        self.template_of = {}
        if isinstance(own["catalog"], dict):
            entries = self.of_papers["catalog"]
            every_task = tasks.main(self.tasks)
            from_papers = over(entries, {name: entry for name, entry in own["catalog"].items() if name in entries})
            for name, entry in from_papers.items():
                if templates.is_template(entry):
                    self.template_of |= {templates.variant_name(name, task): name for task in every_task}
            others = {name: entry for name, entry in own["catalog"].items() if name not in entries}
            values["catalog"] = templates.with_parts(over(templates.expand(from_papers, every_task), others))
            values["ensembles"] = over(
                templates.members(self.of_papers["ensembles"], from_papers, every_task), own["ensembles"]
            )
        self.values = self.own | values

    def get(self, *place: str | int) -> Any:
        """Return the value at a place, or None."""
        return at(self.values, place)

    def own_entry(self, variant: str) -> dict[str, Any]:
        """Return what params.yaml itself sets of a variant, also by the entry with `tasks: each` that it is from."""
        entries = [at(self.own, ("catalog", name)) or {} for name in (self.template_of.get(variant, ""), variant)]
        return over(*entries)

    def whole(self, variant: str) -> str:
        """Return the variant of whose rows this one reads a part; of one that reads all, its own name."""
        return templates.whole_of(self.get("catalog", variant)) or variant

    def put(self, place: Place, value: Any) -> "Params":
        """Return a copy with another value at a place of params.yaml."""
        other = copy.copy(self)
        other.own = _put(self.own, place, value)
        other._merge()
        return other

    def find(self, place: Place) -> tuple[Path, int, str]:
        """Return file, line and dotted key of a place, or of the part of it that exists."""
        file, keys = self.shown, place
        if len(place) > 1 and at(self.own, place) is None:
            template: Place = (place[0], self.template_of.get(str(place[1]), ""), *place[2:])
            is_of_template = place[0] == "catalog" and at(self.own, template) is not None
            file, keys = (file, template) if is_of_template else self._in_papers(place) or (file, keys)
        return file, files.yaml_line(file, keys), dotted(keys)

    def _in_papers(self, place: Place) -> tuple[Path, Place] | None:
        """Return the paper's file and the keys in it that hold an entry; None where no paper has it."""
        field = IN_PAPERS.get(str(place[0]))
        if field is None:
            return None
        name = str(place[1])
        for paper, content in self.papers.items():
            for entry in (name, self.template_of.get(name, "")):
                if entry in getattr(content, field):
                    return self.file.parent / "papers" / f"{paper}.yaml", (field, entry, *place[2:])
        return None

    def format_faults(self, faults: Iterable[Fault]) -> str:
        """Return all faults in one message, sorted by file and line; of several of one key only the first.

        Several variants may have a fault of one key: it is in a section that they share, or in the entry with
        `tasks: each` that they were expanded from.
        """
        by_place: dict[Place, str] = {}
        for fault in faults:
            by_place.setdefault(fault.place, fault.message)
        by_key: dict[tuple[Path, int, str], str] = {}
        for place, message in by_place.items():
            by_key.setdefault(self.find(place), message)
        lines = sorted((*key, message) for key, message in by_key.items())
        listing = "\n".join(f"  {file}:{line}: {key}: {message}" for file, line, key, message in lines)
        return f"{len(lines)} fault{'s' * (len(lines) > 1)} in the settings; nothing was trained\n{listing}"


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


def leaves(place: Place, node: Any) -> Iterator[tuple[Place, Any]]:
    """Yield each leaf below a place, with its own place; nulls are skipped."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves((*place, key), value)
    elif node is not None:
        yield place, node


def dotted(place: Place) -> str:
    """Return a place in dotted form: pals.dim."""
    return ".".join(map(str, place))


def over(base: Any, top: Any) -> Any:
    """Lay `top` over `base`: merge mappings, ignore nulls, and replace everything else.

    A value below a mapping, such as one learning rate below rates by kind, becomes the mapping's `others`.
    """
    if not isinstance(top, dict):
        return copy.deepcopy(top)
    values = {key: value for key, value in top.items() if value is not None}
    if not values and base is not None:
        return base
    below = {} if base is None else base
    if not isinstance(below, dict):
        below = {OTHERS: below}
    return below | {key: over(below.get(key), value) for key, value in values.items()}

"""What the report needs to know of params.yaml: build/plan/catalog.yaml, typed."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from mtbert import files, predictions
from mtbert.errors import DataError, SettingsError
from mtbert.outputs import Trained
from mtbert.reporting.published import RIVALS
from mtbert.tasks import TASKS, Split

OWN = "own"  # stands for the paper of a variant that answers to none
SETTINGS = "settings.yaml"
NO_REPETITION = (
    "they repeat no one training; `dvc repro` trains those anew that are out of date, and `mtbert evidence` without "
    "--add packs these alone"
)
OF_A_RUN = ("seed", "code", "sources")  # what settings.yaml states besides settings
DETAILED = 67  # variants that are shown one by one: as many as the five reports have


@dataclass(frozen=True)
class Entry:
    """A variant, or an ensemble of variants, as params.yaml lists it.

    Attributes:
        name: as in params.yaml.
        paper, row: the published row it answers to; `own` and its name where it answers to none.
        tasks: tasks it is trained on; of an ensemble, those that all members share.
        selected: whether it was asked for.
        members: names of the variants that vote; empty for a variant.
        also: further rows of the paper that the same model answers to, such as its test scores' in another table.
        rival: its row among PALs' rivals, where it answers to a report and stands there, too.
        departures: settings of its own that differ from the shipped ones, each as `dvc exp run -S` takes it.
        asked_seeds: what was asked for of it; of an ensemble, of all its members.
    """

    name: str
    paper: str
    row: str
    tasks: tuple[str, ...]
    selected: bool
    members: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    rival: str = ""
    departures: tuple[str, ...] = ()
    asked_seeds: tuple[int, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        """Those of the departures that make it another row than the paper's: threads change last digits alone."""
        return tuple(one for one in self.departures if not one.startswith("run.threads="))

    def answers(self, paper: str, row: str) -> bool:
        """Whether that row is one of its own."""
        return row in (self.row_in(paper), *(self.also if paper == self.paper else ()))

    def row_in(self, paper: str) -> str | None:
        """Its row among a paper's, or among PALs' rivals; None where it has none there."""
        return self.row if paper == self.paper else (self.rival or None) if paper == RIVALS else None

    @property
    def is_rival(self) -> bool:
        """Whether it is held against PALs."""
        return self.row_in(RIVALS) is not None

    @property
    def kind(self) -> str:
        """`ensemble` or `variant`."""
        return "ensemble" if self.members else "variant"

    def directory(self, build: Path, seed: int) -> Path:
        """Where the results of one seed lie."""
        return build / ("ensembles" if self.members else "runs") / self.name / str(seed)

    def remake(self, seed: int) -> str:
        """The command that makes these results."""
        return "dvc repro ensemble" if self.members else f"dvc repro train@{self.name}-{seed}"


@dataclass(frozen=True)
class CompletedEntry(Entry):
    """An entry with what has run of it.

    Attributes:
        seeds: those whose results are there.
        kept: `run.keep` and `run.selection` that the first of them was trained with.
        threads: with how many threads that was.
        rows: how many training rows of each task it saw, the fewest of its phases; None for all.
    """

    seeds: tuple[int, ...] = ()
    kept: tuple[str, str] | None = None
    threads: int | None = None
    rows: int | None = None

    @property
    def ran(self) -> bool:
        """Whether any result of it is there."""
        return bool(self.seeds)

    def file(self, build: Path, seed: int, name: str) -> Path:
        """A file to read of these results, compared with its digest: DataError where it was altered or is missing."""
        return files.sealed(self.directory(build, seed), name, self.remake(seed))

    def settings(self, build: Path, seed: int) -> dict[str, Any]:
        """Those that a run says it was made with; empty where it says nothing."""
        if not (self.directory(build, seed) / SETTINGS).is_file():
            return {}
        file = self.file(build, seed, SETTINGS)
        return files.read_as(dict[str, Any], file, self.remake(seed), files.read_yaml)

    def predictions(self, build: Path, seed: int, task: str, split: Split) -> Path | None:
        """The prediction file of a task and split, compared with its digest; None where nothing was predicted."""
        place = self.directory(build, seed)
        file = predictions.path(place, task, split).relative_to(place).as_posix()
        return self.file(build, seed, file) if (place / file).is_file() else None


@dataclass(frozen=True)
class Catalog:
    """What was asked for: every variant and ensemble that params.yaml lists, and what all of them share.

    Attributes:
        profile: how big the runs are.
        seeds: one run per variant and seed, in the order in which they were asked for.
        keep: which epoch is kept and scored, `last` or `best`.
        selection: on what it is chosen: on one `half` of dev, of which the other is scored, or on the `whole`.
        encoder, encoder_note: name of the starting weights, and what a reader must know of them.
        data: which sentences; empty where the plan does not say.
        entries: variants, then ensembles, in the order of the file.
        overrides: what leads from the shipped params.yaml to this plan, each as `dvc exp run -S` takes it; without the
            knobs, which are the profile, the data, the variants and the seeds.
    """

    profile: str
    seeds: tuple[int, ...]
    keep: str
    selection: str
    encoder: str
    encoder_note: str
    data: str
    entries: tuple[Entry, ...]
    overrides: tuple[str, ...] = ()

    @property
    def asked(self) -> list[str]:
        """Names of the variants that were asked for."""
        return [entry.name for entry in self.entries if entry.selected and not entry.members]

    @property
    def rivals(self) -> frozenset[str]:
        """Names of what is held against PALs."""
        return frozenset(entry.name for entry in self.entries if entry.is_rival)


@dataclass(frozen=True)
class Completed(Catalog):
    """A catalog with what has run of it.

    Attributes:
        entries: each with the seeds whose results are there.
        missing: results that were asked for and are not there, by name and seed.
        whose: `sample`, `course` or `own`: what kind of sentences.
    """

    entries: tuple[CompletedEntry, ...]
    missing: tuple[tuple[str, int], ...] = ()
    whose: str = ""

    @property
    def own_data(self) -> bool:
        """Whether the data are the user's own, so that no published number says anything of them."""
        return self.whose == "own"

    @property
    def ran(self) -> list[CompletedEntry]:
        """The variants and ensembles that have results."""
        return [entry for entry in self.entries if entry.ran]

    @property
    def runs(self) -> list[tuple[CompletedEntry, int]]:
        """Every result that is there, by entry and seed."""
        return [(entry, seed) for entry in self.ran for seed in entry.seeds]

    @property
    def variants(self) -> list[CompletedEntry]:
        """Those of them that are no ensembles."""
        return [entry for entry in self.ran if not entry.members]

    @property
    def seed_counts(self) -> set[int]:
        """How many seeds there are, of any variant or ensemble."""
        return {len(entry.seeds) for entry in self.ran} or {len(self.seeds)}

    @property
    def grids(self) -> list[Self]:
        """The plan by what one command asks for: variants with the same seeds."""
        asked: dict[tuple[int, ...], list[CompletedEntry]] = {}
        for entry in self.entries:
            if entry.selected and not entry.members:
                asked.setdefault(entry.asked_seeds, []).append(entry)
        return [replace(self, seeds=seeds, entries=tuple(entries)) for seeds, entries in asked.items()]

    @property
    def detailed(self) -> list[CompletedEntry]:
        """Those that are shown one by one: the first DETAILED variants, and every ensemble."""
        return [*self.variants[:DETAILED], *(entry for entry in self.ran if entry.members)]

    @property
    def detail(self) -> str:
        """What is shown of the first variants alone, in a sentence; empty where there are not that many."""
        count = len(self.variants)
        if count <= DETAILED:
            return ""
        return (
            f"Embeddings, confusions, worst misses and pictures of losses show the first {DETAILED} of {count} "
            "variants, in the order of the catalog in params.yaml. All else is of all of them."
        )


def read(file: Path) -> Catalog:
    """Read build/plan/catalog.yaml; SettingsError where it is missing or lacks a key."""
    content = files.read_plan(file, "variants")
    try:
        return _typed(content)
    except KeyError as error:
        raise SettingsError(f"{file} lacks {error}; `dvc repro plan` makes it anew") from error


def completed(catalog: Catalog, build: Path) -> Completed:
    """The catalog with what has run of it.

    A vote counts where its members do.

    Raises:
        DataError: nothing that was asked for has run, or what has run is not as it was written.
    """
    entries: dict[str, CompletedEntry] = {}
    missing = []
    for entry in catalog.entries:  # members come before the ensembles
        there: list[int] = []
        for seed in entry.asked_seeds if entry.selected else ():
            voting = all(seed in entries[member].seeds for member in entry.members)
            if voting and entry.directory(build, seed).is_dir():
                files.check_sealed(entry.directory(build, seed), entry.remake(seed), only=())
                there.append(seed)
            else:
                missing.append((entry.name, seed))
        entries[entry.name] = _with_settings(CompletedEntry(**vars(entry), seeds=tuple(there)), build)
    if not any(entry.ran for entry in entries.values()):
        raise DataError(f"no results below {build}; `dvc repro` makes those that params.yaml asks for")
    whose = files.whose_data(build, catalog.data or "data/sample")
    shared: dict[str, Any] = {**vars(catalog), "entries": tuple(entries.values())}
    return Completed(**shared, missing=tuple(missing), whose=whose)


def read_completed(build: Path) -> Completed:
    """The catalog of a build directory with what has run of it; the errors are those of `read` and `completed`."""
    return completed(read(build / "plan" / "catalog.yaml"), build)


def _with_settings(entry: CompletedEntry, build: Path) -> CompletedEntry:
    """The entry with what its runs' settings say of how it was trained; as it is where there are none.

    Raises:
        DataError: its seeds were trained with different settings or by different code, so that they are no repetitions
            of one training.
    """
    told = {seed: entry.settings(build, seed) for seed in entry.seeds}
    told = {seed: settings for seed, settings in told.items() if settings}
    if not told:
        return entry
    (first, settings), *others = told.items()
    for seed, other in others:
        if difference := first_difference(settings, other):
            raise DataError(
                f"{entry.name}: seed {first} was trained with {difference[0]}, seed {seed} with {difference[1]}, so "
                f"{NO_REPETITION}"
            )
        if code := _other_code(settings, other):
            raise DataError(
                f"{entry.name}: seed {seed} was trained by other {code} than seed {first}, so {NO_REPETITION}"
            )
    run = files.read_as(Trained, entry.file(build, first, SETTINGS), entry.remake(first), files.read_yaml).run
    limits = [phase["rows"] for phase in settings.get("phases") or () if phase.get("rows") is not None]
    return replace(entry, kept=(run.keep, run.selection), threads=run.threads, rows=min(limits, default=None))


def _other_code(ours: dict[str, Any], other: dict[str, Any]) -> str:
    """Which code two runs do not share, in words: that of all trainings, or of a technique that both name."""
    if ours.get("code") != other.get("code"):
        return "code"
    mine, theirs = (settings.get("sources") or {} for settings in (ours, other))
    return next((f"code of {name}" for name in mine if theirs.get(name, mine[name]) != mine[name]), "")


def first_difference(ours: Any, other: Any, place: str = "") -> tuple[str, str] | None:
    """The first setting that two runs do not share, with the value of each; not that of the seed or the code.

    Args:
        place: a name put before those of the settings; with one, seed and code count, too.
    """
    if not (isinstance(ours, dict) and isinstance(other, dict)):
        return None if ours == other else (f"{place} {ours}", str(other))
    names = [name for name in {**ours, **other} if place or name not in OF_A_RUN]
    found = (first_difference(ours.get(n), other.get(n), f"{place}.{n}" if place else n) for n in names)
    return next((difference for difference in found if difference), None)


def _typed(content: dict[str, Any]) -> Catalog:
    seeds = tuple(content["seeds"])
    variants = {
        name: _entry(name, row, tuple(row["tasks"]), tuple(row.get("seeds") or seeds))
        for name, row in content["variants"].items()
    }
    ensembles = []
    for name, row in (content.get("ensembles") or {}).items():
        members = [variants[member] for member in row["members"]]
        asked = tuple(seed for seed in seeds if all(seed in member.asked_seeds for member in members))
        ensembles.append(_entry(name, row, _shared(members), asked))
    return Catalog(
        profile=content["profile"],
        seeds=seeds,
        keep=content["keep"],
        selection=content["selection"],
        encoder=content["encoder"]["name"],
        encoder_note=content["encoder"].get("note") or "",
        data=_shown(content.get("data_dir") or ""),
        entries=(*variants.values(), *ensembles),
        overrides=tuple(content.get("overrides") or ()),
    )


def _entry(name: str, row: dict[str, Any], tasks: tuple[str, ...], asked_seeds: tuple[int, ...]) -> Entry:
    paper, label = row.get("paper") or OWN, row.get("row") or name
    members, also = (tuple(row.get(key) or ()) for key in ("members", "also"))
    rival = row.get("rival") or ""
    changed = tuple(f"{key}={_as_set(value)}" for key, value in (row.get("departures") or {}).items())
    return Entry(name, paper, label, tasks, row["selected"], members, also, rival, changed, asked_seeds)


def _as_set(value: Any) -> str:
    """A value as `dvc exp run -S` takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shared(members: list[Entry]) -> tuple[str, ...]:
    return tuple(task for task in TASKS if all(task in member.tasks for member in members))


def _shown(data_dir: str) -> str:
    """A directory of one's own by its last part alone: a committed report holds no path of one machine."""
    return f"/path/to/{Path(data_dir).name}" if Path(data_dir).is_absolute() else data_dir

"""What the report needs to know of params.yaml: build/plan/catalog.yaml, typed."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mtbert import files, predictions
from mtbert.errors import DataError, SettingsError
from mtbert.outputs import Trained
from mtbert.reporting.published import RIVALS
from mtbert.tasks import TASKS, Split

OWN = "own"  # stands for the paper of a variant that answers to none
DETAILED = 64  # variants that are shown one by one: as many as the five reports have


@dataclass(frozen=True)
class Entry:
    """A variant, or an ensemble of variants.

    Attributes:
        name: as in params.yaml.
        paper, row: the published row it answers to; `own` and its name where it answers to none.
        also: further rows of the paper that the same model answers to, such as its test scores' in another table.
        rival: its row among PALs' rivals, where it answers to a report and stands there, too.
        seeds: those that were asked for or, of what `there` gives, those whose results are there.
        kept: `run.keep` and `run.selection` that the first of them was trained with; known to what `there` gives.
        threads: with how many threads that was; known to what `there` gives.
        departures: settings of its own that differ from the shipped ones, each as `dvc exp run -S` takes it.
        tasks: tasks it is trained on; of an ensemble, those that all members share.
        selected: whether it was asked for.
        members: names of the variants that vote; empty for a variant.
    """

    name: str
    paper: str
    row: str
    tasks: tuple[str, ...]
    selected: bool
    members: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    rival: str = ""
    seeds: tuple[int, ...] = ()
    kept: tuple[str, str] | None = None
    threads: int | None = None
    departures: tuple[str, ...] = ()

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

    def file(self, build: Path, seed: int, name: str) -> Path:
        """A file to read of these results, compared with its digest: DataError where it was altered or is missing."""
        return files.sealed(self.directory(build, seed), name, self.remake(seed))

    def predictions(self, build: Path, seed: int, task: str, split: Split) -> Path | None:
        """The prediction file of a task and split, compared with its digest; None where nothing was predicted."""
        place = self.directory(build, seed)
        file = predictions.path(place, task, split).relative_to(place).as_posix()
        return self.file(build, seed, file) if (place / file).is_file() else None

    def remake(self, seed: int) -> str:
        """The command that makes these results."""
        return "dvc repro ensemble" if self.members else f"dvc repro train@{self.name}-{seed}"


@dataclass(frozen=True)
class Catalog:
    """Every variant and ensemble that params.yaml lists, and what all of them share.

    Attributes:
        profile: how big the runs are.
        seeds: one run per variant and seed.
        keep: which epoch is kept and scored, `last` or `best`.
        selection: on what it is chosen: on one `half` of dev, of which the other is scored, or on the `whole`.
        encoder, encoder_note: name of the starting weights, and what a reader must know of them.
        data: which sentences; empty where the plan does not say.
        whose: `sample`, `course` or `own`: what kind of sentences, known to what `there` gives.
        entries: variants, then ensembles, in the order of the file.
        overrides: what leads from the shipped params.yaml to this plan, each as `dvc exp run -S` takes it; without the
            knobs, which are the profile, the data, the variants and the seeds.
        asked: names of the variants that were asked for.
        missing: results that were asked for and are not there, by name and seed; known to what `there` gives.
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
    asked: tuple[str, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    whose: str = ""

    @property
    def own_data(self) -> bool:
        """Whether the data are the user's own, so that no published number says anything of them."""
        return self.whose == "own"

    @property
    def rivals(self) -> frozenset[str]:
        """Names of what is held against PALs."""
        return frozenset(entry.name for entry in self.entries if entry.is_rival)

    @property
    def selected(self) -> list[Entry]:
        """The variants and ensembles that were asked for."""
        return [entry for entry in self.entries if entry.selected]

    @property
    def detailed(self) -> list[Entry]:
        """Those that are shown one by one: the first DETAILED variants that were asked for, and every ensemble."""
        variants = [entry for entry in self.selected if not entry.members]
        return [*variants[:DETAILED], *(entry for entry in self.selected if entry.members)]

    @property
    def detail(self) -> str:
        """What is shown of the first variants alone, in a sentence; empty where there are not that many."""
        count = sum(not entry.members for entry in self.selected)
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


def there(catalog: Catalog, build: Path) -> Catalog:
    """The catalog with only what has run: each entry's seeds, and what is missing.

    A vote counts where its members do.

    Raises:
        DataError: nothing that was asked for has run, or what has run is not as it was written.
    """
    entries: dict[str, Entry] = {}
    missing = []
    for entry in catalog.entries:  # members come before the ensembles
        found = {
            seed: entry.directory(build, seed).is_dir()
            and all(seed in entries[member].seeds for member in entry.members)
            for seed in entry.seeds
        }
        seeds = tuple(seed for seed in found if found[seed])
        for seed in seeds:
            files.check_sealed(entry.directory(build, seed), entry.remake(seed), only=())
        entries[entry.name] = replace(entry, selected=bool(seeds), seeds=seeds, **_trained(entry, build, seeds))
        missing += [(entry.name, seed) for seed, is_there in found.items() if not is_there]
    if not any(entry.selected for entry in entries.values()):
        raise DataError(f"no results below {build}; `dvc repro` makes those that params.yaml asks for")
    whose = files.whose_data(build, catalog.data or "data/sample")
    return replace(catalog, entries=tuple(entries.values()), missing=tuple(missing), whose=whose)


def _trained(entry: Entry, build: Path, seeds: tuple[int, ...]) -> dict[str, Any]:
    """What the first seed's settings say of how it was trained; nothing where there are none."""
    if not seeds or not (entry.directory(build, seeds[0]) / "settings.yaml").is_file():
        return {}
    file = entry.file(build, seeds[0], "settings.yaml")
    run = files.read_as(Trained, file, entry.remake(seeds[0]), files.read_yaml).run
    return {"kept": (run.keep, run.selection), "threads": run.threads}


def _typed(content: dict[str, Any]) -> Catalog:
    seeds = tuple(content["seeds"])
    variants = {name: _entry(name, row, tuple(row["tasks"]), seeds) for name, row in content["variants"].items()}
    ensembles = [
        _entry(name, row, _shared([variants[member] for member in row["members"]]), seeds)
        for name, row in (content.get("ensembles") or {}).items()
    ]
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
        asked=tuple(name for name, entry in variants.items() if entry.selected),
    )


def _entry(name: str, row: dict[str, Any], tasks: tuple[str, ...], seeds: tuple[int, ...]) -> Entry:
    paper, label = row.get("paper") or OWN, row.get("row") or name
    members, also = (tuple(row.get(key) or ()) for key in ("members", "also"))
    rival = row.get("rival") or ""
    changed = tuple(f"{key}={_as_set(value)}" for key, value in (row.get("departures") or {}).items())
    seeds = seeds if row["selected"] else ()
    return Entry(name, paper, label, tasks, row["selected"], members, also, rival, seeds, departures=changed)


def _as_set(value: Any) -> str:
    """A value as `dvc exp run -S` takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shared(members: list[Entry]) -> tuple[str, ...]:
    return tuple(task for task in TASKS if all(task in member.tasks for member in members))


def _shown(data_dir: str) -> str:
    """A directory of one's own by its last part alone: a committed report holds no path of one machine."""
    return f"/path/to/{Path(data_dir).name}" if Path(data_dir).is_absolute() else data_dir

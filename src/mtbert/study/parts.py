"""The variants that train a way on parts of train, for its learning curve: chosen, and written into params.yaml."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mtbert import files, layout, tasks
from mtbert.config import planning, resolve
from mtbert.config.params import Params
from mtbert.data import drawing
from mtbert.errors import SettingsError, UnknownNameError
from mtbert.judge import Scoreboard, judge, plan_of
from mtbert.labelling.curve import LEAST, SHARES
from mtbert.scores import tables
from mtbert.study.understanding import FIRST_FOLD

NAMES = {0.125: "eighth", 0.25: "quarter", 0.5: "half"}  # of parts, by share, behind the variant's name


@dataclass(frozen=True)
class WayOnParts:
    """A way and the variants that train it on parts of train.

    Attributes:
        name: of the way.
        variants: by task and share, the variant that is scored.
        seeds: of each variant.
    """

    name: str
    variants: dict[str, dict[float, str]]
    seeds: Sequence[int]

    @property
    def names(self) -> set[str]:
        """All variants."""
        return {name for by_share in self.variants.values() for name in by_share.values()}


def select(file: Path, folder: Path, build: Path, way: str | None) -> WayOnParts | None:
    """Add the parts of a way to params.yaml, and return them; print why there are none, and return None.

    Args:
        file: params.yaml, which is set to a study of the folder.
        folder: of the tasks.
        build: the build folder; of the same study, it says which way is kept.
        way: a variant, or an entry of one for each task; None for the way that is kept.

    Raises:
        SettingsError: the way cannot be trained on parts, or params.yaml is not that of this folder. It is as it was.
    """
    if file.resolve() != Path("params.yaml").resolve():
        raise SettingsError(f"--params is {file}; allowed with --curve: params.yaml of the folder where you are")
    params = Params(file)
    variants = _variants(params, way) if way else _kept(params, folder, build)
    if not variants:
        return None
    parts = _parts(params, folder, variants)
    wholes = [name for name in variants if name not in params.get("variants")]
    added = {name: part for by_share in parts.values() for name, part in by_share.items()}
    if not added:
        print(f"({', '.join(variants)}: no part of train has {LEAST} rows)")
        return None
    names = [*params.get("variants"), *wholes, *(name for name in added if name not in params.get("variants"))]
    values = {f"catalog.{name}": {"part": {"of": whole, "share": share}} for name, (whole, share) in added.items()}
    with files.new_file(file) as partial:
        shutil.copy(file, partial)
        files.edit_yaml(partial, values | {"variants": names})
        planning.plan(Params(partial, shown=file))
    by_task: dict[str, dict[float, str]] = {}
    for whole in variants:
        for task in resolve.about(params, whole)["tasks"]:
            by_task[task] = {share: name for name, (_, share) in parts[whole].items()} | {1.0: whole}
    return WayOnParts(way or _name(params, variants), by_task, params.get("seeds"))


def _variants(params: Params, way: str) -> list[str]:
    """Return the variants of a way that a person names."""
    if way in params.get("catalog"):
        return [way]
    if one_per_task := [name for name, entry in params.template_of.items() if entry == way]:
        return one_per_task
    if entry := (params.get("ensembles") or {}).get(way):
        kind = "a merge" if entry.get("merge") else "a vote"
        allowed = f"one of its members, {', '.join(entry['members'])}"
        raise SettingsError(f"--way is {way}, {kind} of several models, which no part trains; allowed: {allowed}")
    raise UnknownNameError("way", way, [*params.get("catalog"), *dict.fromkeys(params.template_of.values())])


def _kept(params: Params, folder: Path, build: Path) -> list[str]:
    """Return the variants of the way that the report keeps; print why there are none."""
    if not layout.results(build).is_dir() or not _is_of(folder, build):
        print("(no way is trained for these tasks yet: give `make reproduce`, or choose one by --way own-shared)")
        return []
    board = Scoreboard(tables.read(layout.results(build)))
    answer = judge(board, plan_of(layout.read_catalog(build, "seeds"))).answer
    if answer is None or answer.kept is None:
        example = "" if answer is None else f", such as {_name(params, answer.best.names)}"
        print(f"(the report keeps no way yet; --way names one{example})")
        return []
    kept = answer.kept
    if kept.is_baseline:
        print(f"(the report keeps {kept.label}, which is a baseline; choose a trained way by --way)")
        return []
    if any(answer.results.about[name].members for name in kept.names):
        print(f"(the report keeps {kept.label}, which is made of several models; choose another way by --way)")
        return []
    return [*kept.names]


def _is_of(folder: Path, build: Path) -> bool:
    data = build.parent / layout.read_catalog(build, "data_dir")["data_dir"]
    return data.resolve() == folder.resolve()


def _parts(params: Params, folder: Path, variants: Sequence[str]) -> dict[str, dict[str, tuple[str, float]]]:
    """Return by variant its parts by name, each with the whole and the share: those with LEAST rows of some task."""
    tasks_by_name = tasks.read_folder(folder)
    splits = drawing.Splits(folder, tasks_by_name)
    parts: dict[str, dict[str, tuple[str, float]]] = {}
    for whole in variants:
        own = [tasks_by_name[name] for name in resolve.about(params, whole)["tasks"]]
        rows = [len(splits.read(task, "train", FIRST_FOLD).examples) for task in own]
        shares = [share for share in SHARES if share < 1 and round(share * max(rows)) >= LEAST]
        parts[whole] = {f"{whole}-{NAMES[share]}": (whole, share) for share in shares}
    return parts


def _name(params: Params, variants: Sequence[str]) -> str:
    """Return the name of a way, as --way takes it: that of its variant, or of the entry of one for each task."""
    return params.template_of.get(variants[0], variants[0])

"""The files that `plan` writes, by name: one for each selected variant, and those that the other stages read."""

from typing import Any

from mtbert.config import resolve
from mtbert.config.params import Params, merged
from mtbert.pretraining.settings import PRETRAININGS, EncoderSettings
from mtbert.settings import RunSettings
from mtbert.tasks import corpus


def shared(params: Params, selected: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the files on the starting weights of the selected variants, by name."""
    pretrainings = {f"pretrain-{name}": _pretraining(params, name, [*selected.values()]) for name in PRETRAININGS}
    return {"encoder": EncoderSettings(**merged(params, "encoder")).model_dump(), **pretrainings}


def documents(params: Params, selected: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the content of each file: one for each selected variant, and those that the other stages read."""
    starts = shared(params, selected)
    run = RunSettings(**merged(params, "run"))
    encoder = EncoderSettings(**starts["encoder"])
    rounded = "Its weights are rounded to fp16." if encoder.weights == "fp16" else ""
    catalog = {
        **{knob: params.get(knob) for knob in ("profile", "data_dir", "seeds")},
        "keep": run.keep,
        "selection": run.selection,
        "encoder": {"name": encoder.shown, "note": " ".join(filter(None, [encoder.note, rounded]))},
        "variants": {
            name: resolve.about(params, name) | {"selected": name in selected} for name in params.get("catalog")
        },
        "ensembles": {
            name: {**entry, "selected": all(member in selected for member in entry["members"])}
            for name, entry in (params.get("ensembles") or {}).items()
        },
    }
    return {**selected, **starts, "needs": _needs([*selected.values()], starts), "catalog": catalog}


def _pretraining(params: Params, name: str, selected: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a pretraining's settings, or that no selected variant needs it."""
    if not any(variant["model"]["encoder"] == name for variant in selected):
        return {"needed": False}
    run = merged(params, "run")
    where = {key: run[key] for key in ("device", "precision", "threads") if key in run}  # as for trainings
    weights = {key: value for key, value in merged(params, "encoder").items() if key == "weights"}
    settings = PRETRAININGS[name](**{**where, **weights, **merged(params, "pretrain").get(name, {})})
    return {"needed": True, **settings.model_dump(mode="json")}


def _needs(selected: list[dict[str, Any]], starts: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Return the splits that must exist: [task, split]."""
    needs = {(task, split) for variant in selected for task in variant["tasks"] for split in ("train", "dev")}
    needs |= {
        (corpus(entry), "train") for variant in selected for phase in variant["phases"] for entry in phase["tasks"]
    }
    for name, kind in PRETRAININGS.items():
        settings = {key: value for key, value in starts[f"pretrain-{name}"].items() if key != "needed"}
        needs |= set(kind(**settings).needs) if starts[f"pretrain-{name}"]["needed"] else set()
    return [list(need) for need in sorted(needs)]

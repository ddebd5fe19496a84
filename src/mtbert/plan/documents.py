"""The files that `plan` writes, by name: one a selected variant, and what the other stages need to know."""

from typing import Any

from mtbert.encoder.sources import PRETRAININGS, SOURCES, EncoderSettings
from mtbert.plan.params import Params
from mtbert.plan.resolve import merged
from mtbert.settings import RunSettings
from mtbert.tasks import corpus


def documents(params: Params, variants: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """File name to content: one a selected variant, and what the other stages need to know."""
    selected = params.get("variants")
    encoder = EncoderSettings(**merged(params, "encoder"))
    pretrainings = {name: _pretraining(params, name, [variants[v] for v in selected]) for name in PRETRAININGS}
    documents: dict[str, Any] = {name: variants[name] for name in selected}
    documents |= {f"pretrain-{name}": settings for name, settings in pretrainings.items()}
    documents["encoder"] = encoder.model_dump()
    documents["needs"] = _needs([variants[name] for name in selected], pretrainings)
    documents["catalog"] = {
        "profile": params.get("profile"),
        "data_dir": params.get("data_dir"),
        "seeds": params.get("seeds"),
        "keep": RunSettings(**merged(params, "run")).keep,
        "selection": RunSettings(**merged(params, "run")).selection,
        "encoder": {"name": encoder.name, "note": SOURCES[encoder.name].note},
        "variants": {
            name: {**{key: variant[key] for key in ("paper", "row", "also", "tasks")}, "selected": name in selected}
            for name, variant in variants.items()
        },
        "ensembles": {
            name: {**entry, "selected": all(member in selected for member in entry["members"])}
            for name, entry in (params.get("ensembles") or {}).items()
        },
    }
    return documents


def _pretraining(params: Params, name: str, selected: list[dict[str, Any]]) -> dict[str, Any]:
    """A pretraining's settings, or that nothing selected starts from it."""
    if not any(variant["model"]["encoder"] == name for variant in selected):
        return {"needed": False}
    run = merged(params, "run")
    where = {key: run[key] for key in ("device", "precision", "threads") if key in run}  # the machine is one and the same
    settings = PRETRAININGS[name](**{**where, **(merged(params, "pretrain").get(name) or {})})
    return {"needed": True, **settings.model_dump(mode="json")}


def _needs(selected: list[dict[str, Any]], pretrainings: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Which splits have to be there: [task, split]."""
    needs = {(task, split) for variant in selected for task in variant["tasks"] for split in ("train", "dev")}
    needs |= {
        (corpus(entry), "train") for variant in selected for phase in variant["phases"] for entry in phase["tasks"]
    }
    for name, document in pretrainings.items():
        settings = {key: value for key, value in document.items() if key != "needed"}
        needs |= set(PRETRAININGS[name](**settings).needs) if document["needed"] else set()
    return [list(need) for need in sorted(needs)]

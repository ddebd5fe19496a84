"""Load trained models and baselines by name or by folder."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from mtbert import files, layout
from mtbert.data import tokens
from mtbert.errors import EncoderError, UnknownNameError, one_line
from mtbert.inference.answers import ModelError
from mtbert.inference.ensemble import Ensemble
from mtbert.inference.model import Model
from mtbert.layout import METRICS, SETTINGS, WEIGHTS
from mtbert.machine import hardware
from mtbert.models.encoder import architectures
from mtbert.models.multitask import MultitaskModel
from mtbert.provenance import inputs, seals
from mtbert.scores.described import BASELINES
from mtbert.scores.schemas import RunMetrics
from mtbert.settings import NAME
from mtbert.variants import building
from mtbert.variants.settings import VariantSettings

if TYPE_CHECKING:
    from mtbert.inference.baseline import Baseline

WITHIN = "encoder.backbone."  # prefix of the encoder's weights in those of a run


def load_any(
    source: str | Path, seed: int | None = None, build: str | Path = "build", device: str = "auto"
) -> "Model | Baseline | Ensemble":
    """Load a trained model, a baseline, or an ensemble that votes.

    Args:
        source: the name of a variant, a baseline or an ensemble, or a folder such as build/runs/pals/1.
        seed: for a name, the seed of the run; without it the lowest one.
        build: the build directory in which names are looked up.
        device: auto (CUDA, else Apple's, else the CPU), cpu, cuda or mps.

    Raises:
        ModelError: there is no such model, or it lacks its encoder's folder.
        DataError, SettingsError: one of its files is missing, altered, or of another version of mtbert.
    """
    name, build = str(source), Path(build)
    folder = Path(source).resolve()
    if folder.parent.parent.name == layout.votes(build).name and seals.is_sealed(folder):
        if seed is not None and folder.name != str(seed):
            raise ModelError(f"seed is {seed}, but {source} is the folder of one vote; allowed with a seed: a name")
        name, seed, build = folder.parent.name, int(folder.name), layout.build_of(folder)
    if members := _members(build, name):
        return _load_ensemble(name, members, seed, build, device)
    return _load_single(source, seed, build, device)


def _load_ensemble(name: str, members: Sequence[str], seed: int | None, build: Path, device: str) -> Ensemble:
    """Load an ensemble's members of a seed, or of the lowest that all have."""
    folders = _folders(build)
    of_seed = {member: folders.get(member, {}) for member in members}
    seeds = sorted(set.intersection(*({*of_member} for of_member in of_seed.values())))
    if not seeds or seed not in (None, *seeds):
        wanted = seeds if seed is None else sorted({*seeds, seed})
        seeds_by_member = "; ".join(f"{member}: {_seeds_in_words(of_member)}" for member, of_member in of_seed.items())
        raise ModelError(
            f"{name} is a vote of models that are not all trained with {'one' if seed is None else 'that'} seed "
            f"(seeds that are: {seeds_by_member}); {_training(members, wanted or [1])} trains or restores them"
        )
    chosen = seeds[0] if seed is None else seed
    models = [_load_run(of_member[chosen], device) for of_member in of_seed.values()]
    return Ensemble(name, chosen, models, layout.votes(build).resolve() / name / str(chosen))


def _load_single(source: str | Path, seed: int | None, build: Path, device: str) -> "Model | Baseline":
    """Load a trained model, or a baseline, by its name or folder."""
    name = str(source)
    folders = _folders(build)
    if name in folders:
        return load_folder(_of_seed(folders[name], name, seed, build), device)
    if (Path(source) / METRICS).is_file():
        folder = Path(source).resolve()
        if seed is not None and folder.name != str(seed):
            raise ModelError(
                f"seed is {seed}, but {source} is the folder of one run; allowed with a seed: a variant's name"
            )
        return load_folder(folder, device)
    if re.fullmatch(NAME, name) and layout.logs_of(build, name):
        raise ModelError(
            f"{name} has been trained here, but its runs are not in {layout.runs(build)} now: params.yaml lists other "
            f"variants; `dvc exp run -S 'variants=[{name}]'` restores it from DVC's cache and trains nothing again"
        )
    if variants := _variants(build, name):
        seeds = layout.read_catalog(build, "seeds")["seeds"]
        raise ModelError(f"{name} is not in {build}; {_training(variants, seeds)} trains or restores it")
    unknown = str(UnknownNameError("model", name, sorted(folders))) if folders else "nothing is trained there"
    raise ModelError(f"{name} is no folder of a finished run, such as build/runs/pals/1, and in {build}: {unknown}")


def _folders(build: Path) -> dict[str, dict[int, Path]]:
    """Return the folder of each trained or merged model, by its name and seed."""
    folders: dict[str, dict[int, Path]] = {}
    for folder in layout.models(build):
        folders.setdefault(folder.parent.name, {})[int(folder.name)] = folder.resolve()
    return folders


def _members(build: Path, name: str) -> list[str]:
    """Return the variants that vote under this name; none where it is no such ensemble of the plan."""
    entry = _planned(build, "ensembles").get(name) or {}
    return [] if entry.get("merge") else entry.get("members") or []


def _variants(build: Path, name: str) -> list[str]:
    """Return the variants that make a model of the plan: itself, or an ensemble's members; none of another model."""
    if ensemble := _planned(build, "ensembles").get(name):
        return ensemble["members"]
    return [name] if name in _planned(build, "variants") else []


def _planned(build: Path, key: str) -> dict[str, Any]:
    """Return the plan's variants or ensembles by name; none without a plan."""
    return layout.read_catalog(build).get(key) or {} if layout.plan(build).is_file() else {}


def _of_seed(folders: Mapping[int, Path], name: str, seed: int | None, build: Path) -> Path:
    """Return the folder of a variant's run with a seed; with the lowest where none is named."""
    if seed is None:
        return folders[min(folders)]
    if seed not in folders and name in BASELINES:
        raise ModelError(f"{name} is a baseline, which no seed changes; got seed {seed}, allowed: none")
    if seed not in folders:
        command = _training(_variants(build, name) or [name], sorted({*folders, seed}))
        raise ModelError(
            f"{name} is not trained with seed {seed} (seeds that are: {_seeds_in_words(folders)}); "
            f"{command} trains it, or restores it from DVC's cache"
        )
    return folders[seed]


def _seeds_in_words(folders: Mapping[int, Path]) -> str:
    return ", ".join(map(str, sorted(folders))) or "none"


def _training(variants: Sequence[str], seeds: Sequence[int]) -> str:
    """Return the command that brings variants' models of these seeds; `dvc repro` has stages of params.yaml alone."""
    return f"`dvc exp run -S 'variants=[{','.join(variants)}]' -S 'seeds=[{','.join(map(str, seeds))}]'`"


def load_folder(folder: Path, device: str = "auto") -> "Model | Baseline":
    """Load the model, or the baseline, of a folder; errors as for `load_any`."""
    if not (folder / layout.BASELINE).is_file():  # which a baseline's folder has, also one that was moved
        return _load_run(folder, device)
    from mtbert.inference import baseline  # and with it scikit-learn, which no trained model needs

    return baseline.load(folder, device)


def _load_run(folder: Path, device: str = "auto") -> Model:
    """Load the model of a finished run's folder; errors as for `load_any`."""
    remedy = layout.remedy(folder)
    seals.check(folder, only=(WEIGHTS, METRICS, SETTINGS))
    content = files.read_as(dict[str, Any], folder / SETTINGS, remedy)
    variant_settings = {key: value for key, value in content.items() if key not in ("seed", "code")}
    settings = files.checked(VariantSettings, variant_settings, folder / SETTINGS, remedy)
    encoder = _encoder(folder, settings)
    on = hardware.device(device)
    metrics = files.read_as(RunMetrics, folder / METRICS, remedy)
    network = _network(settings, encoder, folder / WEIGHTS).to(on).eval()
    for task, temperature in metrics.temperatures.items():
        network.head(task).temperature = temperature
    return Model(
        settings=settings,
        metrics=metrics,
        network=network,
        tokenize=tokens.wordpieces(encoder),
        special_tokens=tokens.special_tokens(encoder),
        device=on,
        run=folder,
        encoder=encoder,
    )


def _encoder(folder: Path, settings: VariantSettings) -> Path:
    """Return the folder of the tokenizer and the encoder's shape: in a run that was moved, else in its build directory.

    DataError where one of its files is missing, altered, or not the one that the run was trained with.
    """
    if (folder / "encoder").is_dir():
        return folder / "encoder"
    encoder = layout.encoder(layout.build_of(folder), settings.model.encoder)
    inputs.check_encoder(folder, encoder, layout.CONFIG_AND_TOKENIZER)
    return encoder


def _network(settings: VariantSettings, encoder: Path, weights: Path) -> MultitaskModel:
    """Build the model with its trained weights, all of which the run holds."""
    try:
        state = load_file(weights)
        backbone_weights = {
            name.removeprefix(WITHIN): value for name, value in state.items() if name.startswith(WITHIN)
        }
        vocabulary = tokens.vocabulary(encoder)
        with architectures.Undrawn(), torch.random.fork_rng():  # all weights are replaced at once
            backbone = architectures.backbone(encoder, backbone_weights)
            model = building.build_model(settings, backbone, 0, vocabulary, tokens.special_tokens(encoder))
        model.load_state_dict(state)
    except (RuntimeError, KeyError, SafetensorError, EncoderError) as error:
        raise ModelError(
            f"{weights} does not fit {weights.with_name(SETTINGS)} and the encoder in {encoder}: it is not "
            f"the run's, or another version of mtbert trained the run ({one_line(error)})"
        ) from None
    return model

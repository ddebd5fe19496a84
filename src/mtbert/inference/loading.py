"""Load trained models by name, by folder, or by MLflow's address."""

import warnings
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

import mtbert
from mtbert import files
from mtbert.data import tokens
from mtbert.errors import UnknownNameError
from mtbert.inference.predicting import Ensemble, Model, ModelError
from mtbert.models import building
from mtbert.models.encoder import bert, hardware
from mtbert.models.encoder.config import CONFIG, read_config
from mtbert.models.multitask import MultitaskModel
from mtbert.schemas import RunMetrics
from mtbert.settings import VariantSettings, checked

PACKAGE = Path(mtbert.__file__).parent
WEIGHTS, METRICS = "model.safetensors", "metrics.json"
ENCODER = "encoder"  # folder of a run that was moved elsewhere: holds tokenizer.json and config.json
ADDRESSES = ("models:/", "runs:/", "mlflow-artifacts:/")
LONGEST_SHOWN = 300  # characters of torch's message
WITHIN = "encoder.bert."  # prefix of the encoder's weights in those of a run
IN_PREDICTIONS = "models/"  # code that a trained model uses to predict


def load(
    place: str | Path, seed: int | None = None, build: str | Path = "build", device: str = "auto"
) -> Model | Ensemble:
    """Load a trained model, or an ensemble.

    Args:
        place: a variant's or an ensemble's name; a folder such as build/runs/pals/1; or an address of MLflow's, such as
            models:/mtbert-sample-pals@best.
        seed: for a name, the seed of the run; without it the lowest one.
        build: the build directory in which names are looked up.
        device: auto (CUDA, else Apple's, else the CPU), cpu, cuda or mps.

    Raises:
        ModelError: there is no such model, or it lacks its weights or its encoder's folder.
        DataError, SettingsError: one of its files is missing, altered, or of another version of mtbert.
    """
    build = Path(build)
    members = _ensembles(build).get(str(place))
    if members is None:
        return of_run(find(place, seed, build), device)
    trained = _trained(build)
    seed = min(set.intersection(*(set(trained.get(name, {})) for name in members)), default=0) if seed is None else seed
    return Ensemble(str(place), {name: of_run(_of_seed(name, seed, trained), device) for name in members})


def find(place: str | Path, seed: int | None = None, build: Path = Path("build")) -> Path:
    """Return the folder of a run; ModelError where there is none. Arguments as for `load`."""
    if str(place).startswith(ADDRESSES):
        from mtbert.tracking import models

        return models.folder(str(place))
    trained = _trained(build)
    if str(place) in trained:
        return _of_seed(str(place), seed, trained)
    if (Path(place) / METRICS).is_file():
        return Path(place).resolve()
    if Path(place).is_dir():
        raise ModelError(
            f"{place} holds no {METRICS}, so it is not the folder of a finished run; an example: build/runs/pals/1"
        )
    if not trained:
        raise ModelError(f"there is no folder {place}, and nothing is trained in {build}; `make reproduce` trains")
    unknown = UnknownNameError("model", str(place), sorted({*trained, *_ensembles(build)}))
    raise ModelError(f"{unknown}; these are in {build}, and there is no folder {place}")


def _trained(build: Path) -> dict[str, dict[int, Path]]:
    """Return the folders of finished runs by name and seed."""
    by_name: dict[str, dict[int, Path]] = {}
    for file in build.glob(f"runs/*/*/{METRICS}"):
        if file.parent.name.isdecimal():
            by_name.setdefault(file.parents[1].name, {})[int(file.parent.name)] = file.parent.resolve()
    return by_name


def _ensembles(build: Path) -> dict[str, list[str]]:
    """Return the members of each ensemble of the plan."""
    catalog = build / "plan" / "catalog.yaml"
    planned = files.read_plan(catalog, "ensembles")["ensembles"] if catalog.is_file() else {}
    return {name: list(entry["members"]) for name, entry in planned.items()}


def _of_seed(name: str, seed: int | None, trained: dict[str, dict[int, Path]]) -> Path:
    seeds = trained.get(name, {})
    if not seeds:
        raise ModelError(f"{name} is not trained; `dvc repro train@{name}-{1 if seed is None else seed}` trains it")
    if seed is not None and seed not in seeds:
        there = ", ".join(map(str, sorted(seeds)))
        raise ModelError(f"{name} was not trained with seed {seed}; trained here: seed {there}")
    return seeds[min(seeds) if seed is None else seed]


def remedy(folder: Path) -> str:
    """Return the command that makes a run again."""
    return f"dvc repro train@{folder.parent.name}-{folder.name}"


def of_run(folder: Path, device: str = "auto") -> Model:
    """Load the model of a finished run's folder; errors as for `load`."""
    if not (folder / METRICS).is_file():
        raise ModelError(f"{folder} holds no finished run; `{remedy(folder)}` makes it")
    if not (folder / WEIGHTS).is_file():
        raise ModelError(
            f"{folder} holds no {WEIGHTS}: it was brought here without its weights, and cannot predict; run.py "
            f"with --weights there and `mtbert unpack` bring them, or `{remedy(folder)} --force --single-item` trains "
            "it here"
        )
    again = remedy(folder)
    weights = files.sealed(folder, WEIGHTS, again)
    metrics = files.read_as(RunMetrics, files.sealed(folder, METRICS, again), again)
    settings = read_settings(files.sealed(folder, "settings.yaml", again))
    if others := changed(settings):
        message = f"the code of {', '.join(others)} has changed since {folder} was trained; predictions may differ"
        warnings.warn(message, stacklevel=2)
    encoder = _encoder(folder, settings)
    target = hardware.device(device)
    return Model(
        settings=settings,
        metrics=metrics,
        network=_network(settings, encoder, weights).to(target).eval(),
        tokenize=tokens.wordpieces(encoder),
        special_tokens=tokens.special_tokens(encoder),
        device=target,
        run=folder,
        encoder=encoder,
    )


def read_settings(file: Path) -> VariantSettings:
    """Read the settings that a run was trained with; SettingsError where this version of mtbert does not know them."""
    content = files.read_plan(file, "variant", "model")
    return checked(VariantSettings, {key: content[key] for key in content if key not in ("seed", "code")}, file)


def _encoder(folder: Path, settings: VariantSettings) -> Path:
    """Return the folder of tokenizer and encoder's shape: in the run, or in its build directory."""
    above = [parent / "encoders" / settings.model.encoder for parent in folder.parents[2:3]]
    places = [folder / ENCODER, *above]
    for place in places:
        if (place / "tokenizer.json").is_file() and (place / CONFIG).is_file():
            return place
    raise ModelError(
        f"{folder} needs the tokenizer.json and {CONFIG} of its encoder; looked in {' and '.join(map(str, places))}"
    )


def _network(settings: VariantSettings, encoder: Path, weights: Path) -> MultitaskModel:
    """Build the model with its trained weights, all of which the run holds."""
    shape = read_config(encoder)
    try:
        state = load_file(weights)
        inside = {name.removeprefix(WITHIN): value for name, value in state.items() if name.startswith(WITHIN)}
        with bert.Undrawn(), torch.random.fork_rng():  # all weights are replaced at once
            start = bert.Bert(shape, pooler="pooler.dense.weight" in inside)
            start.load_state_dict(inside, assign=True)
            model = building.build_model(settings, start, 0, tokens.vocabulary(encoder), tokens.special_tokens(encoder))
        model.load_state_dict(state)
    except (RuntimeError, KeyError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(
            f"{weights} does not fit {weights.with_name('settings.yaml')} and the encoder in {encoder}: it is not "
            f"the run's, or another version of mtbert trained the run ({reason[:LONGEST_SHOWN]})"
        ) from None
    return model


def changed(settings: VariantSettings) -> list[str]:
    """Return files of the model's techniques whose code has changed since it was trained."""
    used = {name: digest for name, digest in settings.sources.items() if name.startswith(IN_PREDICTIONS)}
    files_now = {name: PACKAGE / name for name in used}
    return [name for name, file in files_now.items() if not file.is_file() or files.code_digest(file) != used[name]]

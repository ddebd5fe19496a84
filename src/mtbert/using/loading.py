"""Load trained models by name, by folder, or by MLflow's address."""

import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file

import mtbert
from mtbert import assembly, files
from mtbert.data import tokens
from mtbert.encoder import bert, hardware, loading
from mtbert.encoder.config import read_config
from mtbert.errors import UnknownNameError
from mtbert.model import MultitaskModel
from mtbert.outputs import RunMetrics, VoteMetrics
from mtbert.settings import VariantSettings, checked
from mtbert.using.predicting import Ensemble, Model, ModelError

PACKAGE = Path(mtbert.__file__).parent
BUILD = Path("build")
WEIGHTS = "model.safetensors"
METRICS = "metrics.json"
ENCODER = "encoder"  # folder of a run that was moved elsewhere: holds tokenizer.json and config.json
ADDRESSES = ("models:/", "runs:/", "mlflow-artifacts:/")
LONGEST_SHOWN = 300  # characters of torch's message
WITHIN = "encoder.bert."  # prefix of the encoder's weights in those of a run
IN_PREDICTIONS = ("features/", "adapters/", "connectors/", "heads/")  # code that a trained model uses to predict


def load(
    place: str | Path, seed: int | None = None, build: str | Path = BUILD, device: str = "auto"
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
    folder = find(place, seed, Path(build))
    content = files.read_json(files.sealed(folder, METRICS, remedy(folder)))
    if not isinstance(content, dict) or "ensemble" not in content:
        return of_run(folder, device)
    ensemble = files.read_as(VoteMetrics, folder / METRICS, remedy(folder))
    runs = folder.parents[2] / "runs"
    members = {name: of_run(runs / name / str(ensemble.seed), device) for name in ensemble.members}
    return Ensemble(ensemble.ensemble, members)


def find(place: str | Path, seed: int | None = None, build: Path = BUILD) -> Path:
    """Return the folder of a run or an ensemble; ModelError where there is none. Arguments as for `load`."""
    if isinstance(place, str) and place.startswith(ADDRESSES):
        from mtbert.tracking import models

        return models.folder(place)
    seeds = _seeds(str(place), build)
    if seeds and not Path(place).is_absolute():
        if seed is not None and seed not in seeds:
            trained = ", ".join(map(str, sorted(seeds)))
            raise ModelError(f"{place} was not trained with seed {seed}; trained here: seed {trained}")
        return seeds[min(seeds) if seed is None else seed]
    if not (Path(place) / METRICS).is_file():
        raise ModelError(_no_model(place, build))
    return Path(place).resolve()


def _seeds(name: str, build: Path) -> dict[int, Path]:
    """Return the folders of finished runs or ensembles of a name, by seed."""
    finished = [*build.glob(f"runs/{name}/*/{METRICS}"), *build.glob(f"ensembles/{name}/*/{METRICS}")] if name else []
    return {int(file.parent.name): file.parent.resolve() for file in finished if file.parent.name.isdecimal()}


def _no_model(place: str | Path, build: Path) -> str:
    if Path(place).is_dir():
        return f"{place} holds no {METRICS}, so it is not the folder of a finished run; an example: build/runs/pals/1"
    names = {file.parents[1].name for kind in ("runs", "ensembles") for file in build.glob(f"{kind}/*/*/{METRICS}")}
    if not names:
        return f"there is no folder {place}, and nothing is trained in {build}; `make reproduce` trains"
    unknown = UnknownNameError("model", str(place), sorted(names))
    return f"{unknown}; these are trained in {build}, and there is no folder {place}"


def remedy(folder: Path) -> str:
    """Return the command that makes a run or an ensemble again."""
    kind = folder.parent.parent.name
    return "dvc repro collect" if kind == "ensembles" else f"dvc repro train@{folder.parent.name}-{folder.name}"


def of_run(folder: Path, device: str = "auto") -> Model:
    """Load the model of a finished run's folder; errors as for `load`."""
    if not (folder / METRICS).is_file():
        raise ModelError(f"{folder} holds no finished run; `{remedy(folder)}` makes it")
    if not (folder / WEIGHTS).is_file():
        raise ModelError(
            f"{folder} holds no {WEIGHTS}: it was brought here without its weights, and cannot predict; run-packed "
            f"with --weights there and `mtbert unpack` bring them, or `{remedy(folder)} --force --single-item` trains "
            "it here"
        )
    again = remedy(folder)
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
        network=_network(settings, encoder, files.sealed(folder, WEIGHTS, again)).to(target).eval(),
        tokenize=tokens.wordpieces(encoder),
        marks=tokens.marks(encoder),
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
        if (place / "tokenizer.json").is_file() and (place / loading.CONFIG).is_file():
            return place
    raise ModelError(
        f"{folder} needs the tokenizer.json and {loading.CONFIG} of its encoder; looked in "
        f"{' and '.join(map(str, places))}"
    )


def _network(settings: VariantSettings, encoder: Path, weights: Path) -> MultitaskModel:
    """Build the model with its trained weights, all of which the run holds."""
    state = load_file(weights)
    shape = read_config(encoder)
    inside = {name.removeprefix(WITHIN): value for name, value in state.items() if name.startswith(WITHIN)}
    try:
        with torch.device("meta"):  # draws no weights, since all are replaced at once
            start = bert.Bert(shape, pooler="pooler.dense.weight" in inside)
        start.load_state_dict(inside, assign=True)
        with torch.random.fork_rng():
            model = assembly.build_model(settings, start, 0, tokens.vocabulary(encoder), tokens.marks(encoder))
        model.load_state_dict(state)
    except (RuntimeError, KeyError) as error:
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
    return [name for name, file in files_now.items() if not file.is_file() or files.sha256(file) != used[name]]

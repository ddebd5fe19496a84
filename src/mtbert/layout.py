"""What lies where in a build folder, and how the files of the plan are read. No other module knows.

    build/
      machine.json                processor and PyTorch where the folder was begun
      plan/VARIANT.yaml           resolved settings; beside them catalog.yaml, STAGE.yaml, code-STAGE.yaml
      encoders/NAME/              starting weights: base, and sbert, which was pretrained from it
      data/TASK/SPLIT.parquet     rows and word pieces; beside them dev-shared.parquet, report.json, pretraining.json
      manifest/VARIANT.json       the inputs.json that a training of a variant would write now
      runs/VARIANT/SEED/          a trained model: weights, settings, scores, history, embeddings, predictions, and
                                  inputs.json: what it was made from
      merged/NAME/SEED/           a merged model: the same
      votes/NAME/SEED/            a vote: settings, scores, predictions, inputs.json
      baselines/NAME/0/           a cheap baseline of all tasks: settings, scores, predictions, its model, inputs.json
      speed/speed.json            times
      doubtful/                   `mtbert doubtful`: labels to check, and near-duplicates, with their texts
      results/                    tables
      judged/                     tables: rows with intervals, comparisons with verdicts, the papers' claims
      report/ and submissions/    what people read
      logs/VARIANT/SEED/KEY/      run.json: what a training took; and a copy of inputs.json
      checkpoints/VARIANT/SEED/   of a training that is not finished
      cache/KIND/KEY              what takes long and is made again where it is missing: embeddings by frozen encoders,
                                  points of sentences in pictures, trials of rates; by a digest of what it is made from
      locks/ and grid/            of processes that run

What a stage writes ends with a seal, digests.json: `mtbert.provenance.seals`.
"""

from pathlib import Path
from typing import Any, Literal

from mtbert import files
from mtbert.errors import DataError
from mtbert.files import Content

# Files of an encoder, and of a trained model.
WEIGHTS = "model.safetensors"
# Files of an encoder.
CONFIG_AND_TOKENIZER = ("config.json", "tokenizer.json", "tokenizer_config.json")
ENCODER_CARD = "encoder.json"  # what it is, and where it comes from
MLM_HEAD = "mlm_head.safetensors"  # where its checkpoint brings one
BASELINE = "config.json"  # of a baseline: what its weights are of
# Files of a trained model.
SETTINGS = "settings.yaml"
METRICS = "metrics.json"
HISTORY = "history.csv"
EMBEDDINGS = "embeddings.safetensors"
ELSEWHERE = "elsewhere.json"  # the machine that it came from, where that is another
LOG = "run.json"  # of its log
INPUTS = "inputs.json"  # what a model was made from; also in its log
DIGESTS = "digests.json"  # the seal
KEY = 12  # hexadecimal digits of a digest in the name of a folder
STAGES = {  # by folder, the stage that makes all of it
    "plan": "plan", "data": "preprocess", "manifest": "manifest",
    "merged": "merge", "votes": "ensemble", "baselines": "baselines",
}  # fmt: skip


def machine(build: Path) -> Path:
    """Return the file that describes the machine where the folder was begun."""
    return build / "machine.json"


def plan(build: Path, name: str = "catalog") -> Path:
    """Return a file of the plan: that of a variant, or another, such as `code-train`: the code of all trainings."""
    return build / "plan" / f"{name}.yaml"


def encoder(build: Path, name: str = "base") -> Path:
    """Return the folder of starting weights."""
    return build / "encoders" / name


def data(build: Path) -> Path:
    """Return the folder of all examples."""
    return build / "data"


def examples(data: Path, task: str, split: str) -> Path:
    """Return the file of the examples of a task's split in the folder of all examples."""
    return data / task / f"{split}.parquet"


def shared(data: Path, task: str) -> Path:
    """Return the file of what rows of a task's dev share with train, and with other tasks."""
    return data / task / "dev-shared.parquet"


def data_report(data: Path) -> Path:
    """Return the file that says what preprocessing found in the corpora."""
    return data / "report.json"


def pretraining(data: Path) -> Path:
    """Return the file of the digests of the examples that pretraining reads, its only input of all examples."""
    return data / "pretraining.json"


def manifest(build: Path, variant: str) -> Path:
    """Return the file of the digests of what a variant is trained from."""
    return build / "manifest" / f"{variant}.json"


def runs(build: Path) -> Path:
    """Return the folder of all runs."""
    return build / "runs"


def run(build: Path, variant: str, seed: int | str) -> Path:
    """Return the folder of a trained model."""
    return runs(build) / variant / str(seed)


def runs_of(build: Path, variant: str) -> list[Path]:
    """Return the folders of a variant's runs that are there, sorted by name; of all variants for `*`."""
    return sorted(runs(build).glob(f"{variant}/[0-9]*"))


def merged(build: Path) -> Path:
    """Return the folder of all merged models."""
    return build / "merged"


def votes(build: Path) -> Path:
    """Return the folder of all votes."""
    return build / "votes"


def baselines_of(build: Path, name: str) -> list[Path]:
    """Return the folder of a baseline, if it is there; of all baselines for `*`."""
    return sorted((build / "baselines").glob(f"{name}/[0-9]*"))


def cache(build: Path, kind: Literal["embeddings", "points", "trials"]) -> Path:
    """Return the folder of what is cached of a kind."""
    return build / "cache" / kind


def models(build: Path) -> list[Path]:
    """Return the folders of all trained and merged models, and of baselines with a model, that are there and whole."""
    folders = [file.parent for kind in (runs(build), merged(build)) for file in kind.glob(f"*/*/{METRICS}")]
    folders += [file.parent for file in (build / "baselines").glob(f"*/*/{WEIGHTS}")]
    return [folder for folder in folders if folder.name.isdecimal()]


def folders_of(build: Path, name: str = "*") -> list[Path]:
    """Return the folders of a model's seeds, sorted: of a variant, a merge, a vote or a baseline; of all for `*`."""
    kinds = ("runs", "merged", "votes", "baselines")
    folders = [folder for kind in kinds for folder in (build / kind).glob(f"{name}/[0-9]*")]
    return sorted(folder for folder in folders if folder.parent.name == name or name == "*")


def is_baseline(model: Path) -> bool:
    """Return whether a folder is that of a baseline, which no seed changes."""
    return model.parent.parent.name == "baselines"


def build_of(model: Path) -> Path:
    """Return the build folder of a trained model's folder; where that lies alone, some folder above it."""
    return model.parents[min(2, len(model.parents) - 1)]


def predictions(model: Path, task: str, split: str) -> Path:
    """Return the file of a model's predictions of a task's split."""
    return model / "predictions" / f"{task}-{split}.parquet"


def doubtful(build: Path) -> Path:
    """Return the folder of doubtful labels and near-duplicates."""
    return build / "doubtful"


def speed(build: Path) -> Path:
    """Return the file of times."""
    return build / "speed" / "speed.json"


def results(build: Path) -> Path:
    """Return the folder of the tables of results."""
    return build / "results"


def judged(build: Path) -> Path:
    """Return the folder of the tables of what was judged."""
    return build / "judged"


def report(build: Path) -> Path:
    """Return the folder of the report."""
    return build / "report"


def submissions(build: Path) -> Path:
    """Return the folder of the course's submission files."""
    return build / "submissions"


def logs(build: Path, variant: str, seed: int | str) -> Path:
    """Return the folder that holds the logs of a variant's seed, one for each result."""
    return build / "logs" / variant / str(seed)


def logs_of(build: Path, variant: str) -> list[Path]:
    """Return the log folders of all of a variant's runs, also of those that are not there any more."""
    return sorted((build / "logs" / variant).glob("*/*"))


def log(model: Path) -> Path:
    """Return the log folder of a trained model: build/logs/<variant>/<seed>/<key of its inputs>.

    So a run that DVC restores finds its log again, and never reads that of a run of other inputs.
    """
    return logs(build_of(model), model.parent.name, model.name) / log_key(model)


def log_key(model: Path) -> str:
    """Return the first digits of the SHA-256 of a model's inputs.json; DataError where the model has no seal.

    A run of an earlier version, which has no inputs.json, is known by its seal.
    """
    files.read_as(dict[str, str], model / DIGESTS, "dvc repro")
    made_from = model / INPUTS
    return files.sha256(made_from if made_from.is_file() else model / DIGESTS)[:KEY]


def checkpoint(build: Path, variant: str, seed: int | str) -> Path:
    """Return the folder of a training's checkpoint."""
    return build / "checkpoints" / variant / str(seed)


def lock(build: Path, *names: str) -> Path:
    """Return the file of a lock, such as that of names `pals` and `1`."""
    folder = build.joinpath("locks", *names)
    return folder.with_name(f"{folder.name}.lock")


def outputs(build: Path) -> Path:
    """Return the folder of what trainings print that run side by side."""
    return build / "grid"


def stage(folder: Path) -> str:
    """Return the DVC stage that makes a folder, such as `train@pals-1` for build/runs/pals/1."""
    if folder.parent.name == "encoders":
        return "encoder" if folder.name == "base" else "pretrain"
    training = f"train@{folder.parent.name}-{folder.name}"
    return STAGES.get(folder.name) or STAGES.get(folder.parent.parent.name, training)


def stage_of_input(build: Path, path: str) -> str:
    """Return the DVC stage that makes a file that a manifest names by its path below the build folder."""
    top, name, *_ = Path(path).parts
    return stage(encoder(build, name) if top == "encoders" else build / top)


def remedy(folder: Path) -> str:
    """Return the command that makes a folder, such as `dvc repro train@pals-1`."""
    return f"dvc repro {stage(folder)}"


def read_planned(content_type: type[Content], file: Path) -> Content:
    """Read a file of the plan as a value of that type; DataError where it is missing or damaged."""
    return files.read_as(content_type, file, "dvc repro plan")


def read_plan(file: Path, *keys: str) -> dict[str, Any]:
    """Read a file of the plan that is a mapping; DataError where it is missing or lacks one of these keys."""
    content = read_planned(dict[str, Any], file)
    if lacking := [key for key in keys if key not in content]:
        raise DataError(f"{file} is damaged: it lacks {', '.join(lacking)}; `dvc repro plan` makes it again")
    return content


def read_catalog(build: Path, *keys: str) -> dict[str, Any]:
    """Read the catalog of the plan; DataError as for `read_plan`."""
    return read_plan(plan(build), *keys)


def data_kind(build: Path) -> str:
    """Return whose corpora a build folder was made from, as preprocessing found: `sample`, `course` or `own`."""
    file = data_report(data(build))
    kind = files.read_as(dict[str, Any], file, remedy(data(build))).get("whose") if file.is_file() else None
    return kind if isinstance(kind, str) and kind else "own"

"""The command `mtbert`: each subcommand is a function here.

A function imports what it needs when it is called, so that `mtbert --help` and commands without torch start at once.
typer reads the types; the first paragraph of a docstring is the subcommand's line in `mtbert --help`.
"""

import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, BadParameter, Option

from mtbert.machine import program

ABOUT = """\
Train one BERT for several sentence tasks, compare the ways to do it, and use what was trained.

`make reproduce` trains the variants that params.yaml lists. Then `mtbert predict pals --task sst "What a film!"`
predicts with one of them. `mtbert COMMAND --help` describes each command.

Exit status: 0 for success, 1 for an error (one line on standard error), 2 for wrong usage, 130 for Ctrl-C.
"""
Build = Annotated[Path, Option(help="The build directory in which names are looked up.")]
BuildArgument = Annotated[Path, Argument(help="The build directory.")]
Seed = Annotated[int | None, Option(min=0, help="The seed of the variant's model; else its lowest.")]
Variants = Annotated[str | None, Option(help="Set `variants` in params.yaml first, as 'pals slap-smart' or all.")]
Format = Literal["hf", "sentence-transformers", "onnx"]
Device = Literal["auto", "cpu", "cuda", "mps"]
BUILD, PARAMS = Path("build"), Path("params.yaml")

app = typer.Typer(
    help=ABOUT,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    with program.report_errors():
        app(prog_name="mtbert")


def _version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"mtbert {metadata.version('mtbert')}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


@app.command()
def predict(
    model: Annotated[str, Argument(help="A variant, such as pals, or a run's folder.")],
    sentences: Annotated[list[str] | None, Argument(help="Sentences, or the two of a pair; else use --file.")] = None,
    task: Annotated[str | None, Option(help="The task, such as sst; without it all that take such rows.")] = None,
    file: Annotated[
        Path | None, Option("--file", "-f", help="Read a .csv, .tsv or .jsonl file, or lines; - is standard input.")
    ] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="Write to this file; else to standard output.")] = None,
    seed: Seed = None,
    build: Build = BUILD,
    device: Annotated[Device, Option(help="The device to compute on.")] = "auto",
    encoding: Annotated[str, Option(help="The encoding of the file, such as cp1252.")] = "utf-8",
    at_least: Annotated[
        float | None, Option(min=0, max=1, help="Leave a class empty whose probability is below this, such as 0.9.")
    ] = None,
) -> None:
    """Predict with a trained model: sentences, or a file of them.

    A file needs a column `text`, and `text_pair` for a task of pairs (or the columns of the task's own corpus, such
    as sentence1 and sentence2); all its columns are kept. A plain line is one sentence. The output has the columns of
    the input first.

    \b
    mtbert predict pals "What a film!" "What a bore."
    mtbert predict pals --task sts "A man plays." "Someone plays a guitar."
    mtbert predict pals --task sts --file pairs.csv --out scored.csv
    """
    if bool(sentences) == (file is not None):
        raise BadParameter("pass either sentences or --file")
    if file is None and encoding != "utf-8":
        raise BadParameter("is that of --file", param_hint="--encoding")
    from mtbert.inference import predict

    predict.run(model, file or sentences or [], task, out, seed, build, device, encoding, at_least)


@app.command()
def export(
    model: Annotated[str, Argument(help="A variant's name, or a run's folder.")],
    out: Annotated[Path, Argument(help="The folder to write; it must not exist.")],
    form: Annotated[Format, Option("--format", help="The libraries that are to load it.")] = "hf",
    task: Annotated[
        str | None, Option(help="For sentence-transformers: the task of embeddings where a caller names none.")
    ] = None,
    each: Annotated[bool, Option("--each", help="For onnx: a graph for each task, in place of one for all.")] = False,
    int8: Annotated[bool, Option("--int8", help="For onnx: weights of the encoder in 8 bits.")] = False,
    half: Annotated[bool, Option("--half", help="For onnx and hf: weights in 16 bits.")] = False,
    max_tokens: Annotated[int | None, Option(help="For onnx and hf: cut texts to fewer tokens.")] = None,
    unproved: Annotated[
        bool, Option("--unproved", help="Keep a smaller export that dev is too small to prove as good.")
    ] = False,
    seed: Seed = None,
    build: Build = BUILD,
) -> None:
    """Export a trained model for other libraries to load.

    The folder holds a model card, and is ready for `hf upload`. An export that is made smaller (--int8, --half,
    --max-tokens) predicts dev, and is kept if it is proved to be as good as the full one.
    """
    from mtbert.inference import exporting, loading
    from mtbert.inference.compressing import Compression
    from mtbert.provenance import why

    trained = loading.load_any(model, seed, build, "cpu")
    for note in why.notes([trained.run]):
        _print_aside(note)
    exporting.export(trained, form, out, task, each, Compression(int8, half, max_tokens, unproved))
    print(f"{out} holds {trained.name}, seed {trained.seed}; its README.md shows how to load it")


@app.command()
def serve(
    folder: Annotated[Path, Argument(help="The folder that `mtbert export VARIANT FOLDER --format onnx` wrote.")],
    host: Annotated[str, Option(help="The address to listen at; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8000,
    workers: Annotated[int, Option(min=1, max=64, help="Processes, each with the model in memory.")] = 1,
    threads: Annotated[int, Option(min=1, max=256, help="Threads that compute a batch in each worker.")] = 1,
    batch: Annotated[int, Option(min=1, max=512, help="Most rows of a batch.")] = 32,
    wait: Annotated[float, Option(min=0, max=1000, help="Most milliseconds that a row waits for company.")] = 2.0,
    queue: Annotated[int, Option(min=1, max=100_000, help="Most rows that wait, and of a request.")] = 1024,
    body: Annotated[float, Option(min=0.001, max=1024, help="Most MiB of a request's body.")] = 2.0,
) -> None:
    """Serve an ONNX export over HTTP, with the packages of `make setup-serve` alone: no torch.

    \b
    mtbert export pals out/graphs --format onnx
    mtbert serve out/graphs
    curl -s localhost:8000/predict -d '{"texts": "What a film!"}'

    More: docs/using.md.
    """
    from mtbert.serving import start
    from mtbert.serving.options import Options

    options = Options(folder, threads, batch, wait / 1000, queue, int(body * 2**20))
    start.serve(options, host, port, workers)


@app.command()
def compare(
    ours: Annotated[str, Argument(help="A file, CSV or parquet; with --task also a model's name.")],
    theirs: Annotated[str, Argument(help="The other side, named in the same way.")],
    task: Annotated[str | None, Option(help="The task, such as sst; it sets metric and margin.")] = None,
    metric: Annotated[str | None, Option(help="A metric, such as f1; else that of the task.")] = None,
    margin: Annotated[
        float | None, Option(min=0, help="The smallest difference that matters; 0.01 without a task.")
    ] = None,
    build: Build = BUILD,
) -> None:
    """Test whether one model predicts better than another.

    Each side is a file of predictions on the same rows, with the columns id, label and prediction. With a column seed
    it compares trainings; a baseline needs none. With a column cluster, the rows of a cluster count as one.

    More: docs/comparing.md.
    """
    from mtbert import compare
    from mtbert.provenance import why

    comparison = compare.compare_files(ours, theirs, task, metric, margin, build)
    sides = dict.fromkeys((ours, theirs))
    notes = [note for side in sides for note in why.notes(compare.models(side, task, build))]
    print(compare.as_text(comparison, notes))


@app.command()
def doubtful(build: Build = BUILD) -> None:
    """List the labels to check, and near-duplicates, of each task.

    A label is doubtful if models that did not train on its row contradict it: docs/own.md.
    """
    from mtbert.labelling import run

    run.run(build)


@app.command()
def tune(
    jobs: Annotated[int, Option(min=1, max=64, help="How many trials run at a time.")] = 2,
) -> None:
    """Try three learning rates for each selected variant, all alike; write the best to params.yaml.

    A trial trains with a third of the steps. It is scored on training rows that it does not learn from: docs/own.md.
    """
    from mtbert.trainings import tuning

    tuning.run(jobs, BUILD)


@app.command()
def study(
    folder: Annotated[Path, Argument(help="The folder of your files, such as topic-train.csv and topic-dev.csv.")],
    quick: Annotated[bool, Option("--quick", help="Train one seed of three ways, for a first answer.")] = False,
    seeds: Annotated[int | None, Option(min=1, max=100, help="Seeds of each way, else 3; verdicts need six.")] = None,
    encoder: Annotated[
        str | None, Option(help="The starting weights: a name such as bert-base-uncased, or a folder; else MiniLM.")
    ] = None,
    steps: Annotated[str | None, Option(help="How long models train: 2x is twice as long as usual.")] = None,
    encoding: Annotated[str, Option(help="The encoding of text files, such as cp1252.")] = "utf-8",
    params: Annotated[Path, Option(help="The file of settings.")] = PARAMS,
    curve: Annotated[bool, Option("--curve", help="Train on parts of train: what would more labels bring?")] = False,
    way: Annotated[
        str | None, Option(help="With --curve: a way, such as own-shared, in place of the one that the report keeps.")
    ] = None,
) -> None:
    """Prepare a study of a folder of your own: find out its tasks, and set params.yaml.

    It writes what it understood to FOLDER/tasks.yaml, with a ? where only you know. Then `make reproduce` trains, and
    the report answers: docs/own.md. With --curve alone, a study that is prepared stays as it is.
    """
    if way and not curve:
        raise BadParameter("it needs --curve", param_hint="--way")
    if quick and seeds not in (None, 1):
        raise BadParameter(f"is one seed of three ways, and --seeds says {seeds}; leave one out", param_hint="--quick")
    if curve and params.resolve() != PARAMS.resolve():
        raise BadParameter(f"trains with {PARAMS} of this folder; go to that of {params}", param_hint="--curve")
    from mtbert.study import run, selecting

    multiple = None if steps is None else selecting.times(steps)
    options = selecting.StudyOptions(quick, selecting.SEEDS if seeds is None else seeds, encoder, multiple)
    is_plain = options == selecting.StudyOptions() and encoding == "utf-8"
    if not (curve and is_plain and selecting.is_prepared(params, folder)):
        run.run(folder, options, encoding, params)
    if not curve:
        return
    from mtbert.study import curves, parts

    build = params.parent / BUILD
    curves.run(folder, build)
    curve_of_way = parts.select(params, folder, build, way)
    if curve_of_way is not None:
        from mtbert.trainings import grid

        grid.train(curve_of_way.names)
        curves.run_trained(curve_of_way, build)


@app.command()
def grid(
    jobs: Annotated[
        int | None, Option(min=1, help="Trainings at a time: 2, or what GPUs or a cluster have room for.")
    ] = None,
    variants: Variants = None,
    address: Annotated[str | None, Option(help="The address of a running Ray cluster, such as 10.0.0.1:6379.")] = None,
    gpus: Annotated[
        float | None, Option(min=0, max=1, help="On a cluster: the part of a GPU for each training, as 0.25.")
    ] = None,
    storage: Annotated[str | None, Option(help="A folder that all nodes share, for checkpoints.")] = None,
) -> None:
    """Train what params.yaml lists, several trainings at a time.

    They run on this machine, or on a cluster.
    """
    from mtbert.trainings import grid

    grid.run(jobs, variants, address, gpus, storage)


@app.command()
def pack(
    out: Annotated[Path, Argument(help="The pack to write, a tar file.")],
    variants: Variants = None,
) -> None:
    """Write trainings to one file, for a machine without DVC.

    It packs the trainings that are not up to date: docs/machines.md.
    """
    from mtbert.trainings import packs

    packs.pack(out, variants)


@app.command()
def unpack(archive: Annotated[Path, Argument(help="An archive of runs, made from a pack.")]) -> None:
    """Bring the finished runs of a pack back, and record them in DVC.

    The runs are checked first. `dvc repro` then trains none of them again.
    """
    from mtbert.trainings import packs

    packs.unpack(archive)


@app.command()
def variants(params: Annotated[Path, Argument(help="The file of settings.")] = PARAMS) -> None:
    """List the variants of the papers and your own; a star marks those that params.yaml trains."""
    from mtbert.config import papers
    from mtbert.config.params import Params

    settings = Params(params)
    published = papers.load()
    selected = settings.get("variants")
    for name, entry in settings.get("catalog").items():
        paper, row = (entry.get(key, "") if isinstance(entry, dict) else "" for key in ("paper", "row"))
        title = published[paper].title if paper in published else paper
        print(f"{'*' if name in selected else ' '} {name:26} {title:24} {row}")


@app.command()
def why(variant: Annotated[str, Argument(help="A variant that params.yaml selects.")], build: Build = BUILD) -> None:
    """Say in what a variant's inputs differ from its last run's.

    Inputs are its settings, data, starting weights and code, and the machine, as `dvc repro manifest` last found them.
    """
    from mtbert.provenance import why

    print(why.explain(build, variant))


@app.command()
def tables(build: BuildArgument = BUILD) -> None:
    """Print the tables that have results, and what to do next."""
    from mtbert import layout
    from mtbert.judge import plan_of
    from mtbert.judge import tables as judged
    from mtbert.report import terminal
    from mtbert.scores import outdated, tables

    plan = plan_of(layout.read_catalog(build, "seeds"))
    judgement = judged.read(layout.judged(build), tables.read(layout.results(build)), plan)
    _print_aside(outdated.of_tables(build))
    print(terminal.in_short(judgement, layout.report(build) / "index.html"))


@app.command()
def report(
    build: BuildArgument = BUILD,
    evidence: Annotated[
        Path | None, Option(help="Report from this folder alone, such as reports/laptop/evidence.")
    ] = None,
    out: Annotated[
        Path | None, Option(help="The folder to write; else BUILD/report, or the one that holds the evidence.")
    ] = None,
    third: Annotated[
        Path | None, Option(help="The evidence of a third of the budget; else the folder `third` beside.")
    ] = None,
) -> None:
    """Write the report from the finished runs; train nothing."""
    from mtbert import layout
    from mtbert.judge import NO_PLAN, plan_of
    from mtbert.machine import locking
    from mtbert.provenance import seals
    from mtbert.replication import replicate, submissions
    from mtbert.replication import report as reports
    from mtbert.replication import tables as judged
    from mtbert.report import write
    from mtbert.scores import collect, ensembles, outdated, tables

    if evidence is not None:
        _check_evidence(build, evidence, out)
    folder = out or (evidence.resolve().parent if evidence else layout.report(build))
    if evidence is not None and third is None:
        folder_of_third = evidence.resolve().with_name(write.THIRD)
        third = folder_of_third if folder_of_third.is_dir() else None
    with locking.exclusive(_lock_of_report(build, folder, evidence), "report"):
        if evidence is None:
            seals.check_build(build)
            _print_aside(outdated.in_words(outdated.of_build(build)))
            ensembles.vote_all(build, layout.votes(build))
            tables.write(collect.collect(build), layout.results(build))
        results = tables.read(evidence or layout.results(build))
        plan = NO_PLAN if evidence else plan_of(layout.read_catalog(build, "seeds"))
        replication = replicate(results, third and tables.read(third), plan)
        if evidence is None:
            judged.write(replication, layout.judged(build))
            submissions.write(results, layout.submissions(build))
        print(reports.write(replication, folder, None if evidence else build))


def _lock_of_report(build: Path, folder: Path, evidence: Path | None) -> Path:
    """Return the file of the lock of a report: that of the build folder; of evidence, which has none, a hidden one."""
    from mtbert import files, layout

    out = folder.resolve()
    return layout.lock(build, "report") if evidence is None else out.with_name(f".{out.name}.lock{files.PARTIAL}")


def _print_aside(text: str) -> None:
    """Print what is no result, to standard error."""
    if text:
        print(f"note: {text}", file=sys.stderr)


def _check_evidence(build: Path, evidence: Path, out: Path | None) -> None:
    """Raise BadParameter where a report from evidence has no folder to go to, or a build directory that it ignores."""
    from mtbert.report import write

    if out is None and evidence.resolve().name != write.EVIDENCE:
        raise BadParameter(f"is needed, since {evidence} is not called evidence", param_hint="--out")
    if build != BUILD:
        raise BadParameter(f"makes a report without {build}; give one of the two", param_hint="--evidence")


@app.command()
def evidence(
    out: Annotated[Path, Option(help="The folder to write.")],
    sources: Annotated[
        list[Path] | None, Argument(help="Build directories, and folders of evidence; else `build`.")
    ] = None,
) -> None:
    """Write the results of all sources to one folder of tables.

    The tables are small enough to commit, and hold no sentence.
    """
    from mtbert.scores import evidence, outdated

    for source in sources or [BUILD]:
        _print_aside(outdated.of_tables(source))
    evidence.write(evidence.merged(sources or [BUILD]), out)


@app.command()
def track(build: BuildArgument = BUILD) -> None:
    """Log to MLflow the finished runs that it does not have yet."""
    from mtbert import tracking

    print(tracking.sync_runs(build))


@app.command()
def mlflow(
    build: BuildArgument = BUILD,
    port: Annotated[int, Option(min=1, max=65535, help="The port of this machine at which the pages are.")] = 5000,
) -> None:
    """Show the runs in a browser, at the address that is printed."""
    from mtbert.tracking import server
    from mtbert.trainings import many

    many.end_with_parent()
    server.serve(build, port)

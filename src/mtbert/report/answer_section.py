"""What a report begins with for any tasks: which way to keep, in words, and a row for each way that was trained."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mtbert.judge import SEEDS, STUDY, Answer, Comparison, Confirmation, Plan, Row, Verdict
from mtbert.report import markdown, paper_tables, training_section
from mtbert.report.pictures import costs as picture_of_costs
from mtbert.report.pictures import ways as picture_of_ways
from mtbert.report.verdicts import in_words, of_ways
from mtbert.scores.columns import COSTS
from mtbert.scores.described import BASELINES, MAJORITY
from mtbert.scores.schemas import Costs
from mtbert.tasks import are_the_courses, number_of_folds

MOST_NAMED = 3  # ways in a sentence
ABOUT = (
    "Dev scores: the mean over seeds, in brackets its 95 % interval over seeds and rows (over rows only, if there are "
    "fewer than three seeds). A verdict needs six seeds of each side (docs/verdicts.md). *As good*: proved to differ "
    "by less than {margin:g}. *Better*, *worse*: proved to differ by more. *By how much is open*: the interval "
    "leaves out 0, but they may differ by less. *Too close to call*: none of these."
)
OF_FOLDS = (
    "Each row of {tasks} is predicted by a model that did not see it ({folds} folds); scores are of all rows together, "
    "and a repeat of {folds} seeds is enough for a verdict."
)
DIFFERENCE = "difference to one model per task"  # a column
TRAINED = "trained well enough"  # a column
WEIGHTS, SECONDS = "weights to keep", "to train"  # columns
ONE, BATCH, REQUESTS, LOADED, PRICE = (
    "ms a text",
    "ms of 32",
    "requests a second",
    "MB to load",
    "1,000 rows",
)  # columns
LEGEND = {
    WEIGHTS: "*Weights to keep*, in millions, are those that have to be stored beside the encoder that all start from.",
    SECONDS: "*To train*: one seed, of all models that make the way.",
    ONE: (
        "*ms a text*: from one text to the answers of all tasks, plus from one pair if tasks have pairs. Models of "
        "single tasks run one after the other. All ways took turns on texts of dev, in one process."
    ),
    BATCH: "*ms of 32*: ms a text in batches of 32.",
    REQUESTS: "*Requests a second*: one after the other.",
    LOADED: "*MB to load*: the files of all of its models.",
    PRICE: "*1,000 rows*: the price that others say.",
}
OVER = {
    "milliseconds": "takes {:.3g} ms a text (limit {:g})",
    "megabytes": "has {:.3g} MB to load (limit {:g})",
}  # by the name of a limit
CONFIRMED = (
    "**One look at test**, after dev has chosen: scores (the mean over seeds, with its 95 % interval), and differences "
    "by the rule above."
)


def render(answer: Answer, folder: Path, confirmation: Confirmation | None = None) -> str:
    """Draw the picture into a report's folder; return sentences, picture and rows as Markdown."""
    lines = _without_empty_columns([*_lines(answer)])
    parts = [
        " ".join([*headlines(answer, confirmation), *sentences(answer)]),
        picture_of_ways.render(answer, folder),
        picture_of_costs.render(answer, folder),
        markdown.lined(lines),
        _about(answer, lines),
        confirmed(answer, confirmation),
    ]
    return "\n\n".join(filter(None, parts))


def _without_empty_columns(lines: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the lines without the columns that have a value in none, such as times that nobody measured."""
    nothing = {"", markdown.DASH}
    kept = [column for column in lines[0] if any(line[column] not in nothing for line in lines)]
    return [{column: line[column] for column in kept} for line in lines]


def _about(answer: Answer, lines: Sequence[Mapping[str, str]]) -> str:
    """Return what to know of the lines and their columns."""
    tasks = answer.results.tasks
    texts = [
        ABOUT.format(margin=answer.margin),
        *_of_folds(answer),
        *(text for column, text in LEGEND.items() if column in lines[0]),
    ]
    if answer.majority:
        texts.append(f"*{BASELINES[MAJORITY]}*: always the class that most training rows have.")
    if not are_the_courses(tasks):
        texts.append(paper_tables.of_others(tasks))
    if of_others := [_named(way.label) for way in (*answer.ways, *answer.incomplete) if way.is_of_others]:
        names = ", ".join(of_others)
        texts.append(f"Others made the predictions of {names}: their weights are not known, and times are as they say.")
    if answer.unequal:
        labels = ", ".join(_named(way.label) for way in answer.unequal)
        texts.append(f"Trained on more or fewer examples of a task than one model per task: {labels}.")
    return " ".join(texts)


def sentences(answer: Answer) -> Iterator[str]:
    """Yield what is proved, the way to keep first, and what is missing if nothing is."""
    yield _undecided(answer) if answer.kept is None else _kept(answer, answer.kept)
    yield from _over_limit(answer)
    yield from _of_others(answer)
    yield from _proved(answer)
    yield from _costs(answer)
    yield from _rates(answer)


def _of_folds(answer: Answer) -> Iterator[str]:
    """Yield how tasks with folds are scored, where there are some."""
    tasks = answer.results.tasks
    with_folds = [task.display_name for task in tasks.values() if task.folds]
    if with_folds:
        yield OF_FOLDS.format(tasks=", ".join(map(markdown.literal, with_folds)), folds=number_of_folds(tasks))


def headlines(answer: Answer, confirmation: Confirmation | None) -> Iterator[str]:
    """Yield what has to be read before the answer: that it is not the last one, and where test contradicts it."""
    if answer.is_interim:
        yield f"**Interim: {answer.seeds} of {answer.plan.seeds} seeds.**"
    if confirmation is None:
        return
    for pair in confirmation.disagreements:
        ours, other = (_named(row.label) for row in (answer.kept or answer.best, confirmation.other(pair[0])))
        dev, test = (markdown.estimate(comparison.difference, "+") for comparison in pair)
        metric = markdown.heading(pair[0].metric, answer.results.tasks)
        yield f"**Dev and test disagree**: {ours} less {other} ({metric}) is {dev} on dev and {test} on test."


def _rates(answer: Answer) -> Iterator[str]:
    """Yield whether learning rates were tried, where that is known."""
    trials = answer.plan.trials
    if trials is None or STUDY not in answer.results.by_paper:
        return
    if not trials:
        yield "Each way has its default learning rates."
        return
    names = [name for way in answer.ways if not way.is_baseline for name in answer.results.trained_for(way.names)]
    missing = [name for name in dict.fromkeys(names) if name not in trials]
    defaults = f"; default rates: {', '.join(f'`{name}`' for name in missing)}" if missing else ""
    yield f"Learning rates were tuned, with equally many trials of each model{defaults}."


def trials(plan: Plan) -> str:
    """Return the learning rates that were tried as Markdown; empty for none."""
    lines = [
        {
            "model": f"`{name}`",
            "times its default rates": f"{trial['factor']:.2g}",
            "score on spared training rows": _score(trial["score"]),
            "cost": _time(trial["seconds"]),
        }
        for name, of_model in (plan.trials or {}).items()
        for trial in of_model
    ]
    return markdown.lined(lines)


def _score(score: float | None) -> str:
    return "diverged" if score is None else markdown.number(score)


def confirmed(answer: Answer, confirmation: Confirmation | None) -> str:
    """Return what test says of the answer as Markdown; empty without a look at it."""
    if confirmation is None:
        return ""
    tasks = answer.results.tasks
    lines: list[dict[str, str]] = []
    for row in confirmation.rows:
        metrics = [metric for metric in (answer.metric, *answer.tasks) if metric in row.scores]
        cells = {"on test": markdown.literal(row.label)}
        cells |= {markdown.heading(metric, tasks): markdown.estimate(row.scores[metric]) for metric in metrics}
        lines.append(cells)
    ours = confirmation.rows[0]
    for comparison in confirmation.on_test:
        metric = markdown.heading(comparison.metric, tasks)
        cells = dict.fromkeys(lines[0], "")
        cells["on test"] = (
            f"{markdown.literal(ours.label)} less {markdown.literal(confirmation.other(comparison).label)}"
        )
        cells[metric] = f"{markdown.estimate(comparison.difference, '+')}: {_verdict(comparison)}"
        lines.append(cells)
    return f"{CONFIRMED}\n\n{markdown.lined(lines)}"


def _kept(answer: Answer, kept: Row) -> str:
    """Return which way to keep, and why."""
    best, margin = answer.best, f"{answer.margin:g}"
    if kept is not best:
        proved = f"proved to be less than {margin} below {_named(best.label)}, which has {_highest(answer)}"
        but = ", but is not trained well enough" if not best.is_trained_enough else ""
        return f"**Keep {_named(kept.label)}**: {proved}{but}. {_share(kept, answer.single_task or best)}"
    if len(answer.candidates) == 1 < len(answer.good_enough):
        return f"**Keep {_named(kept.label)}**: no other way that is trained well enough is within the limit."
    which = _which_may_be_kept(answer)
    others = f"each way{which} with fewer weights is proved to be worse by {margin} or more"
    if best.weights["stored"] == min(way.weights["stored"] for way in answer.candidates):
        others = f"no way{which} has fewer weights"
    return f"**Keep {_named(best.label)}**: it has {_highest(answer)}, and {others}."


def _which_may_be_kept(answer: Answer) -> str:
    """Return what sets the ways that may be kept apart from the others; empty where that are all."""
    conditions: list[str] = []
    if not all(way.is_trained_enough for way in answer.ways):
        conditions.append("is trained well enough")
    if any(answer.over_limit(way) for way in answer.good_enough):
        conditions.append("is within the limit")
    return f" that {' and '.join(conditions)}" if conditions else ""


def _highest(answer: Answer) -> str:
    """Return among which ways the best one leads: all, or those that may be kept."""
    if answer.best is answer.ways[0]:
        return "the highest mean"
    here = [way for way in answer.ways if not way.is_of_others]
    if answer.best is here[0]:
        return "the highest mean of the ways here, without predictions of others"
    return "the highest mean of the ways within the limit"


def _share(way: Row, whole: Row) -> str:
    return f"It stores {_percent(way, whole)} of the weights of {_named(whole.label)}."


def _percent(way: Row, whole: Row) -> str:
    """Return which share of another way's weights a way stores."""
    percent = 100 * way.weights["stored"] / whole.weights["stored"]
    return f"{percent:.0f} %" if percent >= 1 else "less than 1 %"


def _undecided(answer: Answer) -> str:
    """Return how far the ways are apart, and what is missing for a decision."""
    choice, best = answer.choice, answer.best
    if choice is None:
        return _too_few(answer)
    if not best.is_trained_enough:
        return _not_trained(answer, choice.runner_up)
    highest = f"**Nothing is decided**: {_best_of_these(answer)}"
    if choice.runner_up is None or choice.against is None:
        return " ".join([f"{highest}, and no way has fewer weights.", *_missing(answer)])
    runner_up = choice.runner_up
    share = f"{_percent(runner_up, best)} of its weights"
    lower_by = markdown.number(choice.against.difference and -choice.against.difference.mean)
    smaller = f"the best with fewer weights, {_named(runner_up.label)} ({share}), is {lower_by} lower"
    return " ".join([f"{highest}; {smaller}.", *_missing(answer)])


def _best_of_these(answer: Answer) -> str:
    """Return which way leads; other tables of the report may have higher means of models that are no ways."""
    return f"of these {markdown.count(len(answer.ways))}, {_named(answer.best.label)} has {_highest(answer)}"


def _not_trained(answer: Answer, runner_up: Row | None) -> str:
    """Return that the best way may not be kept, and how far the best of those that may is below it."""
    best = f"{_best_of_these(answer)}, but is not trained well enough"
    text = f"**Nothing is recommended**: {best}"
    if runner_up is None:
        return f"{text}."
    lower = markdown.number(answer.best.scores[answer.metric].mean - runner_up.scores[answer.metric].mean)
    return f"{text}; the best way{_which_may_be_kept(answer)}, {_named(runner_up.label)}, is {lower} lower."


def _over_limit(answer: Answer) -> Iterator[str]:
    """Yield which ways the limit leaves out, and why."""
    if answer.plan.limit and not answer.limit:
        yield "The limit is not applied: nobody has measured yet what the ways cost to run."
    faults: list[str] = []
    for way in answer.good_enough:
        for name in answer.over_limit(way):
            cost = way.costs.get(name)
            fault = "was not measured" if cost is None else OVER[name].format(cost, answer.limit[name])
            faults.append(f"{_named(way.label)} {fault}")
    if faults:
        yield f"Over the limit: {_listed(faults)}."


def _too_few(answer: Answer) -> str:
    """Return what may be said where fewer than two ways are trained well enough."""
    if not answer.candidates and answer.good_enough:
        return "**Nothing is recommended**: no way that is trained well enough is within the limit."
    if not answer.candidates:
        return "**Nothing is recommended**: no way is trained well enough."
    return f"**Nothing is decided**: {_named(answer.best.label)} alone is trained well enough to compare."


def _missing(answer: Answer) -> Iterator[str]:
    """Yield what would decide."""
    choice = answer.choice
    if choice is None:
        return
    against = choice.against
    if choice.lacks_seeds:
        there = "is 1" if choice.seeds == 1 else f"are {choice.seeds}"
        can_be_asked = STUDY in answer.results.by_paper and not answer.is_interim
        command = f": `mtbert study FOLDER --seeds {SEEDS}`" if can_be_asked else ""
        yield f"A verdict needs {SEEDS} seeds of each way; there {there}{command}."
    elif against and not against.is_judged:
        yield f"The two are {in_words(against.verdict, against.reason)}."
    if choice.sample_size:
        seeds = f"{choice.sample_size.seeds} seeds on " if choice.sample_size.seeds else ""
        yield f"If the two are equal, {seeds}{choice.sample_size.rows:,} rows of dev prove it four times of five."
    elif not choice.lacks_seeds and (against is None or against.is_judged):
        yield "No number of seeds up to 30 would decide, nor ten times the rows of dev."


def _of_others(answer: Answer) -> Iterator[str]:
    """Yield which predictions of others have a higher mean than the best way here."""
    best = answer.best.scores[answer.metric].mean
    gains = {way.label: way.scores[answer.metric].mean - best for way in answer.ways if way.is_of_others}
    if higher := [f"{_named(label)} ({markdown.number(gain, '+')})" for label, gain in gains.items() if gain > 0]:
        yield f"Predictions of others have a higher mean: {_listed(higher)}."


def _proved(answer: Answer) -> Iterator[str]:
    """Yield which ways are proved to be better, and which worse, than one model per task."""
    named: dict[str, list[str]] = {"better": [], "worse": []}
    for label, comparison in answer.against_single_task_by_label.items():
        if comparison.verdict is Verdict.FAILS and comparison.difference:
            named[of_ways(comparison)].append(f"{_named(label)} ({markdown.number(comparison.difference.mean, '+')})")
    for which, ways in named.items():
        if ways:
            yield f"Proved to be {which} than one model per task: {_listed(ways)}."


def _costs(answer: Answer) -> Iterator[str]:
    """Yield the tasks that the way to keep is proved to cost or to help."""
    for comparison in answer.by_task:
        if comparison.verdict is Verdict.FAILS and comparison.difference:
            mean = comparison.difference.mean
            effect = "costs" if mean < 0 else "helps"
            yield f"It {effect} {_title(answer, comparison.metric)} {markdown.number(abs(mean))}."


def _title(answer: Answer, task: str) -> str:
    return markdown.literal(answer.results.tasks[task].display_name)


def _named(label: str) -> str:
    return f"*{markdown.literal(label)}*"


def _listed(named: Sequence[str]) -> str:
    more = len(named) - MOST_NAMED
    return ", ".join(named[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _lines(answer: Answer) -> Iterator[dict[str, str]]:
    """Yield a line for each way, and for the majority class and the untrained encoder if they have scores."""
    for way in answer.ways:
        yield _way_line(answer, way)
    if answer.majority:
        yield _baseline_line(
            answer, BASELINES[MAJORITY], {task: markdown.number(score) for task, score in answer.majority.items()}
        )
    for row in answer.incomplete:
        scores = {task: markdown.estimate(row.scores[task]) for task in answer.tasks if task in row.scores}
        yield _baseline_line(answer, markdown.literal(row.label), scores) | _cost_cells(answer, row)
    untrained = answer.untrained
    if untrained is not None and not untrained.scores.keys().isdisjoint(answer.tasks):
        scores = {metric: markdown.estimate(score) for metric, score in untrained.scores.items()}
        yield _baseline_line(answer, untrained.label, scores)


def _way_line(answer: Answer, way: Row) -> dict[str, str]:
    comparison = answer.against_single_task_by_label.get(way.label)
    return {
        "way": markdown.literal(way.label),
        "mean": markdown.estimate(way.scores[answer.metric]),
        **{_title(answer, task): markdown.estimate(way.scores[task]) for task in answer.tasks},
        DIFFERENCE: markdown.estimate(comparison.difference if comparison else None, "+"),
        "verdict": _verdict(comparison) if comparison else markdown.DASH,
        TRAINED: training_section.cell(way, answer.results.tasks),
        WEIGHTS: markdown.number(way.weights["stored"] / 1e6, decimals=2),
        SECONDS: _time(way.seconds),
        **_cost_cells(answer, way),
    }


def _cost_cells(answer: Answer, way: Row) -> dict[str, str]:
    """Return what it costs to run a way; a price is known only where others say it."""
    one, of_32, megabytes = (way.costs.get(name) for name in COSTS)
    return {
        ONE: markdown.DASH if one is None else f"{one:.1f}",
        BATCH: markdown.DASH if of_32 is None else f"{of_32:.1f}",
        REQUESTS: f"{1000 / one:,.0f}" if one else markdown.DASH,
        LOADED: markdown.DASH if megabytes is None else f"{megabytes:,.1f}",
        PRICE: _price(answer.results.costs.get(way.names[0])),
    }


def _price(costs: Costs | None) -> str:
    if costs is None or costs.price is None:
        return markdown.DASH
    return f"{costs.price:g} {markdown.literal(costs.currency)}".strip()


def _baseline_line(answer: Answer, label: str, scores: Mapping[str, str]) -> dict[str, str]:
    return {
        "way": label,
        "mean": "",
        **{_title(answer, task): scores.get(task, markdown.DASH) for task in answer.tasks},
        **dict.fromkeys((DIFFERENCE, "verdict", TRAINED, *LEGEND), ""),
    }


def _verdict(comparison: Comparison) -> str:
    """Return what is proved of a way against another, in a word, or why nothing is."""
    if comparison.reason == "seeds" and comparison.difference:
        return f"open: {comparison.difference.fewest_seeds} of {SEEDS} seeds"
    return of_ways(comparison)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return markdown.DASH
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"

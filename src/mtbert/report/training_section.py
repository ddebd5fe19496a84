"""Whether the models are trained well enough to be compared, in words: the report's first sentence, and a section."""

from collections.abc import Iterator, Mapping, Sequence

from mtbert.judge import STUDY, Judgement, MayGain, Row
from mtbert.judge.rows import rank
from mtbert.judge.training_check import AHEAD, LEAST_FALL, LOWEST, TAIL
from mtbert.report import markdown
from mtbert.scores.described import MAJORITY, TFIDF, UNTRAINED
from mtbert.scores.results import Results
from mtbert.tasks import Tasks

TITLE = "Trained well enough?"
EPOCHS = "training.epochs="  # how a changed setting begins
MOST_NAMED = 6  # rows in a sentence; of more it says how many
SHORT = {
    MAJORITY: "not significantly above a constant",
    TFIDF: "below TF-IDF",
    UNTRAINED: "below the untrained encoder",
    MayGain.LOSS_FALLS: "loss still falls",
    MayGain.LAST_EPOCH: "best epoch is the last",
}
LONG = SHORT | {MAJORITY: "not significantly better than a constant prediction"}
ABOUT = (
    "*No*: on one of its tasks, a row's mean dev score is not significantly above a constant prediction, or is below "
    "the untrained encoder or TF-IDF by the task's margin or more. The constant is the majority class (for a "
    "correlation, 0), and the 95 % interval of the difference over seeds and rows decides. Such a row is never "
    "recommended. Its differences stay in the tables, but nobody would keep its models. *May gain*: the best of "
    "several epochs is the last; or the training loss still falls: its significant slope over the last "
    f"{100 * TAIL:.0f} % of the steps would lower it by more than {100 * LEAST_FALL:.0f} % of its mean in another "
    f"{100 * AHEAD:.0f} % of the training. The loss does not count if an earlier epoch is the best. A learning "
    "rate that decays to 0 flattens the end of the curve."
)


def rows(judgement: Judgement) -> list[Row]:
    """Return every way and every other row of models; no baseline, and no part of a way."""
    every_way = [] if judgement.answer is None else judgement.answer.ways
    ways = [way for way in every_way if not way.is_baseline]
    models_of_ways = {name for way in ways for name in way.names}
    others = [row for row in judgement.rows if not models_of_ways.issuperset(row.names)]
    return [*ways, *sorted(others, key=lambda row: rank(row, judgement.results.tasks))]


def headline(results: Results, checked: Sequence[Row]) -> str:
    """Return which rows are not trained well enough, or that all may gain; empty where neither is so."""
    failing = [row for row in checked if not row.is_trained_enough]
    longer = _longer(results, checked)
    if failing:
        facts = "; ".join(_facts(checked, results.tasks))
        if len(failing) == len(checked):
            return f"**These models are not trained well enough to compare**: {facts}. {longer}"
        some = f"**{len(failing)} of {len(checked)} rows are not trained well enough to compare**"
        return f"{some}: {facts}. None of them is recommended. {longer}"
    if checked and all(row.may_gain for row in checked):
        reasons = {reason for row in checked for of_task in row.may_gain.values() for reason in of_task}
        why = " or ".join(_REASONS[reason] for reason in MayGain if reason in reasons)
        return f"**All of these models may gain from longer training**: {why}. {longer}"
    return ""


def _longer(results: Results, checked: Sequence[Row]) -> str:
    """Return how to train longer: of a study, with as many seeds as there are; of one that does so, by its epochs."""
    if STUDY not in results.by_paper:
        return "Train longer (`training.epochs`), or at another rate (`training.learning_rate`)."
    changes = "; ".join(results.trained["overrides"].dropna()).split("; ")
    if epochs := [change.removeprefix(EPOCHS) for change in changes if change.startswith(EPOCHS)]:
        return f"Train longer: `training.epochs` in params.yaml is {epochs[0]} now."
    seeds = max((len(row.seeds) for row in checked), default=1)
    size = "--quick" if seeds <= 1 else f"--seeds {seeds}"
    return f"Train longer: `mtbert study FOLDER {size} --steps 2x`."


_REASONS = {
    MayGain.LOSS_FALLS: "their training loss still falls at the end",
    MayGain.LAST_EPOCH: "their best epoch is the last one",
}


def _facts(checked: Sequence[Row], tasks: Tasks) -> Iterator[str]:
    """Yield such as `on intent and topic all are below TF-IDF`, tasks of one fact together."""
    titles_by_fact: dict[str, list[str]] = {}
    for name, task in tasks.items():
        labels_by_fault = {fault: [row.label for row in checked if fault in row.below.get(name, ())]
                           for fault in LOWEST}  # fmt: skip
        said = [f"{_who(labels, len(checked))} {LONG[fault]}" for fault, labels in _distinct(labels_by_fault).items()]
        if said:
            titles_by_fact.setdefault(" and ".join(said), []).append(markdown.literal(task.display_name))
    for fact, titles in titles_by_fact.items():
        yield f"on {' and '.join(titles)} {fact}"


def _distinct(labels_by_fault: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the faults without those whose rows another one, said before or of more rows, has as well.

    That a row is not significantly above a constant is always said.
    """
    distinct: dict[str, list[str]] = {}
    by_size = sorted(labels_by_fault.items(), key=lambda item: -len(item[1]))
    for fault, labels in by_size:
        is_said = any({*labels} <= {*other} for other in distinct.values())
        if labels and (fault == MAJORITY or not is_said):
            distinct[fault] = labels
    return distinct


def _who(labels: Sequence[str], count: int) -> str:
    if len(labels) == count:
        return "all are"
    if len(labels) > MOST_NAMED:
        return f"{len(labels)} rows are"
    named = ", ".join(f"*{markdown.literal(label)}*" for label in labels)
    return f"{named} {'is' if len(labels) == 1 else 'are'}"


def cell(row: Row, tasks: Tasks) -> str:
    """Return what a line of a table says of a row: why it fails, else why it may gain; empty for neither."""
    if row.below:
        return f"no: {reasons(row.below, tasks)}"
    return f"may gain: {reasons(row.may_gain, tasks)}" if row.may_gain else ""


def reasons(by_task: Mapping[str, Sequence[str]], tasks: Tasks) -> str:
    """Return such as `below TF-IDF (intent, irony); not significantly above a constant (irony)`."""
    titles_by_reason: dict[str, list[str]] = {}
    for task, task_reasons in by_task.items():
        for reason in task_reasons:
            titles_by_reason.setdefault(reason, []).append(markdown.literal(tasks[task].display_name))
    return "; ".join(f"{SHORT[reason]} ({', '.join(titles)})" for reason, titles in titles_by_reason.items())


def render(results: Results, checked: Sequence[Row]) -> str:
    """Return the rule and a line for each row that fails or may gain as Markdown; empty for none."""
    tasks = results.tasks
    lines = [
        {"row": markdown.literal(row.label), "trained well enough": cell(row, tasks)}
        for row in sorted(checked, key=lambda row: row.is_trained_enough)
        if row.below or row.may_gain
    ]
    return f"{ABOUT}\n\n{markdown.lined(lines, 2)}" if lines else ""

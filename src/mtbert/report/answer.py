"""What a report begins with for any tasks: which way to keep, and a row for each way that was trained.

What is proved comes of `mtbert.claims.ways`; here it is put into words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from mtbert import claims
from mtbert.claims import SEEDS, Reason, Verdict, ways
from mtbert.claims.ways import Case, Choice, Comparison
from mtbert.report import markdown, paper_tables
from mtbert.report.claims import WORDS
from mtbert.report.pictures import drawing
from mtbert.report.study import RIVALS, Group, Study
from mtbert.results import metrics
from mtbert.results.tables import OWN
from mtbert.tasks import are_the_courses, main

STUDY = "own"  # the paper of the ways to train one's own tasks
PICTURE = "answer"
UNEQUAL = 0.05  # by which examples of a task may differ before it is said
MOST_NAMED = 3  # ways in a sentence
ABOUT = (
    "Dev scores: the mean over seeds, in brackets its 95 % interval. *Weights to keep*, in millions, are those that "
    "have to be stored beside the encoder that all start from. *To train*: one seed, of all models that make the way. "
    "*A prediction*: one row at a time, all ways measured one after the other on one machine. A verdict needs six "
    "seeds of each side (docs/verdicts.md)."
)
DIFFERENCE = "less one model a task"  # a column


@dataclass(frozen=True)
class Way:
    """A way to train all tasks: one model, or one for each.

    Attributes:
        label: its name in the report.
        group: its models and their scores.
        seconds: to train all of its models, one seed; None where nobody knows.
        milliseconds: of a prediction; None where it was not measured.
    """

    label: str
    group: Group
    seconds: float | None
    milliseconds: float | None

    @property
    def weights(self) -> float:
        """How many have to be kept."""
        return self.group.weights["stored"]


class Answer:
    """The ways of a study, the best first, and what is proved of them.

    Attributes:
        study: the study.
        ways: at least two.
        baseline: the way of one model a task; None where it was not trained.
        metric: the mean over tasks.
        margin: the smallest difference of it that matters: the largest of the tasks'.
    """

    def __init__(self, study: Study, found: Sequence[Way]) -> None:
        self.study = study
        self.tasks = [*main(study.results.tasks)]
        self.metric = metrics.means(study.results.tasks)[0]
        self.margin = claims.margins(study.results.tasks)[self.metric]
        self.ways = sorted(found, key=lambda way: -way.group.means[self.metric].mean)
        self.baseline = next((way for way in found if len(way.group.names) == len(self.tasks) > 1), None)
        self.evidence = claims.of_results(study.results)

    @cached_property
    def against(self) -> dict[str, Comparison]:
        """Each way against one model a task, by label."""
        if self.baseline is None:
            return {}
        others = [way for way in self.ways if way is not self.baseline]
        one = self.baseline.group.names
        judged = ways.judge(self.evidence, [Case(way.group.names, one, self.metric, self.margin) for way in others])
        return {way.label: comparison for way, comparison in zip(others, judged, strict=True)}

    @cached_property
    def choice(self) -> Choice:
        """What to keep."""
        names = [way.group.names for way in self.ways]
        means = [way.group.means[self.metric].mean for way in self.ways]
        costs = [way.weights for way in self.ways]
        return ways.choose(self.evidence, names, means, costs, self.metric, self.margin)

    @property
    def shown(self) -> Way:
        """The way that the report shows more of: the one to keep, else the best."""
        return self.ways[self.choice.best if self.choice.kept is None else self.choice.kept]

    @cached_property
    def by_task(self) -> dict[str, Comparison]:
        """What the way to keep costs each task against one model a task; nothing where either is missing."""
        if self.baseline is None or self.choice.kept is None or self.shown is self.baseline:
            return {}
        sides = self.shown.group.names, self.baseline.group.names
        cases = [Case(*sides, task, self.study.results.tasks[task].matters) for task in self.tasks]
        return dict(zip(self.tasks, ways.judge(self.evidence, cases), strict=True))

    @cached_property
    def majority(self) -> dict[str, float]:
        """The score of the class that most training rows have, by task; none for scores of a range."""
        return {task: score for task in self.tasks if (score := _majority(self.study, task)) is not None}

    def below_majority(self, way: Way) -> list[str]:
        """Return the tasks on which a way is not above the majority class, by its interval where it has one."""
        low = {task: mean.interval[0] if mean.interval else mean.mean for task, mean in way.group.means.items()}
        return [task for task, score in self.majority.items() if task in low and low[task] <= score]


def of_study(study: Study) -> Answer | None:
    """Return the answer to which way is to be kept; None where fewer than two ways train all tasks."""
    found = [_way(study, label, names) for label, names in _labelled(study)]
    wanted = {*main(study.results.tasks)}
    whole = [way for way in found if wanted <= {*way.group.means} and len(way.group.seeds)]
    return Answer(study, whole) if len(whole) > 1 else None


def _labelled(study: Study) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield label and models of each way: of one's own study, else the rivals of PALs."""
    own = {STUDY, OWN} & {about.paper for about in study.about.values()}
    papers = (STUDY, OWN) if STUDY in own else (RIVALS,)
    for paper in papers:
        rows = [about.rival if paper == RIVALS and about.rival else about.row or name
                for name, about in study.about.items()
                if about.paper == paper or (paper == RIVALS and about.rival)]  # fmt: skip
        for row in dict.fromkeys(rows):
            models = study.joined(study.answering(paper, row) or [row])
            for names in models:
                yield (row if len(models) == 1 else f"{row} ({', '.join(names)})"), names


def _way(study: Study, label: str, names: tuple[str, ...]) -> Way:
    trained = [one for name in names for one in (study.about[name].members or [name])]
    runs = study.runs
    took = [runs.loc[runs["variant"] == name, "seconds"].astype(float).mean() for name in trained]
    answers = [runs.loc[runs["variant"] == name, "milliseconds"].astype(float).mean() for name in names]
    return Way(label, study.group(names), _known(sum(took)), _known(sum(answers) / len(answers)))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _majority(study: Study, task: str) -> float | None:
    about = study.results.tasks[task]
    every = study.results.predictions
    rows = every[(every["task"] == task) & (every["split"] == "dev") & every["label"].notna()].drop_duplicates("row")
    if about.kind == "score" or not len(rows):
        return None
    counted = study.results.data.rows.get(task, {}).get("train")
    labels = rows["label"].to_numpy(float)
    counts = counted.labels if counted and counted.labels else np.bincount(labels.astype(int))
    return metrics.of_task(about, labels, np.full(len(labels), float(np.argmax(counts))))


def render(answer: Answer, folder: Path) -> str:
    """Draw the picture into a report's folder; return sentences, picture and rows as Markdown."""
    tasks = answer.study.results.tasks
    names = {task: tasks[task].shown for task in answer.tasks}
    picture = (
        [drawing.put(_drawn(answer), folder, PICTURE, "", "Each way less one model a task")] if answer.against else []
    )
    mean = [] if are_the_courses(tasks) else [paper_tables.of_others(tasks)]
    told = " ".join(sentences(answer))
    unequal = _unequally(answer)
    budgets = [f"See tasks more or less often than one model a task does: {', '.join(unequal)}."] if unequal else []
    about = " ".join([ABOUT, *mean, *budgets])
    return "\n\n".join([told, *picture, markdown.lined([*_rows(answer, names)]), about])


def sentences(answer: Answer) -> Iterator[str]:
    """Yield what is proved, the way to keep first, and what is missing where nothing is."""
    yield _kept(answer)
    for verdict in ("better", "worse"):
        differing = [(label, one) for label, one in answer.against.items() if _standing(one) == verdict]
        if differing:
            shown = [f"{_said(label)} ({_signed(one)})" for label, one in differing]
            yield f"Proved to be {verdict} than one model a task: {_listed(shown)}."
    for task, one in answer.by_task.items():
        if one.verdict is Verdict.FAILS and one.difference:
            does = "costs" if one.difference.mean < 0 else "helps"
            size = markdown.number(abs(one.difference.mean))
            yield f"It {does} {markdown.literal(answer.study.results.tasks[task].shown)} {size}."
    below = {way.label: tasks for way in answer.ways if (tasks := answer.below_majority(way))}
    if below:
        titles = answer.study.results.tasks
        shown = [
            f"{_said(label)} ({', '.join(markdown.literal(titles[task].shown) for task in tasks)})"
            for label, tasks in below.items()
        ]
        yield f"Not above the majority class: {_listed(shown)}."


def _kept(answer: Answer) -> str:
    choice, margin = answer.choice, f"{answer.margin:g}"
    best = answer.ways[choice.best]
    if choice.kept is None:
        return _open(answer)
    kept = answer.ways[choice.kept]
    if kept is best:
        others = (
            "no way has fewer weights"
            if best.weights == min(way.weights for way in answer.ways)
            else (f"each way with fewer weights is proved to be worse by {margin} or more")
        )
        return f"**Keep {_said(best.label)}**: it has the highest mean, and {others}."
    share = _share(kept, answer.baseline or best)
    return f"**Keep {_said(kept.label)}**: no worse than {_said(best.label)}, the best, by {margin}; {share}."


def _open(answer: Answer) -> str:
    """Return what is missing for a decision."""
    choice, best = answer.choice, answer.ways[answer.choice.best]
    first = f"**Nothing is decided**: {_said(best.label)} has the highest mean"
    if choice.likely is None or choice.against is None:
        found = f"{first}, and no way has fewer weights."
    else:
        likely = answer.ways[choice.likely]
        share = f"{100 * likely.weights / best.weights:.0f} % of its weights"
        less = markdown.number(choice.against.difference and -choice.against.difference.mean)
        found = f"{first}; the best with fewer weights, {_said(likely.label)} ({share}), is {less} lower."
    return " ".join([found, *_missing(answer)])


def _missing(answer: Answer) -> Iterator[str]:
    """Yield what would decide."""
    choice, reason = answer.choice, answer.choice.against and answer.choice.against.reason
    if choice.seeds < SEEDS:
        there = "is 1" if choice.seeds == 1 else f"are {choice.seeds}"
        command = f": `mtbert study FOLDER --seeds {SEEDS}`" if STUDY in answer.study.by_paper else ""
        yield f"A verdict needs {SEEDS} seeds of each way; there {there}{command}."
    elif reason:
        yield f"Why there is no verdict: {WORDS[reason]}."
    if choice.needed:
        seeds, rows = choice.needed.seeds, choice.needed.rows
        yield f"If the two are equal, {seeds} seeds on {rows:,} rows of dev prove it four times of five."
    elif choice.seeds >= SEEDS and not reason:
        yield "No number of seeds up to 30 would decide, nor ten times the rows of dev."


def _share(way: Way, of: Way) -> str:
    return f"{100 * way.weights / of.weights:.0f} % of the weights of {_said(of.label)}"


def _said(label: str) -> str:
    return f"*{markdown.literal(label)}*"


def _listed(shown: Sequence[str]) -> str:
    more = len(shown) - MOST_NAMED
    return ", ".join(shown[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _signed(one: Comparison) -> str:
    return markdown.number(one.difference and one.difference.mean, "+")


def _standing(one: Comparison) -> str:
    """Return what is proved of a way against one model a task, in a word, or why nothing is."""
    found = one.difference
    if one.verdict is Verdict.FAILS and found:
        return "better" if found.mean > 0 else "worse"
    if one.verdict is Verdict.HOLDS:
        return "as good"
    if one.reason is Reason.FEW_SEEDS and found:
        return f"open: {min(found.seeds)} of {SEEDS} seeds"
    return WORDS[one.verdict or one.reason]


def _rows(answer: Answer, names: dict[str, str]) -> Iterator[dict[str, str]]:
    for way in answer.ways:
        one = answer.against.get(way.label)
        found = one.difference if one else None
        difference = markdown.estimate(found.mean, found.interval, "+") if found else markdown.DASH
        yield (
            {"way": markdown.literal(way.label), "mean": str(way.group.means[answer.metric])}
            | {markdown.literal(name): str(way.group.means[task]) for task, name in names.items()}
            | {DIFFERENCE: difference, "verdict": _standing(one) if one else markdown.DASH}
            | {"weights to keep": markdown.number(way.weights / 1e6, decimals=2), "to train": _time(way.seconds)}
            | {"a prediction": markdown.DASH if way.milliseconds is None else f"{way.milliseconds:.1f} ms"}
        )
    for label, scores in (("Majority class", answer.majority), ("Untrained encoder", answer.study.untrained)):
        if any(task in scores for task in names):
            cells = {markdown.literal(name): markdown.number(scores.get(task)) for task, name in names.items()}
            rest = dict.fromkeys((DIFFERENCE, "verdict", "weights to keep", "to train", "a prediction"), "")
            yield {"way": label, "mean": ""} | cells | rest


def _time(seconds: float | None) -> str:
    if seconds is None:
        return markdown.DASH
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _unequally(answer: Answer) -> list[str]:
    """Return the ways that see other numbers of examples of a task than one model a task does."""
    if answer.baseline is None:
        return []
    counts = {way.label: _examples(answer, way) for way in answer.ways}
    usual = counts[answer.baseline.label]
    return [
        _said(label)
        for label, seen in counts.items()
        if any(abs(seen[task] - usual[task]) > UNEQUAL * usual[task] for task in answer.tasks)
    ]


def _examples(answer: Answer, way: Way) -> dict[str, float]:
    about, runs = answer.study.about, answer.study.runs
    trained = [one for name in way.group.names for one in (about[name].members or [name])]
    of_way = runs[runs["variant"].isin(trained)].groupby(level="variant")
    columns = [f"examples_{task}" for task in answer.tasks]
    return dict(zip(answer.tasks, of_way[columns].mean().astype(float).sum().tolist(), strict=True))


def _drawn(answer: Answer) -> drawing.Figure:
    """A line for each way: its difference from one model a task with its interval; grey is too little to matter."""
    found = {label: one.difference for label, one in answer.against.items() if one.difference}
    figure = drawing.empty(1.0 + 0.32 * len(found))
    axes = figure.subplots()
    axes.axvspan(-answer.margin, answer.margin, color="0.9", zorder=0)
    for at, difference in enumerate(found.values()):
        if difference.interval:
            axes.plot(difference.interval, [at, at], color=drawing.PALETTE[0], linewidth=2)
        axes.plot(difference.mean, at, "o", color=drawing.PALETTE[0], markersize=7)
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(found)), [*found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda x, _: markdown.number(x, "+") if round(x, 4) else "0")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("mean less that of one model a task; right of 0 is better, grey too little to matter")
    return figure

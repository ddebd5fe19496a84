"""A small generated corpus in the real formats: `python data/make_sample.py data/sample`.

It lets the whole pipeline run in minutes without any download, and is hard enough that techniques can differ: a model
must match words across a pair, know synonyms, mind who does what to whom, and weigh negation and intensity. Labels
carry noise, as real ones do, so that no model can score 1. Unlike the course's own files, the test files hold labels.

The same code gives the same bytes; after a change here, run it again and commit what it wrote.
"""

import csv
import hashlib
import io
import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mtbert.files import write_text
from mtbert.machine.program import report_errors
from mtbert.tasks import COURSE, Split, Task

Concept = tuple[str, ...]  # words that mean the same
Row = tuple[Any, ...]  # sentences, then the label
Maker = Callable[[random.Random], list[Row]]

SIZES: dict[str, dict[Split, int]] = {
    "sst": {"train": 1200, "dev": 250, "test": 250},
    "qqp": {"train": 1300, "dev": 250, "test": 250},
    "sts": {"train": 900, "dev": 250, "test": 250},
    "cfimdb": {"train": 100, "dev": 30, "test": 30},
    "snli": {"train": 720, "dev": 60, "test": 60},
    "mnli": {"train": 150, "dev": 60},
}
REPEATS = 3  # rows that dev takes over from train, and train from itself, so that the data report has something to find
FLIPPED = 0.06  # share of classes that are drawn anew: annotators err too


def _concepts(text: str) -> list[Concept]:
    return [tuple(words.replace("_", " ") for words in concept.split("/")) for concept in text.split()]


@dataclass(frozen=True)
class Topic:
    """A part of the world with its own words: who acts there, what is done to what, and where."""

    agent: list[Concept]
    action: list[Concept]
    thing: list[Concept]
    place: list[Concept]
    agents: str  # what its agents are in general
    things: str


ANIMALS = _concepts("dogs/hounds cats/kittens monkeys/apes")
TOPICS = [
    Topic(
        _concepts("chefs/cooks waiters/servers guests/diners"),
        _concepts("eat/devour prepare/make taste/try"),
        _concepts("cakes/pastries potatoes/spuds soups/broths"),
        _concepts("kitchens/galleys restaurants/bistros canteens/cafeterias"),
        "people",
        "food",
    ),
    Topic(
        _concepts("drivers/motorists mechanics/repairmen thieves/robbers"),
        _concepts("wash/clean fix/repair steal/snatch"),
        _concepts("cars/automobiles bikes/bicycles boats/ships"),
        _concepts("streets/roads garages/workshops harbours/ports"),
        "people",
        "vehicles",
    ),
    Topic(
        ANIMALS,
        _concepts("chase/pursue bite/nip watch/observe"),
        ANIMALS,
        _concepts("gardens/yards forests/woods farms/ranches"),
        "animals",
        "animals",
    ),
    Topic(
        _concepts("musicians/players children/kids pupils/students"),
        _concepts("play/strum tune/adjust carry/haul"),
        _concepts("guitars/lutes violins/fiddles drums/bongos"),
        _concepts("schools/academies theatres/playhouses studios/ateliers"),
        "people",
        "instruments",
    ),
]
DETAILS = ["to win a prize", "for a friend", "before dinner", "for the first time", "because of a bet", "with joy"]
QUESTIONS = _concepts("why/for_what_reason how/in_what_way when/at_what_time")

ADJECTIVES: dict[int, list[str]] = {  # by sentiment
    -2: ["awful", "terrible", "dreadful", "horrible", "disgusting", "unbearable"],
    -1: ["dull", "weak", "bland", "clumsy", "boring", "shallow"],
    0: ["long", "quiet", "short", "modern", "simple", "ordinary"],
    1: ["nice", "pleasant", "decent", "charming", "amusing", "solid"],
    2: ["brilliant", "superb", "wonderful", "stunning", "magnificent", "perfect"],
}
STRENGTHS = {
    "": 1.0,
    "very": 1.4,
    "extremely": 1.6,
    "slightly": 0.6,
    "not": -0.5,
    "never": -0.6,
}  # "not awful" is no praise
ASPECTS = ["plot", "acting", "cast", "script", "music", "camera", "ending", "dialogue", "story", "film", "humour"]
FILLERS = [
    "we saw it last week",
    "it runs for two hours",
    "my friend came along",
    "the cinema was half full",
    "it opens in spring",
]


@dataclass(frozen=True)
class Scene:
    """Who does what to what, and where: the meaning that a sentence puts into words."""

    topic: Topic
    agent: Concept
    action: Concept
    thing: Concept
    place: Concept


SHARES = {"agent": 1.1, "action": 1.5, "thing": 1.5, "place": 0.9}  # of the similarity from 0 to 5


def _scene(rng: random.Random, topic: Topic) -> Scene:
    agent = rng.choice(topic.agent)
    things = [thing for thing in topic.thing if thing != agent]
    return Scene(topic, agent, rng.choice(topic.action), rng.choice(things), rng.choice(topic.place))


def _elsewhere(rng: random.Random, scene: Scene) -> Scene:
    """A scene from another topic."""
    return _scene(rng, rng.choice([topic for topic in TOPICS if topic is not scene.topic]))


def _changed(rng: random.Random, scene: Scene, slots: list[str]) -> Scene:
    """The scene with another concept of its topic in each of the slots."""
    for slot in slots:
        taken = (getattr(scene, slot), scene.agent, scene.thing)
        choices = [concept for concept in getattr(scene.topic, slot) if concept not in taken]
        scene = replace(scene, **{slot: rng.choice(choices)})
    return scene


def _words(rng: random.Random, scene: Scene, negation: str = "") -> tuple[str, str]:
    """What happens (`dogs chase cats`), and where."""
    agent, action, thing, place = (rng.choice(c) for c in (scene.agent, scene.action, scene.thing, scene.place))
    return f"{agent}{negation} {action} {thing}", f"in {place}"


def _statement(rng: random.Random, scene: Scene) -> str:
    core, place = _words(rng, scene)
    return f"{core} {place} ." if rng.random() < 0.7 else f"{place} {core} ."


def _question(rng: random.Random, word: Concept, scene: Scene, negation: str = "") -> str:
    core, place = _words(rng, scene, negation)
    core = f"{rng.choice(word)} do {core}"
    return f"{core} {place} ?" if rng.random() < 0.7 else f"{place} {core} ?"


def _questions(rng: random.Random) -> list[Row]:
    """A question with its paraphrase (2 in 5), a near miss (1 in 4), or a question about something else (the rest)."""
    scene, word = _scene(rng, rng.choice(TOPICS)), rng.choice(QUESTIONS)
    other, other_word, negation = scene, word, ""
    draw = rng.random()
    if draw < 0.35:
        other, other_word = _elsewhere(rng, scene), rng.choice(QUESTIONS)
    elif draw < 0.40:
        negation = " not"
    elif draw < 0.44:
        other_word = rng.choice([choice for choice in QUESTIONS if choice != word])
    elif draw < 0.48 and scene.agent in scene.topic.thing:
        other = replace(scene, agent=scene.thing, thing=scene.agent)
    elif draw < 0.6:
        other = _changed(rng, scene, rng.sample(list(SHARES), rng.choice([1, 2])))
    label = float(draw >= 0.6) if rng.random() > FLIPPED else float(rng.random() < 0.5)
    return [(_question(rng, word, scene), _question(rng, other_word, other, negation), label)]


def _similar(rng: random.Random) -> list[Row]:
    """Two statements and how much meaning they share, from 0 to 5; two in five are about different topics."""
    scene = _scene(rng, rng.choice(TOPICS))
    slots = rng.sample(list(SHARES), rng.choice([0, 1, 1, 2, 3]))
    other, left = _changed(rng, scene, slots), sum(share for slot, share in SHARES.items() if slot not in slots)
    if rng.random() < 0.4:
        other, left = _elsewhere(rng, scene), 0.3
    similarity = min(max(left + rng.gauss(0, 0.4), 0.0), 5.0)
    return [(_statement(rng, scene), _statement(rng, other), round(similarity * 5) / 5)]


def _clause(rng: random.Random, lean: int = 0) -> tuple[str, float]:
    """`the plot is very dull`, and its sentiment in -2 to 2 (up to 3 with an intensifier)."""
    grade = max(-2, min(2, rng.randint(-2, 2) + lean))
    strength = rng.choice(["", "", *STRENGTHS])
    adjective = f"{strength} {rng.choice(ADJECTIVES[grade])}".strip()
    return f"the {rng.choice(ASPECTS)} is {adjective}", grade * STRENGTHS[strength]


def _judged(rng: random.Random) -> list[Row]:
    """One or two clauses about a film with a class from 0 to 4; what comes after `but` weighs more."""
    text, sentiment = _clause(rng)
    if rng.random() < 0.4:
        more, weight = _clause(rng)
        joint = rng.choice(["and", "but"])
        text = f"{text} {joint} {more}"
        sentiment = (sentiment + weight) / 1.5 if joint == "and" else 0.3 * sentiment + 0.9 * weight
    sentiment += rng.gauss(0, 0.3)
    return [(f"{text} .", sum(sentiment > edge for edge in (-1.3, -0.4, 0.4, 1.3)))]


def _review(rng: random.Random) -> list[Row]:
    """A review of some 60 words with the class 0 or 1; the last clause weighs as much as three."""
    lean = rng.choice([-1, 1])
    clauses = [_clause(rng, lean if rng.random() < 0.6 else 0) for _ in range(rng.randint(6, 9))]
    last, weight = _clause(rng, lean)
    texts = [text for text, _ in clauses] + rng.sample(FILLERS, rng.randint(0, 3))
    rng.shuffle(texts)
    total = sum(sentiment for _, sentiment in clauses) + 3 * weight + rng.gauss(0, 1)
    return [(f"{' . '.join(texts)} . all in all {last} .", int(total > 0))]


def _entailed(rng: random.Random, scene: Scene) -> str:
    """What follows from the scene: the same in other words, the place left out, or agent or thing named in general."""
    agent = rng.choice([*scene.agent, scene.topic.agents])
    thing = rng.choice([*scene.thing, scene.topic.things])
    place = rng.choice(["", f" in {rng.choice(scene.place)}"])
    return f"{agent} {rng.choice(scene.action)} {thing}{place}"


def _inferences(rng: random.Random, opening: str = "") -> list[Row]:
    """One premise with a hypothesis that follows, one that it leaves open, and one that it rules out."""
    scene = _scene(rng, rng.choice(TOPICS))
    premise = opening + _statement(rng, scene)
    near = _changed(rng, scene, ["action", *rng.choice([[], ["agent"], ["thing"]])])  # so that no general word saves it
    ruled_out = near if rng.random() < 0.6 else _elsewhere(rng, scene)
    return [
        (premise, f"{_entailed(rng, scene)} .", "entailment"),
        (premise, f"{_entailed(rng, scene)} {rng.choice(DETAILS)} .", "neutral"),
        (premise, f"{_entailed(rng, ruled_out)} .", "contradiction"),
    ]


def _reported(rng: random.Random) -> list[Row]:
    return _inferences(rng, rng.choice(["well , ", "the report says that ", "yes , ", "i was told that "]))


MAKERS: dict[str, Maker] = {
    "sst": _judged,
    "qqp": _questions,
    "sts": _similar,
    "cfimdb": _review,
    "snli": _inferences,
    "mnli": _reported,
}


def _rows(task: Task, split: Split, taken: set[tuple[str, ...]]) -> list[Row]:
    """New rows for a split; `taken` holds the sentences of earlier ones, and grows."""
    rng, rows, size = random.Random(f"{task.name}/{split}"), [], SIZES[task.name][split]
    while len(rows) < size:
        for row in MAKERS[task.name](rng):
            if row[:-1] not in taken:
                taken.add(row[:-1])
                rows.append(row)
    return rows[:size]


def _identifier(task: Task, split: Split, index: int) -> str:
    return hashlib.sha256(f"{task.name}/{split}/{index}".encode()).hexdigest()[:25]


def _csv(task: Task, split: Split, rows: list[Row]) -> str:
    """The course's format; its SST and CFIMDB test files have one more index column and another header."""
    odd = split == "test" and not task.is_pair
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow([*(["0", ""] if odd else [""]), "id", *task.sentences, task.label])
    for index, row in enumerate(rows):
        place = [index + 1, float(index)] if odd else [index]
        writer.writerow([*place, _identifier(task, split, index), *row])
    return text.getvalue()


def _jsonl(task: Task, split: Split, rows: list[Row]) -> str:
    keys = (*task.sentences, task.label, "pairID")
    records = (dict(zip(keys, (*row, _identifier(task, split, index)), strict=True)) for index, row in enumerate(rows))
    return "".join(json.dumps(record) + "\n" for record in records)


WRITERS: dict[str, Callable[[Task, Split, list[Row]], str]] = {".csv": _csv, ".jsonl": _jsonl}


def files() -> Iterator[tuple[str, str]]:
    """Name (below the data directory) and text of each file of the sample."""
    for task in (COURSE[name] for name in SIZES):
        taken: set[tuple[str, ...]] = set()
        train: list[Row] = []
        for split, name in task.files.items():
            rows = _rows(task, split, taken)
            train = train or rows
            if split != "test":
                rows[-REPEATS:] = train[:REPEATS]
            yield name, WRITERS[Path(name).suffix](task, split, rows)


def write(directory: Path) -> None:
    """Write the sample below `directory`; the same bytes each time."""
    for name, text in files():
        write_text(directory / name, text)


if __name__ == "__main__":
    with report_errors():
        write(Path(sys.argv[1]))

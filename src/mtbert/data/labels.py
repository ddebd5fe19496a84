"""What labels are: whether values are classes or scores as they stand, or something that has to be asked or mended.

`mtbert study` looks at all labels of a file before it writes anything (`fault`, `question`). Each row's label is judged
by the same rules (`hint`), by `study` and by the stage `preprocess`.
"""

import html
import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from mtbert.tasks import Task, label_text

SCORES = ("score", "similarity", "relevance")  # labels of such a column are scores, if they are numbers
NUMBER = re.compile(r"-?(?=[0-9.])(0|[1-9][0-9]*)?(\.[0-9]+)?(e[+-]?[0-9]+)?", re.I)  # not 01 and 1_0, which are words
FEW = 5  # numbers among words that are classes
SHOWN = 4  # labels in a message
MISSING_VALUES = (  # what may be written in place of a label
    "null", "none", "na", "n/a", "n.a.", "<na>", "#n/a", "nil", "-", "--", "?", ".", "missing", "not rated", "unrated",
    "unlabeled", "unlabelled", "tbd", "todo",
)  # fmt: skip
MUCH = 4  # times the range of the other scores
CODES = (9, 88, 98, 99, 888, 998, 999, 9999)  # numbers that may stand for none, as -1 may
DIGITS = r"[0-9]+(?:[.,][0-9]+)?"
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
LIKE_NUMBERS = {  # what is no number, and is meant as one: how it is written, and what to do
    re.compile(rf"[+-]?{DIGITS}\s*[%‰]"): ("a percentage", "write the number alone, such as 80 of 80%"),
    re.compile(rf"{DIGITS}\s*(?:/|of|out of)\s*{DIGITS}|[0-9]*\s?[¼½¾⅐-⅞]"): (
        "a fraction", "write the number alone, such as 4 of 4/5",
    ),
    re.compile(r"[0-9]{1,3}(?:[ .,'\u00a0\u202f][0-9]{3}){2,}|[0-9]{1,3}(?:[ '\u00a0\u202f][0-9]{3})+"): (
        "a number in groups of digits", "write it without what parts them",
    ),
    DECIMAL_COMMA: (
        "a number with a comma", "write it with a point, or without the comma if it parts thousands",
    ),
    re.compile(rf"[$€£¥]\s*{DIGITS}|{DIGITS}\s*[$€£¥]"): ("an amount of money", "write the number alone"),
    re.compile(rf"['\u2018\u2019`\"]-?{DIGITS}['\u2019\"]?"): ("a number in quotation marks", "write the number alone"),
    re.compile(rf"[\u2010-\u2015\u2212\uff0d]\s*{DIGITS}"): ("a number with another minus sign", "write it with -"),
    re.compile(r"(?=.*[^\x00-\x7f])[+-]?\d+(?:[.,\u066b]\d+)?"): ("a number in other digits", "write it in 0 to 9"),
}  # fmt: skip
WITH_MORE = re.compile(r"[<>~≈≤≥+-]*\s*\d")  # how a number begins that has a unit or a sign
# tensor(1), b'pos', and a class with its probability: pos (0.93)
REPRESENTED = re.compile(
    r"""(?:tensor|array|(?:np|numpy|torch)\.\w+)\(.*\)|b(['"]).*\1|.+\((?:0?\.[0-9]+|1\.0+)\)""", re.S
)
SPREADSHEET = re.compile(r"#(?:REF!|VALUE!|DIV/0!|NAME\?|NUM!|NULL!|SPILL!|CALC!)")
SEVERAL = re.compile(  # how a list or an object is written: [pos] is neither
    r"""\[.*[,'"].*\]|\{.*[,'"].*\}|\[\s*-?[0-9.]+(?:\s+-?[0-9.]+)+\s*\]""", re.S
)
ONE_HOT = re.compile(r"[01](?:[ ,;|]+[01])+")
SEPARATORS = re.compile(r"\s*(?:[|;#,\n\t]|\+\+|&&)\s*| (?=__label__)")  # what parts labels that a tool joined
MARKS = re.compile(  # at a label's ends
    r"""^[\s"'`\u2018-\u201f\u00ab\u00bb(\[]+|[\s"'`\u2018-\u201f\u00ab\u00bb)\].,;:!?]+$"""
)
POSSIBLE_SEPARATORS = re.compile(r"\s*[/+&]\s*|\s+(?:and|or)\s+|\s+|[-_]")  # what a class's own name may hold, too
TRUTHS = (  # two classes as people write them
    ("0", "1"), ("false", "true"), ("f", "t"), ("no", "yes"), ("n", "y"), ("off", "on"), ("neg", "pos"),
    ("negative", "positive"),
)  # fmt: skip
TASK_OF_EACH = "write a column of 0 and 1 for each label, or in .jsonl a list of labels"


class Question(NamedTuple):
    """What `study` cannot know of a task's labels.

    Attributes:
        key: of tasks.yaml, whose value is the answer.
        text: what is asked, and what to write.
        labels: those that it is about.
    """

    key: str
    text: str
    labels: Sequence[str]


def fault(column: str, labels: Collection[str]) -> str:
    """Return why labels are neither classes nor scores as they are written, and what to do; empty where they are.

    Args:
        column: which holds them.
        labels: the different ones of a file, as text.
    """
    ordered = sorted(labels)
    for one, other in _alike(ordered):
        return (
            f"{one!r} and {other!r}, which look alike and differ in how their characters are coded: {one!a} and "
            f"{other!a}; write both alike"
        )
    if odd := [label for label in ordered if SPREADSHEET.fullmatch(label)]:
        return f"{odd[0]}, an error of a spreadsheet; mend the cell, or empty it"
    if odd := [label for label in ordered if REPRESENTED.fullmatch(label)]:
        return f"{odd[0]}, as a program writes a value for programmers; write the value alone"
    if ordered and all(map(ONE_HOT.fullmatch, ordered)):
        return f"{ordered[0]}, a yes or no to each of several labels; {TASK_OF_EACH}"
    return _fault_of_numbers(column, ordered)


def _fault_of_numbers(column: str, labels: Sequence[str]) -> str:
    """Return what is wrong with labels that are meant as numbers, all of them or in a column of scores."""
    like = [label for label in labels if not NUMBER.fullmatch(label) and _like_number(label)]
    words = [label for label in labels if label not in like and not NUMBER.fullmatch(label) and not is_missing(label)]
    if lists := _comma_lists(column, labels):
        number, part = lists
        remedy = "if it is a number, write it with a point"
        several = "describe the task in tasks.yaml with its `label` and `separator: ','`"
        return f"{number}, several labels a row, since {part} is a label, too; {several}; {remedy}"
    if like and (not words or len(like) > FEW):
        return f"{like[0]}, {_like_number(like[0])}"
    odd = [label for label in labels if not NUMBER.fullmatch(label.removeprefix("+")) and WITH_MORE.match(label)]
    if column.casefold() in SCORES and odd:
        return f"{odd[0]!r}, which is more than a number, in a column that is called {column}; write the number alone"
    return ""


def _like_number(label: str) -> str:
    """Return what a label is that is meant as a number, and how to write it; empty for others."""
    return next(("; ".join(words) for pattern, words in LIKE_NUMBERS.items() if pattern.fullmatch(label)), "")


def _comma_lists(column: str, labels: Collection[str]) -> tuple[str, str] | None:
    """Return a label such as 2,27 of whole numbers that are labels, too, and one of them; None where it is a decimal.

    A scale of halves has 3,5 as well as 3 and 5, so that a last digit of 5 alone says nothing.
    """
    if column.casefold() in SCORES:
        return None
    lists = {label: label.split(",") for label in sorted(labels) if re.fullmatch(r"[0-9]+(,\s*[0-9]+)+", label)}
    lasts = {parts[-1].strip() for parts in lists.values()}
    if lists and lasts <= {*labels} and lasts != {"5"}:
        return next((label, parts[-1].strip()) for label, parts in lists.items())
    return None


def question(column: str, labels: Collection[str], may_be_joined: bool = True) -> Question | None:
    """Return what to ask of the labels of a file, which have no `fault`; None where nothing has to be asked.

    `may_be_joined` is whether a label may be several that are joined: so unless the user has said that none is.
    """
    ordered = sorted(labels)
    if may_be_joined and (joined := _joined_labels(ordered, SEPARATORS)):
        label, parts = joined[0]
        more = f" ({len(joined)} labels are so)" if len(joined) > 1 else ""
        fault = f"{label!r} is made of {' and '.join(map(repr, parts))}, which other labels are or hold, too{more}"
        separator = next(match[0].strip(" ") or " " for match in SEPARATORS.finditer(label))
        parted = f"write what parts them, {_quoted(separator)}: a row with an empty text then has none"
        several_labels = f"If such a row has several labels, {parted}"
        own_class = "If it is a class of its own, write ''"
        return Question("separator", f"{fault}. {several_labels}. {own_class}", [label for label, _ in joined])
    if twice := _truths(ordered):
        answer = ", ".join(f"{_quoted(label)}: {number}" for label, number in twice.items())
        return Question(
            "classes",
            f"{' and '.join(map(repr, twice))} may be two classes, written in several ways: {{{answer}}}. If they are "
            f"{len(ordered)} classes, list them: [{_listed(ordered)}]",
            [*twice],
        )
    numbers = [float(label) for label in ordered if NUMBER.fullmatch(label.removeprefix("+"))]
    words = [label for label in ordered if not NUMBER.fullmatch(label.removeprefix("+"))]
    is_score = column.casefold() in SCORES or any(not number.is_integer() for number in numbers)
    if not is_score or not all(map(is_missing, words)) or len(numbers) < 2:
        return None
    apart = _far_from_others(numbers)
    no_scores = [*words, *(label for label in ordered if label not in words and float(label) in apart)]
    if not no_scores:
        return None
    others = [number for number in numbers if number not in apart]
    return Question(
        "left_out",
        f"{', '.join(no_scores)} may stand for no score, since the others are {min(others):g} to {max(others):g}. "
        f"If so, write [{_listed(no_scores)}]. If it is a score, write [], and its range at `score`",
        no_scores,
    )


def _far_from_others(numbers: Sequence[float]) -> list[float]:
    """Return the numbers that lie apart from the others: -1 if no other is below 0, and whole ones far away.

    Three at most at each end, as 98 and 99 come together, beside four others at least. CODES are away by more than the
    range of the others, any other number by MUCH more, such as 45 in place of 4.5.
    """
    ordered = sorted({*numbers})
    apart: list[float] = []
    if len(ordered) > 4 and ordered[0] == -1 and ordered[1] >= 0:
        apart.append(ordered.pop(0))
    for _ in ("highest", "lowest"):
        for count in range(1, min(3, len(ordered) - 4) + 1):
            inner, outer = ordered[:-count], ordered[-count:]
            are_codes = all(abs(number) in CODES for number in outer)
            limit = abs(inner[-1] - inner[0]) * (1 if are_codes else MUCH)
            if abs(outer[0] - inner[-1]) > limit and all(map(float.is_integer, outer)):
                apart += outer
                ordered = inner
                break
        ordered = ordered[::-1]
    return apart


def _joined_labels(labels: Collection[str], separators: re.Pattern[str]) -> list[tuple[str, list[str]]]:
    """Return the labels that are made of others, with their parts.

    By SEPARATORS one part that is a label is enough, or one that other labels have at another place; by
    POSSIBLE_SEPARATORS, which a name may hold, all parts are labels.
    """
    parts_of = {label: [part for part in separators.split(label) if part] for label in labels}
    single = {label for label, parts in parts_of.items() if len(parts) == 1}
    places: dict[str, set[int]] = {}
    for parts in parts_of.values():
        for place, part in enumerate(parts if len(parts) > 1 else ()):
            places.setdefault(part, set()).add(place)
    wandering = {part for part, at in places.items() if len(at) > 1}
    joined: list[tuple[str, list[str]]] = []
    for label, parts in parts_of.items():
        is_all = {*parts} <= {*labels}
        is_some = separators is SEPARATORS and not {*parts}.isdisjoint(single | wandering)
        if len(parts) > 1 and (is_all or is_some):
            joined.append((label, parts))
    return joined


def _truths(labels: Collection[str]) -> dict[str, int]:
    """Return the class of each label, where they are yes and no in several ways, such as 0, 1 and yes."""
    number_of = {word: number for pair in TRUTHS for number, word in enumerate(pair)}
    pair_of = {word: pair for pair in TRUTHS for word in pair}
    truths = [label for label in labels if label.casefold() in number_of]
    others = [label for label in labels if label not in truths and not is_missing(label)]
    if others or len({pair_of[label.casefold()] for label in truths}) < 2:
        return {}
    return {label: number_of[label.casefold()] for label in truths}


def is_missing(label: str) -> bool:
    """Return whether a word may stand for no label at all."""
    return label.casefold() in MISSING_VALUES


def missing_values(task: Task) -> list[str]:
    """Return the labels of a drafted task that may stand for no label at all, such as N/A, or 99 beside 1 to 5."""
    words = [label for label in task.labels if is_missing(label)]
    numbers = {label: float(label) for label in task.labels if NUMBER.fullmatch(label)}
    codes: list[str] = []
    for label, number in numbers.items():
        others = [other for other in numbers.values() if other not in (number, *CODES)]
        if number not in (-1, *CODES) or len(numbers) + len(words) < len(task.labels) or len(others) < 2:
            continue
        if number == -1 or (min(others) >= 0 and number - max(others) > max(others) - min(others)):
            codes.append(label)
    return [label for label in task.labels if label in words or label in codes]


def made_of_others(labels: Collection[str], has_sets: bool) -> str:
    """Return a line on labels that are made of others; empty where none is.

    `very good` beside `good` and `very`; where a row may have several labels (`has_sets`), `joy,fear` beside `joy`.
    """
    joined = _joined_labels(sorted(labels), SEPARATORS if has_sets else POSSIBLE_SEPARATORS)
    if not joined:
        return ""
    label, parts = joined[0]
    names = " and ".join(map(repr, parts))
    if has_sets:
        made_of = f"{label!r} is one label, though {names} are labels, or parts of others"
        remedy = "write them in the file as other rows are written"
    else:
        made_of = f"{label!r} is made of {names}, classes too"
        remedy = "add `separator` to the task, which says what parts them"
    return f"{made_of}; if its rows have both, {remedy}"


def hint(task: Task, label: object) -> str:
    """Return what else to say of a label that a task has not: which one looks like it, or how to write a number."""
    text = label_text(label)
    for other in task.labels:
        if visible(other) == visible(text):
            codes = f"{text!a} and {other!a}"
            return f"; it looks like {other!r}, and differs in how its characters are coded: {codes}; write both alike"
        if seen(other) == seen(text):
            return f"; it differs from {other!r} in capitals, blanks or how a number is written; write both alike"
    if (advice := _like_number(text)) and not task.labels:
        return f"; it is {advice}"
    if task.kind == "score" and (is_missing(text) or (NUMBER.fullmatch(text) and abs(float(text)) in (1, *CODES))):
        return f"; if it stands for no score, add it to `left_out` of {task.name} in tasks.yaml"
    return ""


def seen(label: str) -> str:
    """Return what a reader sees of a label; of a number that is its value.

    Capitals, the number of blanks, how a character is coded, and characters without width do not count.
    """
    text = visible(unicodedata.normalize("NFKC", label)).casefold()
    return repr(float(text)) if NUMBER.fullmatch(text) else text


def unmarked(label: str) -> str:
    """Return what is `seen` of a label without marks at its ends, with characters in place of HTML's names of them."""
    plain = html.unescape(label)
    return seen(MARKS.sub("", plain) or plain)


def visible(text: str) -> str:
    """Return a text with each character in one coding, without those that have no width, and with plain blanks."""
    if text.isascii():
        return " ".join(text.split())
    normal = unicodedata.normalize("NFC", text)
    return " ".join("".join(character for character in normal if unicodedata.category(character) != "Cf").split())


def _alike(labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield two labels that look the same."""
    first: dict[str, str] = {}
    for label in labels:
        other = first.setdefault(visible(label), label)
        if other != label:
            yield other, label


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(map(_quoted, labels))


def _quoted(label: str) -> str:
    """Return a label as it may stand in a list in YAML."""
    if re.fullmatch(r"[^\W\d_]\w*|-?[0-9]+", label):
        return label
    return "'{}'".format(label.replace("'", "''")) if label.isprintable() else json.dumps(label, ensure_ascii=False)

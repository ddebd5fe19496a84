"""Notes on rows that may not mean what they say: words for nothing, two spellings of a group, another scale in dev.

Nothing is refused for it, since it may be right: `mtbert study` prints a line for each.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mtbert.data import checks, readers
from mtbert.data import labels as labels_of
from mtbert.data.preprocess import MOST_REFUSED, are_too_many
from mtbert.data.readers import Example
from mtbert.tasks import FILE, SPLITS, Split, Task, label_text

NO_GROUPS = ("unknown", "anonymous", "guest", "-1")  # may stand for no group, as what may stand for no label does
ZEROS = re.compile(r"^0+(?=\d)")  # which a code loses where it is taken for a number
LOST = "\ufffd"  # what a program writes in place of bytes that it cannot decode
LONGEST_SHOWN = 40  # characters of a text
LEAST_SCORES = 20  # of a split whose scale is compared
OTHER_SCALE = 10  # times the range of another split's scores
ALMOST_ALL = 0.9  # of the rows: accuracy of a constant prediction, so that models can hardly be better


def texts(rows: Sequence[Example]) -> Iterator[str]:
    """Yield spoilt texts and words for no text that come often, and whether both sentences are one in every row."""
    every_text = [text for row in rows for text in (row.sentence1, row.sentence2) if text]
    spoilt = [text for text in every_text if _is_spoilt(text)]
    if are_too_many(len(spoilt), len(rows), MOST_REFUSED):
        fault = f"{len(spoilt):,} texts were read or saved in a wrong encoding, such as {spoilt[0][:LONGEST_SHOWN]!r}"
        yield f"{fault}; save them again from their source, in UTF-8"
    words = Counter(map(labels_of.visible, every_text))
    for word, count in words.items():
        is_for_none = word.casefold() == "nan" or (labels_of.is_missing(word) and any(map(str.isalpha, word)))
        if is_for_none and are_too_many(count, len(rows), MOST_REFUSED):
            yield f"{count:,} rows have the text {word!r}; if it stands for none, empty it"
    if all(checks.normalized(row.sentence1) == checks.normalized(row.sentence2 or "") for row in rows):
        yield "both sentences are the same in every row"


def accuracy_of_one_class(task: Task, rows: Sequence[Example]) -> Iterator[str]:
    """Yield that one class has almost all rows of dev, so that accuracy hardly tells models apart."""
    if task.metric != "accuracy":
        return
    ((number, count),) = Counter(row.label for row in rows).most_common(1)
    if number is not None and count >= ALMOST_ALL * len(rows):
        most = f"{count:,} of {len(rows):,} dev rows have the label {task.class_labels[int(number)]}"
        yield f"{most}, so accuracy hardly tells models apart; write `metric: f1` into {FILE}"


def _is_spoilt(text: str) -> bool:
    """Return whether a text has lost a character, or is UTF-8 that was taken for Windows' encoding."""
    if text.isascii():
        return False
    try:
        return LOST in text or bool(text.encode("cp1252").decode("utf-8"))
    except UnicodeError:
        return False


def counts_of_groups(task: Task, rows: Sequence[Example]) -> Counter[str]:
    """Return how many rows have each group, by its value in the file."""
    return Counter(row.group.removeprefix(f"{task.group_on} ") for row in rows if row.group)


def between_splits(task: Task, folder: Path, rows: Mapping[Split, Sequence[Example]]) -> Iterator[str]:
    """Yield what differs between a task's splits and may have to be alike: groups, scales, numbers of classes."""
    yield from _groups(task, rows)
    yield from _scales(task, rows)
    for split in SPLITS[1:]:
        if split in task.files and task.has_one_class:
            yield from _numberings(task, folder, split)


def _groups(task: Task, rows: Mapping[Split, Sequence[Example]]) -> Iterator[str]:
    """Yield which groups look alike and are different ones, and which may stand for no group."""
    counts = counts_of_groups(task, [row for of_split in rows.values() for row in of_split])
    spellings: dict[str, str] = {}  # by what is seen of a group
    for group in counts:
        other = spellings.setdefault(labels_of.seen(ZEROS.sub("", group)), group)
        if other != group:
            fault = f"{other!r} and {group!r} look alike, and are two groups"
            yield f"{task.group_on} {fault}, of which one may be in train and one in dev; write both alike"
            break
    for group, count in counts.items():
        if count > 1 and (labels_of.is_missing(group) or group.casefold() in NO_GROUPS):
            remedy = "if it stands for none, give each of them a group of its own"
            yield f"{count:,} rows have the {task.group_on} {group!r}, so they are kept together; {remedy}"


def _scales(task: Task, rows: Mapping[Split, Sequence[Example]]) -> Iterator[str]:
    """Yield whether scores of dev or test have a much smaller or larger range than those of train."""
    ranges: dict[Split, tuple[float, float]] = {}
    for split, of_split in rows.items():
        scores = [row.label for row in of_split if row.label is not None]
        if task.kind == "score" and len(scores) >= LEAST_SCORES:
            ranges[split] = (min(scores), max(scores))
    for split, (low, high) in ranges.items():
        of_train = ranges.get("train", (low, high))
        smaller, larger = sorted([high - low, of_train[1] - of_train[0]])
        if larger > OTHER_SCALE * smaller:
            both = f"{low:g} to {high:g} in {split}, and {of_train[0]:g} to {of_train[1]:g} in train"
            yield f"its {task.label} is {both}; write both on one scale"


def _numberings(task: Task, folder: Path, split: Split) -> Iterator[str]:
    """Yield whether a column says in words what labels mean, and says otherwise in the file of dev or test."""
    of_train, of_split = (_words(task, folder / task.files[each]) for each in ("train", split))
    for column in of_train.keys() & of_split.keys():
        label_of_word = {word: label for label, word in of_train[column].items()}
        for label, word in sorted(of_split[column].items()):
            if label_of_word.get(word, label) != label:
                both = f"{word!r} beside {label} in {split}, and beside {label_of_word[word]} in train"
                yield f"{column} has {both}; number the classes alike in both files"
                break


def _words(task: Task, file: Path) -> dict[str, dict[str, str]]:
    """Return by column the word that it has beside each label: of columns that have another one beside each."""
    words: dict[str, dict[str, str]] = {}
    others = {*task.sentences, task.label, task.id}
    for row in readers.rows_of(file, task.encoding, task.name) if file.is_file() else ():
        label = label_text(row.values.get(task.label))
        for column, value in row.values.items() if label else ():
            if column not in others and words.setdefault(column, {}).setdefault(label, str(value)) != str(value):
                others.add(column)
    return {
        column: by_label
        for column, by_label in words.items()
        if column not in others and len({*by_label.values()}) == len(by_label) > 1
    }

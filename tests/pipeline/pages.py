"""What the pages of the documentation show to type, and what they say is printed."""

import itertools
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).parents[2]
MARK = re.compile(r"<!-- test: (.*) -->")
NUMBER = re.compile(r"(?<![\w.])[+\u2212-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
NAMED = re.compile(r"`([^`]+\.(?:py|yaml|csv|jsonl))`")
PROMPTS = ("$ ", ">>> ")
ANY = "..."  # a line of the page that stands for any lines


@dataclass(frozen=True)
class Block:
    """A block of code of a page."""

    page: str
    line: int  # from 1
    language: str  # that the page names
    text: str
    before: str  # the paragraph above it
    mark: str  # what a comment `<!-- test: ... -->` directly above it says

    def __str__(self) -> str:
        return f"{self.page}, line {self.line}"

    @property
    def named(self) -> str:
        """The file that the paragraph above names first."""
        found = NAMED.search(self.before)
        return found[1] if found else ""


@dataclass(frozen=True)
class Typed:
    """What a person types, and the lines that the page shows below it."""

    prompt: str  # `$ ` of the shell, `>>> ` of Python, or '' where a page shows commands without their answers
    text: str
    shown: tuple[str, ...] = ()


def blocks(page: str | Path) -> list[Block]:
    """Those of a page, in order."""
    found, before, mark = [], "", ""
    for token in MarkdownIt().parse((REPOSITORY / page).read_text(encoding="utf-8")):
        if token.type == "inline":
            before, mark = token.content, ""
        if token.type == "html_block" and (said := MARK.search(token.content)):
            mark = said[1]
        if token.type in ("fence", "code_block"):
            assert token.map
            found.append(Block(str(page), token.map[0] + 1, token.info.strip(), token.content, before, mark))
            mark = ""
    return found


def typed(block: Block) -> list[Typed]:
    """What a block shows to type, in order."""
    lines = [line for line in block.text.splitlines() if line.strip()]
    starts = [number for number, line in enumerate(lines) if line.startswith(PROMPTS)]
    if not starts:
        return [Typed("", command) for command in _whole(iter(lines))]
    assert starts[0] == 0, f"{block} begins with an answer"
    return [_typed(lines[start:end]) for start, end in itertools.pairwise([*starts, len(lines)])]


def _typed(lines: list[str]) -> Typed:
    prompt = next(prompt for prompt in PROMPTS if lines[0].startswith(prompt))
    rest = iter([lines[0].removeprefix(prompt), *lines[1:]])
    command = next(_whole(rest)) if prompt == "$ " else next(rest)
    return Typed(prompt, command, tuple(rest))


def _whole(lines: Iterator[str]) -> Iterator[str]:
    """Put the lines together that the shell reads as one command."""
    for line in lines:
        command = line
        while command.endswith("\\") or _unfinished(command):
            command += "\n" + next(lines)
        yield command


def _unfinished(command: str) -> bool:
    told = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False).stderr
    return "unexpected EOF" in told or "unexpected end of file" in told


def answers(shown: Sequence[str], printed: Sequence[str], within: float) -> bool:
    """Whether lines are those of a page, numbers with a point within such a share of the page's, or of 1."""
    if not shown:
        return not printed
    if shown[0] == ANY:
        return any(answers(shown[1:], printed[start:], within) for start in range(len(printed) + 1))
    return bool(printed) and _alike(shown[0], printed[0], within) and answers(shown[1:], printed[1:], within)


def _alike(shown: str, printed: str, within: float) -> bool:
    ours, theirs = _parts(shown), _parts(printed)
    words = [text for text, _ in ours] == [text for text, _ in theirs]
    pairs = zip(_numbers(ours), _numbers(theirs), strict=False)
    return words and all(one == other or _near(one, other, within) for one, other in pairs)


def _near(shown: str, printed: str, within: float) -> bool:
    return "." in shown and abs(_value(shown) - _value(printed)) <= within * max(1, abs(_value(shown)))


def _value(number: str) -> float:
    return float(number.replace("\N{MINUS SIGN}", "-"))


def _parts(line: str) -> list[tuple[str, list[str]]]:
    """The line between its commas, without its numbers and the widths of its columns, then the numbers.

    Sorted: the classes of a prediction stand by their probabilities.
    """
    parts = line.split(", ")
    return sorted((re.sub(r"\s+|-{2,}", " ", NUMBER.sub("#", part)).strip(), NUMBER.findall(part)) for part in parts)


def _numbers(parts: list[tuple[str, list[str]]]) -> list[str]:
    return [number for _, numbers in parts for number in numbers]

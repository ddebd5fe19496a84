"""What the report begins with: questions in a student's words, each answered by a difference, as rows and as a picture.

The questions are those of questions.yaml, judged like claims.
"""

from collections.abc import Sequence

from mtbert.judge import SEEDS, Verdict
from mtbert.replication import claims_section
from mtbert.replication.judging import ClaimResult
from mtbert.report import markdown
from mtbert.scores.described import UNTRAINED
from mtbert.scores.results import Results

PICTURE = "questions"
NAMED = 2  # so many questions that were not run are named, more are counted
WORDS = {Verdict.HOLDS: "yes", Verdict.FAILS: "no", Verdict.SMALL: "yes, but too little to matter"}
PUBLISHED = {  # what a paper says that prints no difference
    "higher": "better", "lower": "worse", "close": "as good", "not higher": "not better", "not lower": "not worse",
}  # fmt: skip
ABOUT = (
    "*Ours* is first minus second: the mean over seeds, with at least three seeds also its 95 % confidence interval. "
    "*Published* is the same difference in the paper, or a word where the paper prints none. An answer needs six seeds "
    "of each side. *Overall* is the mean of the accuracies on SST-5 (sentiment) and QQP (paraphrases) and of Pearson's "
    "r on STS-B (similarity); *normalised* has (r + 1) / 2 in place of r. The untrained encoder predicts pairs by the "
    "cosine of their embeddings."
)


def that_ran(questions: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Return the questions both of whose sides were run."""
    return [result for result in questions if result.verdict is not Verdict.NOT_RUN]


def rows(questions: Sequence[ClaimResult]) -> list[dict[str, str]]:
    """Return the rows: question, ours, published, answer."""
    return [_row(result) for result in questions]


def _row(result: ClaimResult) -> dict[str, str]:
    return {
        "question": question(result),
        "ours": claims_section.difference(result.parts[0]),
        "published": _published(result),
        "answer": _verdict(result),
    }


def _published(result: ClaimResult) -> str:
    """Return the paper's difference, or a word if it prints none, and whose it is."""
    part = result.parts[0].part
    if part.published is not None:
        published = markdown.number(part.published, "+")
    else:
        published = markdown.DASH if UNTRAINED in part.other else PUBLISHED[part.expects]
    return f"{published} ({result.claim.source})" if result.claim.source else published


def _verdict(result: ClaimResult) -> str:
    """Return the verdict as a reply, or how many seeds there are of those that it needs."""
    difference = result.parts[0].difference
    if difference is not None and difference.lacks_seeds(SEEDS):
        return f"open: {difference.fewest_seeds} of {SEEDS} seeds"
    return WORDS.get(result.verdict) or claims_section.verdict(result)


def question(result: ClaimResult) -> str:
    """Return the question and, in brackets, the score that replies to it."""
    return f"{result.claim.statement} ({markdown.heading(result.parts[0].part.metric)})"


def render(results: Results, questions: Sequence[ClaimResult], pictures: str) -> str:
    """Return picture and rows as Markdown, where `pictures` is the picture's folder; empty if no question ran."""
    ran = that_ran(questions)
    if not ran:
        return ""
    lines, every = rows(ran), rows(questions)
    picture = f"![Differences with their intervals, and the published ones]({pictures}/{PICTURE}.png)"
    about = f"{ABOUT} {claims_section.contamination(results)}".strip()
    absent = [row["question"] for row in every if row not in lines]
    if len(absent) > NAMED:
        about += f" {len(absent)} more questions: not run."
    elif absent:
        about += f" Not run, and open with 0 of {SEEDS} seeds: *{'*; *'.join(absent)}*."
    return "\n\n".join(filter(None, [picture, markdown.lined(lines), about]))

"""The evidence: what every number of a report comes from, small enough to commit and without any sentence.

    facts/                  the plan, what the check of the data counted, the machine, what pretraining came to
    runs.parquet            a line a run or vote: its metrics, settings, history and digests as they are, and its log
    predictions/TASK-SPLIT  a line a row: id, label, whether it is scored and, of dev, its cluster and what it shares
                            with training rows; then a column `NAME/SEED` for each run with what it said (NaN for a
                            training row that it does not score), and `NAME/SEED/scored` for a run that scores other
                            rows than the first run does
    probabilities/TASK      of dev, in thousandths: a column `NAME/SEED/CLASS` for each class but the last
    labels, clouds          how often each label comes; where t-SNE has put the sentences' embeddings
    sentences/              of the sample alone, whose sentences are this project's own
    digests.json            the SHA-256 of each of these files

`unpack` makes a build directory of it that holds as much as the report reads. `add` keeps the runs that lie in the
evidence already, so that trainings of several machines or weeks come together. Predictions where labels are withheld
are left out, as no score comes of them; embeddings and weights are, too.
"""

from pathlib import Path

from mtbert import files
from mtbert.reporting.archive.adding import Vote, add, refuse_loss
from mtbert.reporting.archive.layout import NAME
from mtbert.reporting.archive.packing import pack
from mtbert.reporting.archive.unpacking import unpack

__all__ = ["NAME", "Vote", "add", "main", "pack", "unpack"]


def main(build: Path, reports: Path, more: bool = False, vote: Vote | None = None, anew: bool = False) -> None:
    """Pack the evidence of what lies below `build` into its report's folder below `reports`.

    With `more`, `add` it; with `anew`, add variants that were trained anew. DataError where runs would be lost.
    """
    directory = files.report_directory(build, reports) / NAME
    if (more or anew) and directory.exists():
        add(build, directory, vote, anew)
    else:
        refuse_loss(build, directory)
        pack(build, directory)
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    print(f"{directory} is written: {size / 1e6:.2f} MB")

"""Sequence lengths of each task's training set, counted: `python benchmarks/lengths.py BUILD/data`.

Writes lengths.json beside this file: {encoding: {task: [sequences of 0 tokens, of 1, ..., of 128]}}, [CLS] and [SEP]
counted in. `cross` is one sequence an example, `bi` one a sentence. No text is kept.
"""

import json
import sys
from pathlib import Path

import pandas as pd

from mtbert.data.tokens import SpecialTokens
from mtbert.errors import DataError
from mtbert.files import write_text
from mtbert.machine.program import report_errors

TASKS = ("sst", "qqp", "sts")
SPECIAL = SpecialTokens(0, 0, 0)
LIMIT = 128  # params.yaml's model.max_tokens
FILE = Path(__file__).with_name("lengths.json")


def counts(table: pd.DataFrame, encoding: str) -> list[int]:
    """How many sequences of each length the rows make; `table` has the columns tokens1 and tokens2."""
    first, second = table["tokens1"].tolist(), table["tokens2"].dropna().tolist()
    if encoding == "cross" and second:
        pairs = zip(first, second, strict=True)
        sequences = [SPECIAL.frame_pair(*pair, LIMIT) for pair in pairs]
    else:
        sequences = [SPECIAL.frame(tokens, LIMIT) for tokens in (*first, *second)]
    lengths = pd.Series([len(sequence.ids) for sequence in sequences])
    return lengths.value_counts().reindex(range(LIMIT + 1), fill_value=0).tolist()


def main(data: Path) -> None:
    """Count and write; DataError where `data` is not what the stage `preprocess` writes."""
    missing = [task for task in TASKS if not (data / task / "train.parquet").is_file()]
    if missing:
        raise DataError(f"{data} holds no train.parquet of {', '.join(missing)}; `dvc repro preprocess` makes them")
    tables = {task: pd.read_parquet(data / task / "train.parquet", columns=["tokens1", "tokens2"]) for task in TASKS}
    parts: list[str] = []
    for encoding in ("cross", "bi"):
        lines = [f'    "{task}": {json.dumps(counts(table, encoding))}' for task, table in tables.items()]
        parts.append(f'  "{encoding}": {{\n' + ",\n".join(lines) + "\n  }")
    write_text(FILE, "{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    with report_errors():
        main(Path(sys.argv[1]))

"""Make texts with any number of moods, in each form that people have: `python moods.py OUT`.

A word of a mood stands in a text if the text has it. A fifth of the texts has none, as in GoEmotions' `neutral`.
"""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import runs
import trained

from mtbert import tasks
from mtbert.data.preprocess import preprocess
from mtbert.data.tokens import wordpieces
from mtbert.pretrained import fetching
from mtbert.provenance import seals
from mtbert.variants.settings import VariantSettings

Selection = Literal["spared", "whole"]

WORDS = {
    "joy": ("happy", "wonderful", "love"),
    "anger": ("furious", "hate", "outrage"),
    "fear": ("afraid", "scared", "terror"),
    "surprise": ("wow", "suddenly", "unexpected"),
}
SHARES = (0.4, 0.3, 0.25, 0.15)  # of the texts that have each mood
FILLERS = ("the", "my", "day", "train", "again", "with", "on", "it", "they", "said", "to", "me", "was", "so")
FORMS = ("jsonl", "parquet", "separator", "columns")


def made(rows: int, seed: int) -> list[tuple[str, list[str]]]:
    """Return texts with their moods; of a tenth of these the text says nothing."""
    random = np.random.default_rng(seed)
    texts: list[tuple[str, list[str]]] = []
    for number in range(rows):
        moods = [mood for mood, share in zip(WORDS, SHARES, strict=True) if random.random() < share]
        said = [str(random.choice(WORDS[mood])) for mood in moods if random.random() < 0.9]
        words = random.permutation([*said, *random.choice(FILLERS, 5)])
        texts.append((f"{' '.join(words)} {number}", moods))
    return texts


def write(folder: Path, form: str = "jsonl", sizes: tuple[int, int] = (240, 60)) -> None:
    """Write moods-train and moods-dev in a form."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, count, seed in zip(("train", "dev"), sizes, (1, 2), strict=True):
        rows: list[dict[str, Any]] = []
        for text, moods in made(count, seed):
            if form == "columns":
                rows.append({"text": text, **{mood: int(mood in moods) for mood in WORDS}})
            else:
                rows.append({"text": text, "moods": ";".join(moods) if form == "separator" else moods})
        file = folder / f"moods-{split}.{form if form in ('jsonl', 'parquet') else 'csv'}"
        if form == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), file)
        elif form == "jsonl":
            file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        else:
            with file.open("w", newline="") as opened:
                writer = csv.DictWriter(opened, [*rows[0]])
                writer.writeheader()
                writer.writerows(rows)


TASK = "moods:\n  files: {train: moods-train.jsonl, dev: moods-dev.jsonl}\n  sentences: [text]\n  label: moods\n"
LABELS = "  several: true\n  classes: [joy, anger, fear, surprise]\n"


def build(folder: Path, selections: Sequence[Selection]) -> Path:
    """Return a build folder with a small model for each selection of epochs, which is its name, seed 1."""
    data, build_folder = folder / "data", folder / "build"
    write(data, "jsonl", (120, 40))
    (data / "tasks.yaml").write_text(TASK + LABELS)
    encoder = build_folder / "encoders/base"
    fetching.fetch(trained.ENCODER, data, encoder)
    seals.seal(encoder)
    preprocess(data, build_folder / "data", wordpieces(encoder), {("moods", "train"), ("moods", "dev")})
    described = tasks.of_a_model(tasks.read_folder(data)["moods"])
    for selection in selections:
        phase = {"epoch_length": "20 steps", "learning_rate": 0.01, "batch_size": 8, "spared": 0.3}
        run = {"selection": selection, "keep": "best", "evaluations": 1}
        given = runs.settings(phase=phase, run=run).model_dump()
        given["variant"], given["tasks"], given["phases"][0]["tasks"] = selection, ["moods"], ["moods"]
        given["model"] |= {"heads": {"moods": {"name": "linear"}}, "pooling": {"moods": "mean"}, "max_tokens": 16}
        trained.train(build_folder, VariantSettings(**given | {"described": {"moods": tasks.dump_task(described)}}))
    return build_folder


if __name__ == "__main__":
    for each in FORMS:
        write(Path(sys.argv[1]) / each, each)

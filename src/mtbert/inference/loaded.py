"""Load an export as its card says, in a process that knows no mtbert, and tell what it gives: `python loaded.py`.

Arguments: the form, the export's folder, a JSON file of texts, and the JSON file to write. The texts are lists by task:
one list of sentences, or the first and the second sentences of pairs, and whether these are encoded apart. What is
written are rows of numbers by task: the logits, or the embeddings of the first sentences.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.modules["mtbert"] = None  # type: ignore[assignment]  # as where it is not installed

Texts = dict[str, tuple[list[list[str]], bool]]  # by task: the columns, and whether they are encoded apart
Rows = dict[str, list[list[float]]]


def hf(folder: str, texts: Texts) -> Rows:
    """Return logits by transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    found = Rows()
    for task, (columns, apart) in texts.items():
        stacked = [[*columns[0], *columns[1]]] if apart else columns
        inputs = tokenizer(*stacked, padding=True, truncation=True, return_tensors="pt")
        more: dict[str, Any] = {"sequences": 2} if apart else {}
        with torch.no_grad():
            found[task] = model(**inputs, task=task, **more).logits.tolist()
    return found


def sentence_transformers(folder: str, texts: Texts) -> Rows:
    """Return the embeddings of the first sentences by sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, trust_remote_code=True, device="cpu")
    return {task: model.encode(columns[0], task=task).tolist() for task, (columns, _) in texts.items()}


def onnx(folder: str, texts: Texts) -> Rows:
    """Return logits by onnxruntime."""
    from onnxruntime import InferenceSession
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = Rows()
    for task, (columns, apart) in texts.items():
        stacked = [[*columns[0], *columns[1]]] if apart else columns
        inputs = tokenizer(*stacked, padding=True, truncation=True, return_tensors="np")
        found[task] = InferenceSession(f"{folder}/{task}.onnx").run(["logits"], dict(inputs))[0].tolist()  # type: ignore[union-attr]
    return found


FORMS = {"hf": hf, "sentence-transformers": sentence_transformers, "onnx": onnx}

if __name__ == "__main__":
    form, folder, texts_file, out = sys.argv[1:]
    rows = FORMS[form](folder, json.loads(Path(texts_file).read_text(encoding="utf-8")))
    Path(out).write_text(json.dumps(rows), encoding="utf-8")

"""Load an export as its card says, in a process without mtbert, and write what it computes: `python loaded.py`.

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
Outputs = dict[str, list[list[float]]]  # by task: a row of numbers for each text or pair


def hf(folder: str, texts: Texts) -> Outputs:
    """Return logits by transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    outputs = Outputs()
    for task, (columns, apart) in texts.items():
        inputs = tokenizer(*_stacked(columns, apart), padding=True, truncation=True, return_tensors="pt")
        options: dict[str, Any] = {"sequences": 2} if apart else {}
        with torch.no_grad():
            outputs[task] = model(**inputs, task=task, **options).logits.tolist()
    return outputs


def sentence_transformers(folder: str, texts: Texts) -> Outputs:
    """Return the embeddings of the first sentences by sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, trust_remote_code=True, device="cpu")
    return {task: model.encode(columns[0], task=task).tolist() for task, (columns, _) in texts.items()}


def onnx(folder: str, texts: Texts) -> Outputs:
    """Return logits by onnxruntime."""
    from onnxruntime import InferenceSession
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    outputs = Outputs()
    for graph in Path(folder).glob("*.onnx"):
        session = InferenceSession(graph)
        for task in (output.name for output in session.get_outputs()):
            columns, apart = texts[task]
            inputs = tokenizer(*_stacked(columns, apart), padding=True, truncation=True, return_tensors="np")
            (logits,) = session.run([task], dict(inputs))
            outputs[task] = logits.tolist()  # type: ignore[union-attr]
    return outputs


def _stacked(columns: list[list[str]], apart: bool) -> list[list[str]]:
    """Return the columns; of pairs that are encoded apart, all first sentences and then all second ones as one."""
    return [[*columns[0], *columns[1]]] if apart else columns


FORMS = {"hf": hf, "sentence-transformers": sentence_transformers, "onnx": onnx}

if __name__ == "__main__":
    form, folder, texts_file, out = sys.argv[1:]
    texts = json.loads(Path(texts_file).read_text(encoding="utf-8"))
    Path(out).write_text(json.dumps(FORMS[form](folder, texts)), encoding="utf-8")

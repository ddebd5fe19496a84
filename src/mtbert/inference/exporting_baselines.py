"""Write a baseline as a folder that safetensors, scikit-learn and sentence-transformers load, as its card says."""

import shutil
from pathlib import Path

from huggingface_hub import ModelCard, ModelCardData

from mtbert import files, layout
from mtbert.baselines import tfidf
from mtbert.inference.baseline import Baseline
from mtbert.pretrained import embeddings, loading
from mtbert.scores import metrics
from mtbert.scores.described import FROZEN, MAJORITY, TFIDF
from mtbert.serving import description

TEMPLATE = Path(__file__).with_name("baseline_card.md")
ABOUT = {
    MAJORITY: "always the most frequent class of train, or the mean of its scores.",
    TFIDF: "logistic or ridge regression on TF-IDF of words and letters.",
    FROZEN: "logistic or ridge regression on the embeddings of an encoder that was not trained.",
}


def write(model: Baseline, out: Path) -> None:
    """Write config.json, model.safetensors, the encoder where one is read, and README.md into an empty folder."""
    for name in (layout.BASELINE, layout.WEIGHTS):
        shutil.copyfile(model.run / name, out / name)
    for name in (layout.SETTINGS, layout.METRICS):
        shutil.copyfile(model.run / name, out / f"mtbert_{name}")
    if model.encoder is not None:
        embeddings.embedding_model(model.encoder).save(str(out / "encoder"), create_model_card=False)
        loading.copy_tokenizer(model.encoder, out / "encoder")
    files.write_text(out / description.CARD, card(model))


def card(model: Baseline) -> str:
    """Return the text of README.md, with metadata for the Hub."""
    data_kind = layout.data_kind(layout.build_of(model.run))
    is_of_sample = data_kind == "sample"
    metadata = ModelCardData(
        language=None if data_kind == "own" else "en",
        license="apache-2.0" if is_of_sample and model.encoder is None else "other",
        library_name="sklearn",
        tags=["mtbert", *model.tasks],
        model_name=model.name,
        pipeline_tag="text-classification",
    )
    text = ModelCard.from_template(
        metadata,
        template_path=str(TEMPLATE),
        model=model,
        is_tfidf=model.name == TFIDF,
        is_frozen=model.name == FROZEN,
        about=ABOUT[model.name],
        options=tfidf.OPTIONS,
        sample=is_of_sample,
        tasks=[model.task(name) for name in model.tasks],
        metric_in_words=metrics.in_words,
    )
    return str(text)

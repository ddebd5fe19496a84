"""Small trained models, which no test alters."""

from pathlib import Path

import pytest
import trained

MATCHING = {"heads": {"sst": {"name": "linear"}, "sts": {"name": "matching"}}}  # so its pairs are encoded apart
RANKING = {"heads": {"sst": {"name": "linear"}, "sts": {"name": "mnr"}}}  # it has outputs beside the score


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = trained.build(tmp_path_factory.mktemp("trained") / "build")
    trained.train(folder, trained.settings("apart-in-fp32", **trained.MODEL["apart"] | RANKING))
    trained.train(folder, trained.settings("typed", **trained.MODEL["crossed"], token_types="by_sentence"))
    trained.train(folder, trained.settings("matched", **trained.MODEL["crossed"] | MATCHING))
    trained.train(folder, trained.settings("alone", tasks=("sst",), **trained.MODEL["crossed"]))
    return folder

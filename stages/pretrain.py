"""Stage `pretrain`: train further starting weights, by name, from those of stage `encoder`."""

import importlib
import os
from pathlib import Path

from mtbert import errors, files, layout
from mtbert.command import program, starting
from mtbert.encoders.settings import PRETRAININGS


def main(kind: str, plan: Path, build: Path) -> None:
    """Write build/encoders/KIND; only a card that says so where no selected variant starts from it."""
    if kind not in PRETRAININGS:
        raise errors.UnknownNameError("pretraining", kind, PRETRAININGS)
    content = layout.read_plan(plan, "needed")
    if not content.pop("needed"):
        with files.new_directory(layout.encoder(build, kind)) as partial:
            files.write_json(partial / "encoder.json", {"needed": False})
            layout.seal(partial)
        return
    settings = files.read_as(PRETRAININGS[kind], plan, "dvc repro plan", lambda *_: content)
    # All files are local: keep the libraries from asking the model hub. They read this when they are imported.
    os.environ["HF_HUB_OFFLINE"] = "1"
    with starting.quick_imports():
        pretraining = importlib.import_module(f"mtbert.encoders.{kind}")
    layout.check_sealed(layout.encoder(build))
    pretraining.pretrain(settings, build)
    layout.seal(layout.encoder(build, kind))


if __name__ == "__main__":
    program.run(main)

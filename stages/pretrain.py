"""Stage `pretrain`: train the starting weights `sbert` from those of stage `encoder`."""

import os
from pathlib import Path

from mtbert import files, layout
from mtbert.machine import program
from mtbert.pretrained.settings import SBERT, SbertSettings
from mtbert.provenance import seals


def main(plan: Path, build: Path) -> None:
    """Write build/encoders/sbert; an empty seal where no selected variant starts from it."""
    content = layout.read_plan(plan, "needed")
    out = layout.encoder(build, SBERT)
    if not content.pop("needed"):
        with files.new_directory(out) as partial:
            seals.seal(partial)
        return
    settings = files.checked(SbertSettings, content, plan, "dvc repro plan")
    # All files are local: keep the libraries from asking the model hub. They read this when they are imported.
    os.environ["HF_HUB_OFFLINE"] = "1"
    from mtbert.pretrained import sbert

    seals.check(layout.encoder(build))
    sbert.pretrain(settings, build)
    seals.seal(out)


if __name__ == "__main__":
    program.run(main)

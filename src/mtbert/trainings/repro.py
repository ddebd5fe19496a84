"""`dvc repro` without its hint to push where no remote is set: `python -m mtbert.trainings.repro repro manifest`."""

import sys
from typing import Any

HINT = "Use `dvc push`"  # how the line begins that DVC ends with


def main() -> None:
    """Call DVC's own program with the arguments of this one, and end with its status."""
    from dvc import cli
    from dvc.config import Config
    from dvc.ui import ui

    write = ui.write

    def write_without_hint(*texts: Any, **options: Any) -> None:
        is_hint = bool(texts) and str(texts[0]).startswith(HINT)
        if not is_hint or Config.from_cwd()["remote"]:
            write(*texts, **options)

    ui.write = write_without_hint  # type: ignore[method-assign]
    sys.exit(cli.main(sys.argv[1:]))


if __name__ == "__main__":
    main()

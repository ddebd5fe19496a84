"""Stage `plan`: turn params.yaml into one resolved, checked settings file for each variant."""

import os
from pathlib import Path

from mtbert.errors import SettingsError
from mtbert.machine import program

STAYS = """
`-S` has written this into {file}, where it stays: `git checkout {file}` undoes every change that is not committed.
`dvc repro` then brings back runs that DVC took out of build."""


def main(params: Path, out: Path) -> None:
    """Write the plan files."""
    from mtbert.config import overrides, planning
    from mtbert.config.params import Params
    from mtbert.config.techniques import FILES_OF_ALL
    from mtbert.provenance import code
    from mtbert.replication import names

    settings = Params(params)
    try:
        documents = planning.plan(settings)
        names.check(settings)
    except SettingsError as error:
        if not _edited_by_dvc():
            raise
        os.utime(params)  # git may take it for unchanged: DVC writes it within a second of git's last look at it
        raise SettingsError(f"{error}{STAYS.format(file=params)}") from None
    planning.write(documents | code.of_stages(Path(__file__).parent, FILES_OF_ALL), out)
    for key, presets in overrides.of_profile(settings, settings.get("variants")).items():
        print(f"{key}: profile {settings.get('profile')} sets it, not {', '.join(presets)}")
    for (key, name), other in overrides.near_names(settings):
        print(f"{key}.{name} is new, and nothing selects it; to change {other}, call it {key}.{other}")


def _edited_by_dvc() -> bool:
    """Return whether `dvc exp run` has edited the settings in the working tree, not in a copy (--temp, --queue)."""
    return "DVC_EXP_NAME" in os.environ and os.environ.get("DVC_ROOT") == str(Path.cwd())


if __name__ == "__main__":
    program.run(main)

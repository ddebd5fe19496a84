"""Stage `plan`: turn params.yaml into one resolved, checked settings file for each variant."""

from pathlib import Path

from mtbert import command, starting


def main(params: Path, out: Path) -> None:
    """Write the plan files."""
    with starting.imports():
        from mtbert.config import code, planning
        from mtbert.config.params import Params
    planning.write(planning.plan(Params(params)) | code.of_stages(Path(__file__).parent), out)


if __name__ == "__main__":
    command.run(main)

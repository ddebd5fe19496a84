"""Stage `plan`: turn params.yaml into one resolved, checked settings file for each variant."""

from pathlib import Path

from mtbert import command, starting


def main(params: Path, out: Path) -> None:
    """Write the plan files."""
    with starting.imports():
        from mtbert.claims import names
        from mtbert.config import code, planning
        from mtbert.config.params import Params
    given = Params(params)
    planned = planning.plan(given)
    names.check(given)
    planning.write(planned | code.of_stages(Path(__file__).parent), out)


if __name__ == "__main__":
    command.run(main)

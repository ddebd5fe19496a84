"""Stage `plan`: turn params.yaml into one resolved, checked settings file for each variant."""

from pathlib import Path

from mtbert import command, starting


def main(params: Path, out: Path) -> None:
    """Write the plan files."""
    with starting.imports():
        from mtbert.config import code, planning
        from mtbert.config.params import Params
    settings = Params(params)
    planned = planning.plan(settings)
    planning.write(planned.documents | code.of_stages(Path(__file__).parent), out)
    print(*planned.notes, sep="\n", end="\n" * bool(planned.notes))


if __name__ == "__main__":
    command.run(main)

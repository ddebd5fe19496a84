"""Stage `plan`: turn params.yaml into one resolved, checked settings file for each variant."""

from pathlib import Path

from mtbert import command, credentials, errors, starting


def main(params: Path, out: Path) -> None:
    """Write the plan files."""
    with starting.imports():
        from mtbert.config import code, planning
        from mtbert.config.params import Params
    settings = Params(params)
    data = str(settings.get("data_dir"))
    if (shown := credentials.masked(data)) != data:  # it would be written to plan files, dvc.lock and the report
        raise errors.SettingsError(
            f"data_dir in {params} is {shown}, which holds a user and password; allowed: a path inside the repository, "
            "or an absolute one"
        )
    planned = planning.plan(settings)
    planning.write(planned.documents | code.of_stages(Path(__file__).parent), out)
    print(*planned.notes, sep="\n", end="\n" * bool(planned.notes))


if __name__ == "__main__":
    command.run(main)

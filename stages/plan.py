"""Stage `plan`: params.yaml to one resolved, checked settings file per variant. Usage: plan.py PARAMS OUT"""

from pathlib import Path

from mtbert import credentials, errors, starting


def main(file: Path, out: Path) -> None:
    """Write the plan files."""
    with starting.imports():
        from mtbert import plan
        from mtbert.plan import code
    params = plan.Params(file)
    data = str(params.get("data_dir"))
    if (shown := credentials.masked(data)) != data:  # it would stand in plan files, in dvc.lock and in the report
        raise errors.SettingsError(
            f"data_dir in {file} is {shown}, which holds a user and password; allowed: a path inside the repository, "
            "or an absolute one"
        )
    planned = plan.plan(params)
    plan.write(planned.documents | code.of_stages(Path(__file__).parent), out)
    print(*planned.notes, sep="\n", end="\n" * bool(planned.notes))


if __name__ == "__main__":
    with errors.shown_plainly():
        main(*errors.arguments("PARAMS", "OUT"))

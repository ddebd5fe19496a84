"""README.md: one screen, with what was changed and a command that makes it all again."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from mtbert import files
from mtbert.reporting import catalog, readme, remaking
from mtbert.reporting.sections import summary
from mtbert.reporting.sections.base import Report


def plan(build: Path, **changes: object) -> catalog.Completed:
    """The catalog of what has run, with the keys of its file changed."""
    file = build / "plan" / "catalog.yaml"
    content = files.read_yaml(file)
    files.write_yaml(file, content | changes)
    return catalog.read_completed(build)


def test_the_command_names_what_was_asked_for(make_build: Callable[..., Path]) -> None:
    assert readme.again(plan(make_build(seeds=(1, 2)))).splitlines()[3] == (
        "dvc exp run -S profile=sample -S 'variants=[bert-qqp,bert-sst,bert-sts,pals]' -S 'seeds=[1,2]'"
    )


def test_the_command_holds_every_override_as_one_word_of_the_shell(make_build: Callable[..., Path]) -> None:
    overrides = ["pals.dim=276", "+catalog.mine={paper: own, uses: [pals]}", "run.note=it's; $(touch x)"]
    words = shlex.split(remaking.command(plan(make_build(), overrides=overrides)))
    assert words[:3] == ["dvc", "exp", "run"]
    assert words[3::2] == ["-S"] * 6
    assert words[4::2][3:] == overrides


def test_what_is_missing_is_told_by_seed_and_the_command_trains_it(make_build: Callable[..., Path]) -> None:
    build = make_build(seeds=(1, 2))
    for name in ("bert-sst", "bert-sts"):
        shutil.rmtree(build / "runs" / name / "2")
    found = plan(build)
    assert remaking.absent(found) == ["seed 2: `bert-sst`, `bert-sts`"]
    assert "the command above trains them" in readme.missing(found)
    assert remaking.command(found).endswith("-S 'variants=[bert-qqp,bert-sst,bert-sts,pals]' -S 'seeds=[1,2]'")
    assert readme.again(found).startswith("## To train what is missing\n")
    assert readme.again(found).endswith(readme.WITHOUT_CACHE)
    assert readme.missing(found).endswith(
        "`bert-sst`, `bert-sts`\n\nOne more variant of the catalog is not asked for: see `catalog` in params.yaml."
    )
    assert readme.missing(plan(make_build())) == ""
    assert readme.again(plan(make_build())).startswith("## To train it again\n")


def of_pals(build: Path, *seeds: int, **changes: object) -> catalog.Completed:
    """A plan that asks for these seeds of `pals` alone, and for all of the others."""
    variants = files.read_yaml(build / "plan/catalog.yaml")["variants"]
    variants["pals"]["seeds"] = list(seeds)
    return plan(build, variants=variants, **changes)


def test_seeds_that_were_asked_for_of_some_variants_are_missing_in_no_other(make_build: Callable[..., Path]) -> None:
    build = make_build(seeds=(1, 2))
    shutil.rmtree(build / "runs/pals/1")
    shutil.rmtree(build / "runs/bert-sts")
    found = of_pals(build, 1)
    assert found.missing == (("bert-sts", 1), ("bert-sts", 2), ("pals", 1), ("vote", 1))  # a vote is its members'
    found = of_pals(build, 2)
    assert found.missing == (("bert-sts", 1), ("bert-sts", 2))
    assert {entry.name: entry.seeds for entry in found.ran} == {
        "bert-qqp": (1, 2), "bert-sst": (1, 2), "pals": (2,), "vote": (2,),
    }  # fmt: skip


def test_a_command_asks_for_each_set_of_seeds(make_build: Callable[..., Path]) -> None:
    build = make_build(seeds=(1, 2))
    assert readme.again(of_pals(build, 2)).splitlines() == [
        "## To train it again", "", "```",
        "dvc exp run -S profile=sample -S 'variants=[bert-qqp,bert-sst,bert-sts]' -S 'seeds=[1,2]'",
        "dvc exp run -S profile=sample -S 'variants=[pals]' -S 'seeds=[2]'",
        "```", "",
        "Each command's report shows only what that command asked for. Keep an evidence of your own beside this one: "
        "`mtbert evidence build mine` after the first command, with `--add` after each of the others. It names its "
        "folder: `mtbert report --evidence` makes one report of that.",
    ]  # fmt: skip


def test_a_command_asks_for_the_seeds_that_its_variants_have_where_the_plan_has_more(
    make_build: Callable[..., Path],
) -> None:
    build = make_build(seeds=(1, 2, 3))
    variants = files.read_yaml(build / "plan/catalog.yaml")["variants"]
    found = plan(build, variants={name: row | {"seeds": [1, 2]} for name, row in variants.items()})
    assert readme.again(found).splitlines()[3] == (
        "dvc exp run -S profile=sample -S 'variants=[bert-qqp,bert-sst,bert-sts,pals]' -S 'seeds=[1,2]'"
    )


def test_which_variants_have_which_seeds_is_told_where_not_all_have_the_same(make_build: Callable[..., Path]) -> None:
    build = make_build(seeds=(4, 1, 2, 3, 7))
    assert summary.incomplete(plan(build)) == []
    assert summary.incomplete(of_pals(build, 4, 1, 2, 3)) == [
        "**Not the same seeds.** 3 variants have seeds 1, 2, 3, 4 and 7, 1 has seeds 1 to 4.",
    ]  # fmt: skip
    shutil.rmtree(build / "runs/bert-sts")
    assert summary.incomplete(of_pals(build, 4)) == [
        "**Not complete.** 2 variants have seeds 1, 2, 3, 4 and 7, 1 has seed 4; 1 was not run."
    ]
    shutil.rmtree(build / "runs/bert-sst/7")
    assert summary.incomplete(of_pals(build, 4, 1, 2, 3, 7)) == [
        "**Not complete.** 2 variants have seeds 1, 2, 3, 4 and 7, 1 has seeds 1 to 4; 1 was not run. Some runs are "
        "missing; means and intervals are of those that are there."
    ]


def test_variants_that_were_not_run_are_counted_where_the_others_have_all_their_seeds(
    make_build: Callable[..., Path],
) -> None:
    """An ensemble whose members were not run is no variant."""
    build = make_build(seeds=(1, 2))
    shutil.rmtree(build / "runs/pals")
    assert summary.incomplete(plan(build)) == [
        "**Not complete.** 1 of 4 variants was not run; the others have all their seeds."
    ]


def test_what_was_changed_is_told_with_the_variants_that_it_changes(make_build: Callable[..., Path]) -> None:
    build = make_build()
    variants = files.read_yaml(build / "plan/catalog.yaml")["variants"]
    assert summary.changed(plan(build)) == []
    variants["pals"]["departures"] = {"pals.dim": 276, "training.betas": [0.9, 0.98], "training.sampler": "annealed"}
    assert summary.changed(plan(build, variants=variants, overrides=["pals.dim=276"])) == [
        "**Changed settings.** These are not the papers' rows any more, and \N{DAGGER} marks them: `pals`: "
        "`pals.dim=276`, `training.betas=[0.9, 0.98]`, `training.sampler=annealed`."
    ]


def test_a_directory_of_ones_own_is_shown_without_its_place(make_build: Callable[..., Path]) -> None:
    build = make_build()
    content = files.read_yaml(build / "plan" / "catalog.yaml")
    files.write_yaml(build / "plan" / "catalog.yaml", content | {"data_dir": "/home/someone/corpora"})
    assert catalog.read(build / "plan" / "catalog.yaml").data == "/path/to/corpora"


def test_the_readme_is_one_screen(make_build: Callable[..., Path]) -> None:
    build = make_build()
    report = Report(build, plan(build), (summary.SECTION,))
    report.tables, report.verdicts = [], []
    lines = readme.render(report).splitlines()
    assert lines[2] == "4 of the catalog's 5 variants, one seed each, trained from the encoder `tiny`."
    assert len(lines) < 40

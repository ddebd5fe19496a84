"""What settings may not hold, and how it is told."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.config.conftest import PARAMS, edited

from mtbert import files
from mtbert.config import papers, planning
from mtbert.config.params import Params
from mtbert.errors import MtbertError, SettingsError
from mtbert.scores import metrics
from mtbert.tasks import COURSE, main
from mtbert.variants.settings import Length

Refused = Callable[..., list[str]]
EVERY_PART = ["encoder", "features", "adapters", "connector", "heads"]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("pals.dimm", 10, "pals.dimm: unknown key 'dimm'; did you mean dim? known: dim, heads"),
        ("catalog.pals.zzz", "red", "catalog.pals.zzz: unknown key 'zzz'; known: paper, row, also"),
        ("ensembles.pals", {"members": ["pals"]}, "ensembles.pals: a variant has this name; allowed: another one"),
        ("ensembles.baseline-tfidf", {"members": ["pals"]}, "ensembles.baseline-tfidf: a baseline has this name"),
        ("catalog.untrained-encoder", {"uses": ["pals"]}, "catalog.untrained-encoder: a baseline has this name"),
        ("catalog.other-gpt", {"uses": ["pals"]}, "catalog.other-gpt: a baseline has this name, or predictions of"),
        ("presets.mine", {"encoder": {"name": "tiny"}}, "presets.mine.encoder: unknown key 'encoder'"),
        ("pals.dim", "wide", "pals.dim: Input should be a valid integer, got 'wide'"),
        ("run.log_every", 0, "run.log_every: Input should be greater than or equal to 1, got 0"),
        ("training.clip", "nil", "training.clip: allowed: a number, or none, got 'nil'"),
        ("training.learning_rate", float("nan"), "training.learning_rate: Input should be a finite number"),
        (
            "training.learning_rate",
            {"encoder": "fast"},
            "training.learning_rate.encoder: Input should be a valid number",
        ),
        (
            "training.learning_rate",
            {"head": 1e-3},
            "training.learning_rate.head: Input should be 'encoder', 'adapters'",
        ),
        ("limit.milliseconds", 0, "limit.milliseconds: Input should be greater than 0, got 0"),
        ("limit.seconds", 1, "limit.seconds: unknown key 'seconds'; did you mean milliseconds?"),
        ("catalog", [], "catalog: Input should be a valid dictionary"),
        ("catalog", 3, "catalog: Input should be a valid dictionary, got 3"),
        ("profiles", 3, "profiles: Input should be a valid dictionary, got 3"),
        ("presets", True, "presets: Input should be a valid dictionary, got True"),
        ("ensembles.vote", 3, "ensembles.vote: Input should be a valid dictionary, got 3"),
        ("catalog.pals.phases", [{"epochs": 1.5}], "catalog.pals.phases.0.epochs: Input should be a valid integer"),
        ("training.sampler", "fair", "training.sampler: unknown sampler 'fair'; known: sequential"),
        ("training.tasks", [], "training.tasks: List should have at least 1 item after validation, not 0, got []"),
        ("training.tasks", "some", "training.tasks: allowed: all, or a list of tasks, got 'some'"),
        ("training.tasks", ["sst", "sst"], "training.tasks: 'sst' is listed twice; allowed: each once"),
        ("training.trainable", ["hands"], "training.trainable.0: unknown part 'hands'; did you mean heads?"),
        ("model.heads.stss", "mlp", "model.heads.stss: unknown task 'stss'; did you mean sts?"),
        ("model.encoder", "bart", "model.encoder: unknown starting weights 'bart'; did you mean sbert?"),
        ("profile", "large", "profile: unknown profile 'large'; known: sample, laptop, own, paper, modern"),
        ("variants", ["palz"], "variants.0: unknown variant 'palz'; did you mean pals?"),
        ("variants", [], "variants: List should have at least 1 item"),
        ("seeds", [1, 2, 1], "seeds: 1 is listed twice; allowed: each once"),
        ("catalog.pals.paper", "pals-4-pals", "catalog.pals.paper: unknown paper 'pals-4-pals'; did you mean pals-f"),
        ("catalog.pals.uses", ["pals", "magic"], "catalog.pals.uses.1: unknown technique 'magic'; known: words"),
        ("ensembles.vote", {"members": ["pals", "palz"]}, "ensembles.vote.members.1: unknown variant 'palz'; did"),
        ("catalog.catalog", {}, "catalog.catalog: a file of the plan has such a name"),
        ("catalog.pretrain", {}, "catalog.pretrain: a file of the plan has such a name; taken: catalog, "),
        ("catalog.code-mine", {}, "catalog.code-mine: a file of the plan has such a name"),
        ("catalog.a/b", {}, "catalog.a/b: String should match pattern"),
        ("run.threads", 1000, "run.threads: Input should be less than or equal to 256, got 1000"),
        ("pals.dim", 1_200_000_000, "pals.dim: Input should be less than or equal to 4096, got 1200000000"),
        (
            "training.learning_rate",
            1e39,
            "training.learning_rate: Input should be less than or equal to 100",
        ),
        ("training.epoch_length", "8 epochs", "training.epoch_length: allowed: all, `100 steps`, `1000 examples of"),
        ("training.epoch_length", 8, "training.epoch_length: allowed: all, `100 steps`"),
        (
            "training.epoch_length",
            "0 steps",
            "training.epoch_length: allowed: a number from 1 to 2147483647, got '0",
        ),
        (
            "training.epoch_length",
            "9" * 5000 + " steps",
            "training.epoch_length: allowed: a number from 1 to 2147483647, got '999",
        ),
        ("training.epoch_length", "1.5 of all examples", "training.epoch_length: allowed: a share above 0 and below 1"),
        ("training.betas", [0.9, 1.0], "training.betas.1: Input should be less than 1, got 1.0"),
        (
            "training.batch_sizes",
            {"sst": 10**9},
            "training.batch_sizes.sst: Input should be less than or equal to 65536",
        ),
        ("smart.weight", 1e38, "smart.weight: allowed: at most 2147483647, got 1e+38"),
        ("data_dir", "/", "data_dir: / holds no file of a task, such as cs224n/ids-sst-train.csv; allowed: data/"),
        (
            "data_dir",
            "data/moved",
            "data_dir: data/moved is no folder; allowed: data/sample, data/official (`make offici",
        ),
        ("data_dir", "../data", "data_dir: it cannot be part of a command; allowed: letters"),
        ("data_dir", "$(x)", "data_dir: it cannot be part of a command"),
    ],
)
def test_a_value_is_refused_with_its_key_what_came_and_what_is_allowed(
    refused: Refused, key: str, value: Any, told: str
) -> None:
    found = refused((key, value))
    assert any(line.startswith(told) for line in found), found


def test_unknown_keys_and_faulty_values_of_a_section_are_told_at_once(refused: Refused) -> None:
    told = refused(("pals.dimm", 1), ("pals.head", 2), ("pals.dim", "wide"))
    assert [line.partition(": ")[0] for line in told] == ["pals.dimm", "pals.head", "pals.dim"]


def test_a_folder_of_compressed_corpora_is_told_what_unpacks_them(refused: Refused, tmp_path: Path) -> None:
    files.write_text(tmp_path / "cs224n/sts-dev.csv.gz", "")
    (told,) = refused(("data_dir", str(tmp_path)))
    assert f"/sts-dev.csv.gz is there, but compressed: `gunzip -k {tmp_path}/cs224n/*.gz` unpacks it; allowed: " in told


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("pals.heads", 5, "pals: dim is 204 and heads 5, which does not divide it; allowed: a multiple of 5"),
        ("run", {"keep": "best", "evaluations": 0}, "run: keep is best, which needs dev scores"),
        ("training.supervised", False, "training: supervised is false and objectives is empty"),
        ("training.gradients", "pcgrad", "training.gradients: pcgrad needs several tasks in a step"),
        (
            "catalog.bert-sst.model",
            {"connector": "relational"},
            "catalog.bert-sst.model.connector: the connector serves",
        ),
        ("catalog.pals.smart", {"weight": 2.0}, "catalog.pals.smart: the variant does not use smart; add it to `uses`"),
        (
            "catalog.pals.uses",
            ["annealed", "round_robin"],
            "catalog.pals.uses.1: 'round_robin' would take the place of",
        ),
        ("catalog.pals.model", {"heads": {"sst": "squared_cosine"}}, "catalog.pals.model.heads.sst: "),
        (
            "catalog.pals",
            {"uses": ["round_robin"], "training": {"sampler": "sequential"}},
            "catalog.pals.uses.0: 'round_robin' would take the place of training.sampler: sequential; allowed: one",
        ),
        (
            "run",
            {"keep": "best", "evaluations": 50},
            "run.evaluations: run.keep is best, but no epoch of the last phase is scored on dev; allowed: at most 4",
        ),
        ("catalog.pals.training", {"tasks": ["sst", "cfimdb"]}, "catalog.pals.training.tasks: cfimdb: trains none of"),
        (
            "encoder",
            {"name": "minilm-4", "width": 256},
            "encoder: width is 256, but name is minilm-4, which does not read",
        ),
        (
            "encoder",
            {"name": "minilm", "corpora": ["sst"]},
            "encoder: corpora is ['sst'], but name is minilm, which does",
        ),
        ("encoder.name", "minilm-7", "encoder: name is minilm-7, but that encoder has only 6 layers"),
        ("pals.layers", [2], "pals: pals.layers is [2]; allowed: layers 0 to 1 of the encoder"),
        ("training.frozen", ["layer_3"], "training.frozen: layer_3: the encoder has 2 layers"),
        ("catalog.pals.phases", [{}, {"tasks": ["cfimdb"]}], "catalog.pals.phases.1.tasks: cfimdb: trains none of"),
        ("catalog.pals.uses", ["pals", "pcgrad"], "catalog.pals.uses.1: pcgrad needs several tasks in a step"),
        (
            "catalog.pals.training",
            {"frozen": EVERY_PART},
            "catalog.pals.training.frozen: frozen holds all of trainable",
        ),
        (
            "catalog.pals",
            {"uses": ["low_rank"], "low_rank": {"dim": "as_pals"}, "pals": {"heads": 5}},
            "catalog.pals.pals: dim is 204 and heads 5",
        ),
        (
            "catalog.pals",
            {"uses": ["round_robin_shortest"], "round_robin_shortest": {"until": "cfimdb"}},
            "catalog.pals.uses.0: round_robin_shortest.until is cfimdb, which the phase does not train; allowed: small",
        ),
        (
            "catalog.pals",
            {"uses": ["annealed", "pals"], "phases": [{"epochs": 1, "sampler": "sequential"}]},
            "catalog.pals.uses.0: no phase trains with 'annealed': each of `phases` sets its sampler; allowed: a phase",
        ),
        (
            "catalog.pals",
            {"uses": ["smart"], "phases": [{"objectives": ["simcse"]}]},
            "catalog.pals.uses.0: no phase trains with 'smart': each of `phases` sets its objectives; allowed: a phase",
        ),
        ("catalog.pals", {"uses": ["annealed"], "phases": []}, "catalog.pals.uses.0: the variant has no phases; leave"),
        (
            "catalog.pals",
            {"training": {"batch_size": 7}, "phases": [{"batch_size": 9}, {"batch_size": 9}]},
            "catalog.pals.training.batch_size: no phase has 7: each of `phases` sets its own; allowed: a phase without",
        ),
        ("catalog.pals.phases", [{"supervised": False}], "catalog.pals.phases.0: supervised is false and objectives"),
    ],
)
def test_values_that_do_not_fit_together_are_refused_where_one_was_set(
    refused: Refused, key: str, value: Any, told: str
) -> None:
    found = refused((key, value))
    assert any(line.startswith(told) for line in found), found


def test_corpora_are_refused_beside_a_tasks_yaml_whose_tasks_all_count(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a.csv").touch()
    (tmp_path / "mine/tasks.yaml").write_text(
        "".join(f"{name}: {{files: {{train: a.csv}}, sentences: [text], label: {name}, classes: 2}}\n" for name in "ab")
    )
    own = PARAMS.own | {"variants": ["x"], "catalog": {"x": {}}, "data_dir": "mine"}
    own["encoder"] = {"name": "tiny", "corpora": ["a"]}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(own))
    with pytest.raises(
        SettingsError, match=r"encoder\.corpora: \['a'\] has no effect: .* all tasks in mine/tasks\.yaml"
    ):
        planning.plan(Params(tmp_path / "params.yaml"))


def test_a_fault_names_file_and_line_also_in_a_paper(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "data/sample").mkdir(parents=True)
    (tmp_path / "papers/mine.yaml").write_text("title: Mine\norder: 1\nvariants:\n  plain:\n    tasks: [sts, stss]\n")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS.own | {"variants": ["plain"]}))
    lines = (tmp_path / "params.yaml").read_text().splitlines()
    (tmp_path / "params.yaml").write_text("\n".join(lines).replace("log_every: 10", "log_every: 0"))
    with pytest.raises(SettingsError) as error:
        planning.plan(Params(tmp_path / "params.yaml"))
    head, paper, own = str(error.value).splitlines()
    assert head == "2 faults in the settings; nothing was trained"
    assert paper.startswith(
        f"  {tmp_path}/papers/mine.yaml:5: variants.plain.tasks.1: unknown task 'stss'; did you mean"
    )
    assert re.match(rf"  {tmp_path}/params.yaml:{lines.index('  log_every: 10') + 1}: run.log_every: ", own)


@pytest.mark.parametrize("member", [["pals"], {"pals": 1}])
def test_a_member_of_another_type_is_refused(tmp_path: Path, member: Any) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "data/sample").mkdir(parents=True)
    ensembles = {"all": {"members": [member]}}
    content = {"title": "Mine", "order": 1, "variants": {"plain": {"tasks": "each"}}, "ensembles": ensembles}
    (tmp_path / "papers/mine.yaml").write_text(yaml.safe_dump(content))
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS.own | {"variants": ["plain-sst"]}))
    with pytest.raises(
        SettingsError, match=r"mine\.yaml:\d+: ensembles\.all\.members\.0: Input should be a valid string"
    ):
        planning.plan(Params(tmp_path / "params.yaml"))


def test_a_fault_of_an_entry_of_every_task_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "data/sample").mkdir(parents=True)
    (tmp_path / "papers/mine.yaml").write_text(
        "title: Mine\norder: 1\nvariants:\n  plain:\n    tasks: each\n    run: {log_every: 0}\n"
    )
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS.own | {"variants": ["plain-sst"]}))
    with pytest.raises(SettingsError) as error:
        planning.plan(Params(tmp_path / "params.yaml"))
    head, fault = str(error.value).splitlines()
    assert head == "1 fault in the settings; nothing was trained"
    assert ":6: variants.plain.run.log_every: " in fault


def test_a_variant_of_ones_own_is_not_taken_for_one_that_a_paper_makes_of_each_task() -> None:
    file, _, key = PARAMS.put(("catalog", "pals-sst"), {"uses": ["pals"]}).find(("catalog", "pals-sst", "tasks"))
    assert (file, key) == (PARAMS.file, "catalog.pals-sst.tasks")


@pytest.mark.parametrize(
    "text",
    ["pals: {dim: 1", "- a\n", "", "pals: 1\npals: 2\n", "x: !!python/object:os.system {}", "[" * 10_000,
     b"\xff\xfe\x00", "a: *b\n", "a: 1\n---\nb: 2\n", "seeds: [" + "9" * 5000 + "]", "1: 2", "data_dir: 2001-01-01"],
)  # fmt: skip
def test_yaml_that_is_no_settings_is_refused(tmp_path: Path, text: str | bytes) -> None:
    (tmp_path / "params.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(MtbertError, match=r"params\.yaml"):
        planning.plan(Params(tmp_path / "params.yaml"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title: A\n", "order: Field required"),
        ("title: A\norder: 1\nvariant: {}\n", "unknown key 'variant'; did you mean variants?"),
        ("title: A\norder: 1\nvariants: {pals: {}}\n", "variants.pals: "),
        ("title: A\norder: 1\nvariants: {mine: {paper: b}}\n", "variants.mine.paper: it is one by the file's name"),
    ],
)
def test_a_paper_is_refused_by_file(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "one.yaml").write_text(text)
    (tmp_path / "other.yaml").write_text("title: B\norder: 2\nvariants: {pals: {}}\n")
    with pytest.raises(SettingsError, match=r"(one|other)\.yaml: .*" + re.escape(told)):
        papers.load(tmp_path)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("dev: {sst: 1.2}", "dev.sst: Input should be less than or equal to 1, got 1.2"),
        ("validation: {sst: 0.2}", "unknown key 'validation'"),
        ("dev: {f1: 0.2}", "unknown metric 'f1'"),
    ],
)
def test_a_published_score_is_refused_by_its_row(tmp_path: Path, row: str, told: str) -> None:
    (tmp_path / "one.yaml").write_text(f"title: A\norder: 1\ntables: {{'1': {{Plain: {{{row}}}}}}}\n")
    with pytest.raises(SettingsError, match=r"one\.yaml: tables\.1\.Plain.*" + re.escape(told)):
        papers.load(tmp_path)


ROWS = {
    f"{paper} {number} {label} {split}": (row, getattr(row, split))
    for paper, its in papers.load().items()
    for number, table in its.tables.items()
    for label, row in table.items()
    for split in ("dev", "train", "test")
}


def test_published_overalls_follow_from_their_parts() -> None:
    """Where they do not, the row's note says so."""
    odd = []
    for name, (row, scores) in ROWS.items():
        parts = {task: scores[task] for task in main(COURSE) if task in scores}
        means = metrics.overall(parts, COURSE) or {"overall_raw": sum(parts.values()) / max(len(parts), 1)}
        printed = {overall: scores[overall] for overall in metrics.OVERALLS if overall in scores}
        # parts are off by 0.0005 at most, and so is their mean
        agrees = all(abs(value - means.get(overall, 9)) <= 0.001 for overall, value in printed.items())
        odd += [] if agrees or row.note.startswith("inconsistent") else [name]
    assert odd == []


def test_the_overall_that_a_paper_does_not_print_is_computed() -> None:
    row = papers.PublishedRow(dev={"sst": 0.4, "qqp": 0.6, "sts": 0.2, "overall_raw": 0.4})
    assert row.splits["dev"] == {**row.dev, "overall_normalised": pytest.approx(1.6 / 3)}


def places(node: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    return [place, *(below for key in keys for below in places(node[key], (*place, key)))]


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.dates(),
    st.sampled_from(["pals", "mlp", "sst", "sbert", "all", "smart", "none", "base", 0, 1, 0.5]),
)  # fmt: skip
ANYTHING = st.recursive(LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(LEAVES, below, max_size=3))


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([place for place in places(PARAMS.own) if place]), ANYTHING)
def test_any_value_at_any_key_is_resolved_or_refused(place: tuple[Any, ...], value: Any) -> None:
    try:
        planning.plan(edited(("variants", ["pals"])).put(place, value))
    except SettingsError:
        return


def test_a_small_share_of_an_epoch_is_read_again_as_the_plan_states_it() -> None:
    stated = Length.read("0.00001 of all examples").dump()
    assert stated == "0.00001 of all examples"
    assert Length.read(stated) == Length(share=0.00001)

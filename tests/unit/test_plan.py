"""params.yaml to plan files: what reaches a variant's file, and how faults are told."""

import re
from pathlib import Path

import pytest
import yaml

from mtbert import plan
from mtbert.errors import SettingsError
from mtbert.report import published

PARAMS = Path(__file__).parents[2] / "params.yaml"


def planned(tmp_path: Path, *edits: tuple[str, object], text: str | None = None) -> dict:
    """The documents of the project's own params.yaml with some values replaced: ("pals.dim", 276)."""
    values = yaml.safe_load(text or PARAMS.read_text(encoding="utf-8"))
    for place, value in edits:
        *path, last = place.split(".")
        node = values
        for key in path:
            node = node.setdefault(key, {})
        node[last] = value
    return written(tmp_path, values).documents


def written(tmp_path: Path, values: dict) -> plan.Planned:
    """What is planned where params.yaml holds these values; the sample lies beside it."""
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    (tmp_path / "data/sample").mkdir(parents=True, exist_ok=True)
    return plan.plan(plan.Params(file))


def faults(tmp_path: Path, *edits: tuple[str, object]) -> str:
    with pytest.raises(SettingsError) as error:
        planned(tmp_path, *edits)
    return str(error.value)


def changed(before: dict, after: dict) -> set[str]:
    """The files that differ; of the catalog's, what is told of departures apart."""
    told = ("overrides", "departures")

    def rest(document: object) -> object:
        if isinstance(document, dict):
            return {key: rest(value) for key, value in document.items() if key not in told}
        return document

    return {name for name in before if rest(before[name]) != rest(after.get(name))}


PALS_VARIANTS = {"pals", "frozen-pals", "sbert-pals", "smart-pals"}


@pytest.mark.parametrize(
    ("edit", "files"),
    [
        (("pals.dim", 276), PALS_VARIANTS),
        (("smart.radius", 0.1), {"smart-pals"}),
        (("mlp.width", 128), {"bert-sst", "bert-qqp", "bert-sts", "frozen-bert", *PALS_VARIANTS}),
        (("catalog.pals.pals", {"dim": 12}), {"pals"}),
        (("catalog.bert-sst.training", {"epochs": 1}), {"bert-sst"}),
        (("pretrain.sbert.batch_size", 16), {"pretrain-sbert"}),
        (("seeds", [1, 2]), {"catalog"}),
        (("profiles.laptop.training.epochs", 9), set()),
    ],
)
def test_an_edit_reaches_the_files_that_it_concerns(tmp_path, edit, files):
    assert changed(planned(tmp_path), planned(tmp_path, edit)) == files


def test_a_variant_with_its_own_value_keeps_it(tmp_path):
    own = ("catalog.smart-pals.pals", {"dim": 12})
    assert changed(planned(tmp_path, own), planned(tmp_path, own, ("pals.dim", 276))) == PALS_VARIANTS - {"smart-pals"}


def test_layers_of_settings_from_weak_to_strong(tmp_path):
    def rate(*edits):
        return planned(tmp_path, *edits)["pals"]["phases"][0]["learning_rate"]

    strip = [("profiles.sample.training", {}), ("presets.pals-for-pals.training", {}), ("catalog.pals.training", {})]
    default, preset, profile, section, own, phase = (
        ("presets.default.training.learning_rate", 1e-1),
        ("presets.pals-for-pals.training.learning_rate", 1e-2),
        ("profiles.sample.training.learning_rate", 1e-3),
        ("training.learning_rate", 1e-4),
        ("catalog.pals.training.learning_rate", 1e-5),
        ("catalog.pals.phases", [{"learning_rate": 1e-6}]),
    )
    assert rate(*strip, default) == 1e-1
    assert rate(*strip, default, preset) == 1e-2
    assert rate(*strip, default, preset, profile) == 1e-3
    assert rate(*strip, default, preset, profile, section) == 1e-4
    assert rate(*strip, default, preset, profile, section, own) == 1e-5
    assert rate(*strip, default, preset, profile, section, own, phase) == 1e-6


def test_a_learning_rate_by_kind_goes_before_one_for_all_in_its_layer_and_after_one_in_a_stronger(tmp_path):
    def rates(*edits):
        documents = planned(tmp_path, ("profiles.sample.training", {}), *edits)
        return [documents[name]["phases"][0]["learning_rate"] for name in ("pals", "frozen-pals", "frozen-bert")]

    preset = ("presets.pals-for-pals.training", {"learning_rate": 1e-5, "learning_rates": {"heads": 2e-5}})
    all_kinds = {"encoder": 3e-5, "adapters": 4e-5, "heads": 5e-5}
    assert rates(preset) == [1e-5, 1e-5, 2e-5]
    assert rates(preset, ("profiles.sample.training", {"learning_rates": {"adapters": 4e-5}})) == [1e-5, 4e-5, 2e-5]
    assert rates(preset, ("profiles.sample.training", {"learning_rates": all_kinds})) == [3e-5, 4e-5, 5e-5]
    assert rates(preset, ("profiles.sample.training", {"learning_rate": 6e-5})) == [6e-5, 6e-5, 6e-5]
    assert rates(preset, ("training.learning_rates.heads", 7e-5), ("training.learning_rate", 8e-5)) == [
        8e-5,
        8e-5,
        7e-5,
    ]
    own = ("catalog.frozen-bert.training.learning_rate", 9e-5)
    assert rates(preset, ("profiles.sample.training", {"learning_rates": all_kinds}), own) == [3e-5, 4e-5, 9e-5]


def test_a_phase_takes_the_rate_of_its_own_kind(tmp_path):
    phases = [{"trainable": ["heads"]}, {}, {"trainable": ["adapters"], "learning_rate": 5e-5}]
    rates = {"encoder": 1e-5, "adapters": 2e-5, "heads": 3e-5}
    found = planned(tmp_path, ("catalog.pals.phases", phases), ("training.learning_rates", rates))["pals"]["phases"]
    assert [phase["learning_rate"] for phase in found] == [3e-5, 1e-5, 5e-5]
    assert "learning_rates" not in found[0]


def test_the_reports_own_rates_hold_in_the_paper_profile(tmp_path):
    names = ["pals", "frozen-pals", "frozen-bert", "choose-sst-pretrain", "choose-sst-finetune", "slap-base-frozen"]
    found = planned(tmp_path, ("profile", "paper"), ("variants", names))
    rates = [found[name]["phases"][0]["learning_rate"] for name in names]
    assert rates == [2e-5, 2e-5, 1e-3, 1e-3, 1e-5, 1e-3]


def test_null_gives_way_in_every_layer(tmp_path):
    nulls = (("profiles.sample.mlp.dropout", None), ("catalog.pals.mlp", {"dropout": None}))
    assert planned(tmp_path, *nulls)["pals"]["model"]["heads"]["sst"]["dropout"] == 0.3  # of presets.default


@pytest.mark.parametrize(
    ("edit", "variant", "place"),
    [
        (("training.clip", "none"), "pals", ("phases", 0, "clip")),
        (("training.steps_per_epoch", "all"), "pals", ("phases", 0, "steps_per_epoch")),
        (("presets.default.run.evaluation_rows", "all"), "pals", ("run", "evaluation_rows")),
        (("model.dropout", "own"), "pals", ("model", "dropout")),
        (("pretrain.sbert.max_pairs", "all"), "pretrain-sbert", ("max_pairs",)),
    ],
)
def test_a_word_says_what_null_says_in_a_plan_file(tmp_path, edit, variant, place):
    node = planned(tmp_path, edit)[variant]
    for key in place:
        node = node[key]
    assert node is None


def test_the_paper_profile_has_the_papers_schedule(tmp_path):
    phase = planned(tmp_path, ("profile", "paper"))["pals"]["phases"][0]
    told = {key: phase[key] for key in ("learning_rate", "batch_size", "epochs", "steps_per_epoch", "eps")}
    assert told == {"learning_rate": 2e-5, "batch_size": 16, "epochs": 10, "steps_per_epoch": 6000, "eps": 1e-7}
    assert phase["weight_decay"] == 0.0
    assert phase["schedule"] == {"name": "slanted_triangular", "warmup": 0.1}


def test_a_variant_that_does_not_use_a_technique_has_nothing_of_it(tmp_path):
    text = yaml.safe_dump(planned(tmp_path)["bert-sst"])
    assert "smart" not in text
    assert "pals.py" not in text


def test_sources_are_digests_of_the_techniques_used(tmp_path):
    used = planned(tmp_path)["smart-pals"]["sources"]
    assert list(used) == [  # what all trainings share stands in code-train.yaml
        "adapters/pals.py",
        "connectors/direct.py",
        "features/words.py",
        "gradients/total.py",
        "heads/mlp.py",
        "objectives/smart.py",
        "samplers/annealed.py",
        "schedules/slanted_triangular.py",
        "weightings/equal.py",
    ]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in used.values())


def test_a_pretraining_that_nothing_selected_needs_is_left_out(tmp_path):
    documents = planned(tmp_path, ("variants", ["pals"]))
    assert documents["pretrain-sbert"] == {"needed": False}
    assert ["snli", "train"] not in documents["needs"]
    assert ["snli", "train"] in planned(tmp_path)["needs"]


def test_a_variant_of_ones_own_in_five_lines(tmp_path):
    mine = {"uses": ["pals", "square_root"], "pals": {"dim": 276}}
    documents = planned(tmp_path, ("catalog.wide", mine), ("variants", ["wide"]))
    assert documents["wide"]["model"]["adapter"]["dim"] == 276
    assert documents["wide"]["phases"][0]["sampler"] == {"name": "square_root", "divide": {}}
    assert documents["catalog"]["variants"]["wide"] == {
        "paper": None,
        "row": "wide",
        "also": [],
        "rival": "",
        "tasks": ["sst", "qqp", "sts"],
        "selected": True,
        "departures": {},
    }


def test_a_variant_without_phases_is_scored_as_it_starts(tmp_path):
    assert planned(tmp_path, ("variants", ["slap-rand"]))["slap-rand"]["phases"] == []


def test_a_phase_that_learns_from_nothing_is_refused(tmp_path):
    assert "supervised is false and objectives is empty" in faults(tmp_path, ("training.supervised", False))


def test_a_part_of_a_paper_with_settings_of_its_own_names_its_preset(tmp_path):
    chosen = planned(tmp_path, ("variants", ["choose-sst-finetune", "choose-zero"]), ("profile", "paper"))
    assert [chosen[name]["phases"][0]["batch_size"] for name in ("choose-sst-finetune", "choose-zero")] == [8, 16]


def test_a_reused_corpus_is_needed_and_has_to_serve_a_task_of_the_variant(tmp_path):
    films = ["sst", "cfimdb_as_sst"]
    single = {"paper": "my-pal-bert", "tasks": ["sst"], "training": {"tasks": films}}
    assert ["cfimdb", "train"] in planned(tmp_path, ("catalog.films", single), ("variants", ["films"]))["needs"]
    wrong = faults(tmp_path, ("catalog.films", {**single, "tasks": ["qqp"]}))
    assert "sst, cfimdb_as_sst: trains none of the variant's tasks, qqp" in wrong


def test_every_published_row_has_a_variant_or_a_vote(tmp_path):
    catalog = planned(tmp_path)["catalog"]
    entries = [*catalog["variants"].values(), *catalog["ensembles"].values()]
    answered = {(entry["paper"], row) for entry in entries for row in (entry["row"], *entry.get("also", ()))}
    assert {(row.paper, row.row) for row in published.load()} <= answered


def test_several_phases_each_start_from_the_training_section(tmp_path):
    phases = [{"trainable": ["heads"], "epochs": 1}, {"objectives": ["smart"]}]
    found = planned(tmp_path, ("catalog.pals.phases", phases))["pals"]["phases"]
    assert [phase["epochs"] for phase in found] == [1, 4]
    assert [phase["trainable"] for phase in found] == [
        ["heads"],
        ["encoder", "features", "adapters", "connector", "heads"],
    ]
    assert [[o["name"] for o in phase["objectives"]] for phase in found] == [[], ["smart"]]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("pals.dimm", 10), "pals.dimm: unknown key"),
        (("pals.dim", "wide"), "pals.dim: Input should be a valid integer, came 'wide'"),
        (
            ("pals.heads", 5),
            "pals.heads: dim is 204 and heads 5, which does not divide it; allowed: a dim that is a mul",
        ),
        (
            ("pals.dim", 275),
            "pals.dim: dim is 275 and heads 12, which does not divide it; allowed: a dim that is a mul",
        ),
        (("pals.dim", 275), "a multiple of 12, such as 264 or 276, or heads that divide 275: 1, 5, 11, 25, 55"),
        (("catalog.pals.pals", {"dim": 275}), "catalog.pals.pals: dim is 275 and heads 12"),
        (("training.epochs", 1.5), "training.epochs: Input should be a valid integer, came 1.5"),
        (("profiles.paper.training", {"epochs": 1.5}), "profiles.paper.training.epochs: Input should be a valid int"),
        (
            ("presets.slapbert.training.batch_size", "8"),
            "slapbert.training.batch_size: Input should be a valid integer",
        ),
        (("catalog.pals.phases", [{"epochs": 1.5}]), "catalog.pals.phases.0.epochs: Input should be a valid integer"),
        (("training.clip", "nil"), "training.clip: allowed: a number, or none, came 'nil'"),
        (("presets.slapbert.encoder", {"name": "tiny"}), "presets.slapbert.encoder: unknown section; "),
        (("catalog.pals.paper", "pals-4-pals"), "catalog.pals.paper: unknown paper 'pals-4-pals'; did you mean pals-f"),
        (("catalog.pals.preset", "slapbort"), "catalog.pals.preset: unknown preset 'slapbort'; did you mean slapbert?"),
        (("ensembles.pals-ensemble.paper", "x"), "ensembles.pals-ensemble.paper: unknown paper 'x'; known: my-pal"),
        (("training.epoch", 3), "training.epoch: unknown key; did you mean epochs? allowed: tasks, sampler"),
        (("model.heads.stss", "mlp"), "model.heads.stss: unknown task 'stss'; did you mean sts? known: sst"),
        (("smarty", {}), "smarty: unknown section; did you mean smart? allowed: profile"),
        (("profile", "large"), "profile: unknown profile 'large'; known: sample, laptop, paper"),
        (("training.sampler", "fair"), "training.sampler: unknown sampler 'fair'; known: sequential, round_robin"),
        (("run.log_every", 0), "run.log_every: Input should be greater than or equal to 1, came 0"),
        (("profiles.sample.training.epochs", 0), "profiles.sample.training.epochs: Input should be greater"),
        (
            ("training.gradients", "pcgrad"),
            "pcgrad needs several tasks in a step, but the steps of sampler",
        ),
        (
            ("training.weighting", "famo"),
            "training.weighting: famo needs several tasks in a step, but the steps of sampler",
        ),
        (
            ("catalog.bert-sst.model", {"connector": "relational"}),
            "the connector serves qqp, sts, but the variant trains",
        ),
        (("relational.tasks", []), "relational.tasks: List should have at least 1 item"),
        (
            ("training.trainable", ["hands"]),
            "training.trainable.0: unknown part 'hands'; did you mean heads? known: encoder",
        ),
        (("catalog.pals.smart", {"weight": 2.0}), "catalog.pals.smart: the variant does not use smart; add it to"),
        (
            ("catalog.pals.zzz", "red"),
            "catalog.pals.zzz: unknown key; allowed: paper, row, also, rival",
        ),
        (("catalog.pals.uses", ["pals", "magic"]), "catalog.pals.uses.1: unknown technique 'magic'; known: words, pos"),
        (
            ("catalog.pals.tasks", ["sst", "sstt"]),
            "catalog.pals.tasks.1: unknown task 'sstt'; did you mean sst? known: sst, qqp",
        ),
        (("catalog.pals.model", {"heads": {"sts": "squared_cosine"}}), "needs a task of pairs with a yes-or-no label"),
        (("variants", ["palz"]), "variants.0: unknown variant 'palz'; did you mean pals? known: bert-sst"),
        (("variants", ["pals", "pals"]), "variants.1: 'pals' is listed twice; allowed: each once"),
        (("seeds", [1, 2, 1]), "seeds.2: 1 is listed twice; allowed: each once"),
        (("ensembles.pals-ensemble.members", ["pals", "pals"]), "pals-ensemble.members.1: 'pals' is listed twice"),
        (("catalog.pals.tasks", ["sst", "sst"]), "catalog.pals.tasks.1: 'sst' is listed twice; allowed: each once"),
        (("catalog.pals.phases", [{}, {"tasks": ["sst", "sst"]}]), "catalog.pals.phases.1.tasks.1: 'sst' is listed"),
        (("training.tasks", ["sst", "qqp", "sst"]), "training.tasks.2: 'sst' is listed twice"),
        (("training.trainable", ["heads", "heads"]), "training.trainable.1: 'heads' is listed twice"),
        (("presets.slapbert.training", {"frozen": ["layer_1"] * 2}), "slapbert.training.frozen.1: 'layer_1' is listed"),
        (("profiles.paper.training", {"objectives": ["smart", "smart"]}), "training.objectives.1: 'smart' is listed"),
        (("pretrain.sbert.corpora", ["snli", "snli"]), "pretrain.sbert.corpora.1: 'snli' is listed twice"),
        (("relational.tasks", ["qqp", "qqp"]), "relational.tasks.1: 'qqp' is listed twice"),
        (("catalog.pals.uses", ["smart", "smart"]), "catalog.pals.uses.1: 'smart' is listed twice"),
        (("training.objectives", ["smart"]), "training.objectives: variant smart-pals uses 'smart' already"),
        (
            ("catalog.pals.uses", ["annealed", "round_robin"]),
            "catalog.pals.uses.1: 'round_robin' would take the place of 'annealed'; allowed: one training.sampler",
        ),
        (
            ("catalog.pals.uses", ["sbert", "mlm"]),
            "catalog.pals.uses.1: 'mlm' would take the place of 'sbert'; allowed: one model.encoder",
        ),
        (("variants", []), "variants: needs at least one entry"),
        (("seeds", ["one"]), "seeds.0: Input should be a valid integer, came 'one'"),
        (("run", {"keep": "best", "evaluations": 0}), "keep is best, which needs dev scores: evaluations"),
        (("seeds", [-1]), "seeds.0: Input should be greater than or equal to 0, came -1"),
        (
            ("ensembles.pals-ensemble.members", ["pals", "palz"]),
            "ensembles.pals-ensemble.members.1: unknown variant 'palz'; did",
        ),
        (
            ("profiles.sample.encoder.name", "bart"),
            "profiles.sample.encoder.name: unknown encoder 'bart'; known: tiny, minilm, ber",
        ),
        (("pretrain.sbert.batch_size", 1), "pretrain.sbert.batch_size: Input should be greater than or equal to 2"),
    ],
)
def test_faults_name_their_place_what_came_and_what_is_allowed(tmp_path, edit, message):
    told = faults(tmp_path, edit)
    assert message in told
    assert "nothing was trained" in told


@pytest.mark.parametrize("name", ["../evil", "a/b", "Upper", "", "a" * 61])
def test_names_that_would_leave_their_folder_are_refused(tmp_path, name):
    catalog = {name: {"row": "mine"}}
    assert "String should" in faults(tmp_path, ("catalog", catalog), ("variants", [name]), ("ensembles", {}))


def test_all_faults_are_told_at_once_with_their_lines(tmp_path):
    told = faults(tmp_path, ("pals.dim", 0), ("smart.norm", "l3"), ("variants", ["palz"]))
    lines = [line for line in told.splitlines() if line.startswith("  ")]
    assert len(lines) == 3
    assert all(re.match(r"  \S+params\.yaml:\d+: ", line) for line in lines)
    text = (tmp_path / "params.yaml").read_text().splitlines()
    number = int(next(line for line in lines if "pals.dim" in line).split(":")[1])
    assert text[number - 1] == "  dim: 0"


def test_a_fault_in_an_unselected_variant_is_told_too(tmp_path):
    assert "catalog.smart-pals" in faults(
        tmp_path, ("variants", ["pals"]), ("catalog.smart-pals.smart", {"weight": "much"})
    )


@pytest.mark.parametrize(
    "text", ["pals: {dim: 1", "- a\n- b\n", "pals: 1\npals: 2\n", "x: !!python/object:os.system {}"]
)
def test_what_is_no_such_yaml_is_refused(tmp_path, text):
    file = tmp_path / "params.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"params\.yaml|fault"):
        plan.plan(plan.Params(file))


def test_equal_settings_are_equal_bytes(tmp_path):
    for folder in ("a", "b"):
        plan.write(plan.plan(plan.Params(PARAMS)).documents, tmp_path / folder)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_the_catalog_keeps_its_order(tmp_path):
    plan.write(plan.plan(plan.Params(PARAMS)).documents, tmp_path / "plan")
    values = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
    read = yaml.safe_load((tmp_path / "plan" / "catalog.yaml").read_text(encoding="utf-8"))
    assert [*read["variants"], *read["ensembles"]] == [*values["catalog"], *values["ensembles"]]


def test_equal_numbers_in_a_list_of_numbers_are_no_fault(tmp_path):
    assert planned(tmp_path, ("training.betas", [0.9, 0.9]))["pals"]["phases"][0]["betas"] == [0.9, 0.9]


def test_the_number_of_threads_is_part_of_every_training_and_pretraining(tmp_path):
    documents = planned(tmp_path, ("run.threads", 3))
    assert documents["pals"]["run"]["threads"] == documents["pretrain-sbert"]["threads"] == 3
    assert changed(planned(tmp_path), documents) == set(documents) - {"catalog", "encoder", "needs", "pretrain-mlm"}


def respelled(tmp_path: Path, line: str, instead: str) -> list[str]:
    """The faults told where one line of the project's params.yaml stands there otherwise."""
    text = PARAMS.read_text(encoding="utf-8")
    assert text.count(f"\n{line}") == 1
    file = tmp_path / "params.yaml"
    file.write_text(text.replace(f"\n{line}", f"\n{instead}"), encoding="utf-8")
    (tmp_path / "data/sample").mkdir(parents=True, exist_ok=True)
    with pytest.raises(SettingsError) as error:
        plan.plan(plan.Params(file))
    return [told.partition("params.yaml:")[2].partition(": ")[2] for told in str(error.value).splitlines()[1:]]


@pytest.mark.parametrize(
    ("line", "instead", "fault"),
    [
        ("      sampler: annealed", "      smpler: annealed", "presets.default.training.smpler: unknown key; did you"),
        ("  weighting: equal ", "  wieghting: equal ", "training.wieghting: unknown key; did you mean weight"),
        ("  weighting: equal ", "  weighting: eqaul ", "training.weighting: unknown weighting 'eqaul'; did y"),
        ("      eps: 1.0e-06", "      eps: small", "presets.default.training.eps: Input should be a val"),
        ("model:", "modl:", "modl: unknown section; did you mean model? allowed: profile"),
        ("  sample:", "  smaple:", "profile: unknown profile 'sample'; did you mean smaple? known: smaple, laptop"),
    ],
)  # fmt: skip
def test_what_follows_from_a_fault_is_not_told(tmp_path, line, instead, fault):
    told = respelled(tmp_path, line, instead)
    assert len(told) == 1
    assert told[0].startswith(fault)


def test_independent_faults_are_told_beside_one_that_others_follow_from(tmp_path):
    told = faults(tmp_path, ("training.smpler", "fair"), ("pals.dim", 275), ("launch", "a;b"), ("variants", ["palz"]))
    places = [line.split(": ")[1] for line in told.splitlines()[1:]]
    assert sorted(places) == ["launch", "pals.dim", "training.smpler", "variants.0"]


@pytest.mark.parametrize(
    "path",
    [
        "data/$(touch x)",
        "data/s; touch x",
        "a`b`",
        "a|b",
        "a\nb",
        "-rf",
        "../data",
        "data/../..",
        "a'b",
        'a"b',
        "a\\b",
        "a*",
    ],
)
def test_a_data_dir_that_is_no_plain_path_is_refused_also_where_it_is_there(tmp_path, path):
    (tmp_path / path).mkdir(parents=True, exist_ok=True)
    assert "cannot be part of a command" in faults(tmp_path, ("data_dir", path))


@pytest.mark.parametrize("path", ["my data/a-b_c.d+e@f:g", "daten/größe"])
def test_a_plain_path_to_a_directory_is_taken_and_one_to_nothing_is_refused(tmp_path, path):
    assert f"data_dir: {path} is not a directory; allowed: data/sample" in faults(tmp_path, ("data_dir", path))
    (tmp_path / path).mkdir(parents=True)
    assert planned(tmp_path, ("data_dir", path))["catalog"]["data_dir"] == path


def test_data_that_can_be_downloaded_are_refused_with_what_downloads_them(tmp_path):
    assert "data/official is not a directory; allowed: data/sample, data/official (which `make official`" in faults(
        tmp_path, ("data_dir", "data/official")
    )


@pytest.mark.parametrize(
    "launch", ["a;b", "a & b", "a|b", "$(a)", "a `b`", "a > b", "a < b", "a\nb", "a 'b'", "~/a", "a*"]
)
def test_what_the_shell_would_take_as_more_than_a_command_is_refused(tmp_path, launch):
    assert "which the shell interprets; allowed: one command" in faults(tmp_path, ("launch", launch))


def test_a_command_with_arguments_launches(tmp_path):
    assert planned(tmp_path, ("launch", "torchrun --nproc-per-node=4 --rdzv-endpoint localhost:29400"))


def test_rounded_starting_weights_are_known_to_the_encoder_the_pretrainings_and_the_report(tmp_path: Path):
    before, after = planned(tmp_path), planned(tmp_path, ("encoder.weights", "fp16"))
    assert changed(before, after) == {"encoder", "pretrain-sbert", "catalog"}
    assert (after["encoder"]["weights"], after["pretrain-sbert"]["weights"]) == ("fp16", "fp16")
    assert (
        after["catalog"]["encoder"]["note"]
        == before["catalog"]["encoder"]["note"] + " Its weights are rounded to fp16."
    )

"""What every technique keeps to, whichever it is: a new one is tested here as soon as it is registered."""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pydantic
import pytest
import torch
from architectures import ONE_EACH
from models import build_adapter, hidden_of, small_backbone, small_batch, small_model
from torch import nn

import mtbert
from mtbert.data.batches import Batch
from mtbert.errors import SettingsError
from mtbert.learning.gradients import GRADIENTS
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.objectives.base import Objective
from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.samplers.base import Sampler, Workload
from mtbert.learning.schedules import SCHEDULES
from mtbert.learning.weightings import WEIGHTINGS
from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Adapter, Shape
from mtbert.models.connectors import CONNECTORS
from mtbert.models.encoder.encoder import Encoder
from mtbert.models.encoder.slot import LinearName
from mtbert.models.features import FEATURES
from mtbert.models.heads import HEADS
from mtbert.models.heads.base import Head
from mtbert.models.multitask import MultitaskModel
from mtbert.registry import Registry
from mtbert.settings import NoOptions, Section
from mtbert.tasks import COURSE

PACKAGES: dict[str, Registry[..., Any]] = {
    "features": FEATURES,
    "adapters": ADAPTERS,
    "connectors": CONNECTORS,
    "heads": HEADS,
    "samplers": SAMPLERS,
    "objectives": OBJECTIVES,
    "weightings": WEIGHTINGS,
    "gradients": GRADIENTS,
    "schedules": SCHEDULES,
}
SOURCE = Path(mtbert.__file__).parent
OF_MODELS = ("features", "adapters", "connectors", "heads")  # the other kinds lie in learning
HELPERS = {"adapters": {"factors"}, "gradients": {"gramian"}}  # files that hold no technique

every_file = pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, registry in PACKAGES.items() for name in registry]
)


# --- settings and files -----------------------------------------------------------------------------------------------


def test_a_section_never_changes_and_refuses_unknown_keys_and_numbers_of_text():
    class Own(Section):
        size: int = 1
        scale: float | None = None

    with pytest.raises(pydantic.ValidationError, match="frozen"):
        Own().size = 2
    for given, told in (("no", "unknown key 'no'; known: size, scale"), ("size", "size"), ("scale", "scale")):
        with pytest.raises(pydantic.ValidationError, match=told):
            Own(**{given: "1"})


@every_file
def test_a_technique_lies_in_the_file_of_its_name_with_its_settings_all_of_which_have_a_default(
    package: str, name: str
):
    technique, shared = PACKAGES[package][name], folder(package) / "base.py"
    assert isinstance(settings := technique.settings(), Section)
    assert settings.model_config == Section.model_config
    assert technique.settings is NoOptions or Path(inspect.getfile(technique.settings)) in (technique.source, shared)
    assert technique.source == folder(package) / f"{name}.py" or in_base(package, name)


def in_base(package: str, name: str) -> bool:
    """Whether it is the technique of its kind that changes nothing, which the base class is."""
    technique = PACKAGES[package][name]
    return technique.source == folder(package) / "base.py" and technique.settings is NoOptions


def folder(package: str) -> Path:
    return SOURCE / ("models" if package in OF_MODELS else "learning") / package


@pytest.mark.parametrize("package", list(PACKAGES))
def test_every_file_of_a_package_is_registered(package: str):
    files = {file.stem for file in folder(package).glob("*.py")} - {"__init__", "base"}
    assert files - HELPERS.get(package, set()) == {name for name in PACKAGES[package] if not in_base(package, name)}


@every_file
def test_a_file_says_by_which_formula_and_whence(package: str, name: str):
    text = inspect.getdoc(inspect.getmodule(PACKAGES[package][name].build))
    assert text is not None
    said = {*re.findall(r"^([A-Z][a-z]+): \S", text, flags=re.MULTILINE)}
    assert {"Formula", "Source"} <= said or in_base(package, name)


def test_what_needs_no_torch_does_not_import_it():
    script = """
import importlib, sys
for name in ("learning.samplers", "learning.schedules", "scores.collect", "scores.vote", "report.write"):
    importlib.import_module(f"mtbert.{name}")
    assert "torch" not in sys.modules, name
"""
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


# --- adapters ---------------------------------------------------------------------------------------------------------


on_every_architecture = pytest.mark.parametrize("kind", ONE_EACH)


def with_adapter(name: str, kind: str = "bert", **options: object) -> tuple[Encoder, Adapter]:
    """A small encoder and that adapter in it, every weight of which is drawn anew: some start as nothing."""
    torch.manual_seed(0)
    encoder = Encoder(small_backbone(kind), 0.0).eval()
    adapter = build_adapter({"name": name, **options}, encoder, ("sst", "sts"))
    for parameter in adapter.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return encoder, adapter


@on_every_architecture
@pytest.mark.parametrize("name", [name for name in ADAPTERS if name != "none"])
def test_an_adapter_changes_finitely_what_the_encoder_computes(name: str, kind: str):
    encoder, adapter = with_adapter(name, kind)
    batch = small_batch("sst")
    plain = hidden_of(encoder, batch)
    for task in ("sst", "sts"):
        changed = hidden_of(encoder, batch, adapter, task)
        assert changed.shape == plain.shape
        assert torch.isfinite(changed).all()
        assert not torch.equal(changed, plain)


@pytest.mark.parametrize("name", list(ADAPTERS))
def test_a_task_may_be_called_as_torch_calls_a_part_of_a_module(name: str):
    encoder = Encoder(small_backbone("bert"), 0.0)
    adapter = build_adapter({"name": name}, encoder, ("type", "float"))
    hidden_of(encoder, small_batch("sst"), adapter, "type").sum().backward()
    assert adapter.slot("float", 0) is not None


@on_every_architecture
@pytest.mark.parametrize("name", list(ADAPTERS))
def test_an_adapter_does_not_see_padding(name: str, kind: str):
    encoder, adapter = with_adapter(name, kind)
    batch = small_batch("sst")
    kept = batch.mask.bool()
    whole = hidden_of(encoder, batch, adapter)
    batch.input_ids[~kept] = 49
    torch.testing.assert_close(hidden_of(encoder, batch, adapter)[kept], whole[kept])


@on_every_architecture
@pytest.mark.parametrize("name", list(ADAPTERS))
def test_all_weights_of_an_adapter_are_used_by_some_task(name: str, kind: str):
    encoder, adapter = with_adapter(name, kind)
    for task in ("sst", "sts"):
        hidden_of(encoder, small_batch("sst"), adapter, task).square().sum().backward()
    assert [weight for weight, parameter in adapter.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize("name", list(ADAPTERS))
def test_weights_of_a_checkpoint_take_the_place_of_what_an_adapter_starts_from(name: str):
    trained = small_model({"name": name}).eval()
    for weight in trained.parameters():
        weight.data += 0.1 * torch.randn(weight.shape)
    fresh = small_model({"name": name}).eval()
    fresh.load_state_dict(trained.state_dict())
    assert torch.equal(fresh(small_batch("sst")), trained(small_batch("sst")))


@on_every_architecture
@pytest.mark.parametrize("name", [name for name in ADAPTERS if "per_task" in ADAPTERS[name].settings.model_fields])
@pytest.mark.parametrize("per_task", [False, True])
def test_tasks_share_one_set_or_have_one_each(name: str, per_task: bool, kind: str):
    encoder, adapter = with_adapter(name, kind, per_task=per_task)
    first, second = (hidden_of(encoder, small_batch("sst"), adapter, task) for task in ("sst", "sts"))
    assert torch.equal(first, second) != per_task


@pytest.mark.parametrize(
    ("choice", "weights"),
    [
        ({"name": "pals", "dim": 204}, 2 * (1_811_520 + 204 + 768 + 12 * 3 * 204)),
        ({"name": "houlsby", "size": 8}, 313_536),
        ({"name": "pfeiffer"}, 894_528),
        ({"name": "low_rank"}, 2 * 1_853_616),
        ({"name": "lora"}, 294_912),
        ({"name": "dora"}, 294_912 + 12 * 2 * 768),
        ({"name": "ia3", "per_task": True}, 2 * 55_296),
        ({"name": "mtl_lora", "rank": 8, "ways": 3, "targets": ["value"]}, 12 * (8 * 4 * 768 + 2 * (8**2 + 3))),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_weights_of_two_tasks_at_the_shape_of_bert_base(choice: dict[str, Any], weights: int):
    adapter = ADAPTERS.build(ADAPTERS.choose(choice), Shape(768, 12, 3072), ["sst", "sts"])
    assert sum(parameter.numel() for parameter in adapter.parameters()) == weights


@pytest.mark.parametrize(
    ("name", "targets"),
    [(name, target) for name in ("lora", "dora", "mtl_lora") for target in get_args(LinearName)],
)
@on_every_architecture
def test_each_linear_map_of_a_layer_can_be_changed_alone(name: str, targets: str, kind: str):
    encoder, adapter = with_adapter(name, kind, targets=[targets])
    batch = small_batch("sst")
    found = [hidden_of(encoder, batch, adapter)]
    for layer in encoder.layer_modules():
        torch.nn.init.zeros_(layer.linears()[targets].weight)
    found.append(hidden_of(encoder, batch, adapter))
    assert not torch.equal(found[0], hidden_of(encoder, batch))
    assert not torch.equal(*found)


@pytest.mark.parametrize(
    ("shape", "weights"),
    [
        (Shape(768, 12, 3072), 1_811_520),  # BERT-base, RoBERTa-base, DeBERTa-v3-base
        (Shape(768, 22, 1152, gated=True), 3_060_000),  # ModernBERT-base
    ],
)
def test_a_tasks_pals_at_each_shape_have_as_many_weights_as_the_architectures_file_states(shape: Shape, weights: int):
    adapter = ADAPTERS.build(ADAPTERS.choose({"name": "pals", "dim": 204}), shape, ["sst"])
    assert sum(p.numel() for name, p in adapter.named_parameters() if name.endswith("weight")) == weights


@on_every_architecture
@pytest.mark.parametrize("name", list(ADAPTERS))
def test_an_adapter_serves_a_task_only_with_what_is_that_tasks_or_everyones(name: str, kind: str):
    encoder, adapter = with_adapter(name, kind)
    before = hidden_of(encoder, small_batch("sst"), adapter)
    for weight, parameter in adapter.named_parameters():
        if "sts" in weight.split("."):
            torch.nn.init.zeros_(parameter)
    assert torch.equal(hidden_of(encoder, small_batch("sst"), adapter), before)


# --- parts of an encoder that are trained or frozen -------------------------------------------------------------------


def moved(kind: str, trainable: list[str], frozen: tuple[str, ...] = ()) -> set[str]:
    """The encoder's parts of which a step on both kinds of tasks changes a weight."""
    model = small_model(kind=kind, pooling="mean").train()
    optimiser, parts = torch.optim.SGD(model.train_only(trainable, frozen), lr=1.0), model.encoder.parts()
    before = {name: [weight.detach().clone() for weight in weights] for name, weights in parts.items()}
    for task in ("sst", "sts"):
        model.loss(small_batch(task), model(small_batch(task))).backward()
    optimiser.step()
    return {name for name, weights in parts.items() if not all(map(torch.equal, weights, before[name]))}


LAYERS = {"bert": 2, "roberta": 2, "modernbert": 5, "deberta-v2": 2}  # of the small shapes


@pytest.mark.parametrize(("kind", "count"), LAYERS.items())
def test_a_layer_is_frozen_by_its_number_while_others_learn(kind: str, count: int):
    layers = {f"layer_{number}" for number in range(1, count + 1)}
    found = moved(kind, ["encoder", "heads"], ("layer_1",))
    assert layers & found == layers - {"layer_1"}
    assert "embeddings" in found


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta-v2"])
def test_biases_are_trained_alone(kind: str):
    model = small_model(kind=kind, pooling="mean")
    model.train_only(["biases"])
    trained = {name for name, parameter in model.encoder.named_parameters() if parameter.requires_grad}
    assert trained == {name for name, _ in model.encoder.named_parameters() if name.endswith(".bias")} != set()


def test_modernberts_biases_are_refused_since_it_has_none():
    with pytest.raises(SettingsError) as caught:
        small_model(kind="modernbert", pooling="mean").train_only(["biases", "heads"])
    assert str(caught.value) == (
        "training.trainable names biases, of which ModernBERT has none; allowed: other parts, such as layers"
    )


# --- heads ------------------------------------------------------------------------------------------------------------

KINDS = [("sst", 1), ("qqp", 1), ("qqp", 2), ("sts", 1), ("sts", 2), ("snli", 2)]


def served(name: str, task: str, embeddings: int) -> Head | None:
    """The head for a task, or None where it refuses the task and says where that is set."""
    try:
        return HEADS.build(HEADS.choose({"name": name}), COURSE[task], 8, embeddings)
    except SettingsError as refusal:
        return None if f"model.heads.{task}" in str(refusal) else pytest.fail(f"{refusal} does not say where it is set")


@pytest.mark.parametrize("name", list(HEADS))
def test_a_head_gives_outputs_with_a_loss_or_refuses_the_task(name: str):
    heads = {(task, embeddings): served(name, task, embeddings) for task, embeddings in KINDS}
    assert any(heads.values())
    for (_, embeddings), head in ((kind, head) for kind, head in heads.items() if head is not None):
        vectors = [torch.randn(3, 8, requires_grad=True) for _ in range(embeddings)]
        outputs = head(*vectors)
        assert outputs.shape == (3, head.outputs)
        assert outputs.dtype == torch.float32
        if head.learns:
            head.loss(outputs, torch.ones(3)).backward()
            assert all(vector.grad is not None and torch.isfinite(vector.grad).all() for vector in vectors)


def refusal(asked: Callable[..., object], *surroundings: object) -> str:
    """What is said against it; nothing where it is taken."""
    try:
        asked(*surroundings)
    except SettingsError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", list(HEADS))
def test_what_a_head_refuses_its_class_says(name: str):
    technique: Any = HEADS[name]
    for task, embeddings in KINDS:
        settings = technique.settings()
        said = refusal(technique.build.check, settings, COURSE[task], embeddings)
        assert said == refusal(technique.build, settings, COURSE[task], 8, embeddings)


# --- connectors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CONNECTORS))
@pytest.mark.parametrize("tasks", [["sst", "qqp", "sts"], ["sst"], ["cfimdb", "sts"]])
@pytest.mark.parametrize("width", [24, 23])
def test_what_a_connector_refuses_its_class_says(name: str, tasks: list[str], width: int):
    technique: Any = CONNECTORS[name]
    settings = technique.settings()
    said = refusal(technique.build.check, settings, tasks, width)
    assert said == refusal(technique.build, settings, width, tasks)
    assert refusal(technique.build.check, settings, tasks) in ("", said)  # a width that is not known is not refused


@pytest.mark.parametrize("name", list(CONNECTORS))
def test_a_connector_mixes_of_the_tasks_that_it_serves(name: str):
    built = CONNECTORS.build(CONNECTORS.choose({"name": name}), 24, tasks := ["sst", "qqp", "sts"])
    assert built.mixed <= built.served <= set(tasks)


# --- samplers ---------------------------------------------------------------------------------------------------------

PLAN = Workload(sizes={"sst": 8, "qqp": 100, "sts": 6}, epochs=3, steps=50, batches={"sst": 20, "qqp": 250, "sts": 17})


def groups(sampler: Sampler, epoch: int) -> list[tuple[str, ...]]:
    return sampler.groups(epoch, np.random.default_rng(epoch))


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_sampler_gives_one_group_of_tasks_a_step_and_every_task_a_turn(name: str):
    sampler = SAMPLERS.build(SAMPLERS.choose({"name": name}), PLAN)
    epochs = [groups(sampler, epoch) for epoch in (1, 2, 3)]
    assert [len(found) for found in epochs] == [PLAN.steps] * 3
    assert all(group for found in epochs for group in found)
    assert {task for found in epochs for group in found for task in group} == set(PLAN.sizes)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_an_epochs_groups_do_not_depend_on_earlier_calls(name: str):
    fresh, used = (SAMPLERS.build(SAMPLERS.choose({"name": name}), PLAN) for _ in range(2))
    for epoch in (1, 2, 1, 3):
        groups(used, epoch)
    assert groups(used, 2) == groups(fresh, 2)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_phase_of_one_epoch_and_one_task(name: str):
    sampler = SAMPLERS.build(
        SAMPLERS.choose({"name": name}), Workload(sizes={"sst": 8}, epochs=1, steps=2, batches={"sst": 4})
    )
    assert groups(sampler, 1) == [("sst",), ("sst",)]


# --- objectives and gradient rules ------------------------------------------------------------------------------------


def build_objective(name: str, kind: str = "bert") -> tuple[Objective, MultitaskModel]:
    model = small_model(kind=kind, pooling="mean").eval() if kind != "bert" else small_model().eval()
    model.encoder.mask_token = 4
    return OBJECTIVES.build(OBJECTIVES.choose({"name": name}), model, torch.Generator().manual_seed(0)), model


def taught_batch(task: str) -> Batch:
    """A small batch with what a teacher predicts of its rows."""
    soft_labels = {"sst": torch.full((4, 5), 0.2), "sts": torch.full((4,), 2.5)}
    return replace(small_batch(task), soft_labels=soft_labels[task])


@on_every_architecture
@pytest.mark.parametrize("name", list(OBJECTIVES))
@pytest.mark.parametrize("task", ["sst", "sts"])
def test_a_term_is_a_finite_scalar_that_trains_the_model(name: str, task: str, kind: str):
    objective, model = build_objective(name, kind)
    term = objective.term(taught_batch(task), model(taught_batch(task)))
    assert term.shape == ()
    term.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert gradients
    assert all(torch.isfinite(gradient).all() for gradient in [term, *gradients])
    objective.after_step(0.5)


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_an_objective_leaves_the_weights_and_other_generators_alone(name: str):
    objective, model = build_objective(name)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    outputs, state = model(taught_batch("sst")), torch.get_rng_state()
    objective.term(taught_batch("sst"), outputs)
    objective.after_step(0.5)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_the_same_generator_gives_the_same_term(name: str):
    batch = taught_batch("sst")
    terms = [objective.term(batch, model(batch)) for objective, model in map(build_objective, [name] * 2)]
    assert torch.equal(*terms)


@pytest.mark.parametrize("name", list(GRADIENTS))
def test_a_gradient_rule_leaves_a_gradient_in_every_parameter_that_a_loss_reaches(name: str):
    one, both, two, none = (nn.Parameter(torch.tensor([1.0, 2.0])) for _ in range(4))
    losses = {"sst": (one * both).sum(), "sts": (two * both).sum()}
    rule = GRADIENTS.build(GRADIENTS.choose({"name": name}), torch.Generator())
    rule(losses, [one, both, two, none])
    for parameter in (one, both, two):
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()
        assert parameter.grad.any()
    assert none.grad is None


@pytest.mark.parametrize("name", list(GRADIENTS))
def test_one_task_alone_has_its_usual_gradient(name: str):
    weight = nn.Parameter(torch.tensor([2.0, -3.0]))
    GRADIENTS.build(GRADIENTS.choose({"name": name}), torch.Generator())({"sst": weight.square().sum()}, [weight])
    assert weight.grad is not None
    assert weight.grad.tolist() == [4.0, -6.0]


@pytest.mark.parametrize("name", list(SCHEDULES))
@pytest.mark.parametrize("steps", [1, 2, 7, 100])
def test_a_factor_is_between_0_and_1_at_every_step_and_after_the_last(name: str, steps: int):
    schedule = SCHEDULES.build(SCHEDULES.choose({"name": name}))
    assert all(0.0 <= schedule.factor(step, steps) <= 1.0 for step in range(steps + 1))


# --- one pass for several tasks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ONE_EACH)
@pytest.mark.parametrize("name", list(ADAPTERS))
def test_one_pass_for_all_tasks_computes_what_a_pass_for_each_does(name: str, kind: str):
    model = small_model({"name": name}, kind=kind, pooling="mean").eval()
    for parameter in model.adapter.parameters():  # those that start at 0 would change nothing
        nn.init.normal_(parameter, std=0.1)
    batch = small_batch("sst")
    together = model.outputs_of(["sst", "qqp", "sts"], batch)
    for task, outputs in together.items():
        torch.testing.assert_close(outputs, model(replace(batch, task=task)), atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ONE_EACH)
@pytest.mark.parametrize(
    ("adapter", "computed"),
    [
        ({"name": "none"}, [1, 1]),
        ({"name": "lora"}, [1, 1]),
        ({"name": "lora", "per_task": True}, [3, 3]),
        ({"name": "pals", "layers": "top_half"}, [1, 3]),
        ({"name": "pals", "layers": [0]}, [3, 3]),
    ],
    ids=["none", "shared", "per task", "upper layers", "first layer"],
)
def test_tasks_share_the_layers_up_to_where_an_adapter_tells_them_apart(kind: str, adapter: dict, computed: list[int]):
    """How often the first layer and the last one are computed for three tasks."""
    model = small_model(adapter, kind=kind, pooling="mean").eval()
    layers = model.encoder.layer_modules()
    calls: list[nn.Module] = []
    for layer in (layers[0], layers[-1]):
        layer.register_forward_hook(lambda layer, *_: calls.append(layer))
    model.outputs_of(["sst", "qqp", "sts"], small_batch("sst"))
    assert [calls.count(layers[0]), calls.count(layers[-1])] == computed

"""Make an export smaller: weights in int8 or in half precision, or shorter texts.

int8: onnxruntime's dynamic quantisation. The encoder's linear maps have a scale for each output (per channel), its
word embeddings one; what they are multiplied with gets its scale when it is computed, over the whole batch. Weights
take 7 of the 8 bits: processors without VNNI add up products in 16 bits, and would cut off larger sums (onnxruntime's
`reduce_range`). Heads, adapters, connector, pooler and norms stay in fp32: they are small, and answers hang on them.
"""

import ast
import contextlib
import logging
import shutil
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.data import tokens
from mtbert.inference.answers import ModelError
from mtbert.models.encoder.config import CONFIG
from mtbert.serving import description

SHARED = "weights.data"  # of several graphs
ENCODER = "exported.model.encoder.backbone."  # begins the scope of a node that the encoder computes
POOLER = f"{ENCODER}pooler"
SCOPES = "pkg.torch.onnx.name_scopes"  # of a node: the modules that it is computed in, from the outermost on
QUANTISED = ("MatMul", "Gather")  # kinds of nodes
TABLE = 100  # rows; smaller tables of embeddings save nothing
FEWEST_TOKENS = 8  # of a pair three are special


class ExportError(ModelError):
    """A model cannot be exported in that form, or its folder cannot be written."""


@dataclass(frozen=True)
class Compression:
    """How an export is made smaller; it is false where nothing is asked for.

    Attributes:
        int8: linear maps and word embeddings of the encoder have 8 bits.
        half: all weights have 16.
        max_tokens: the longest sequence.
        unproved: keep an export of which dev is too small to prove that it is as good.
    """

    int8: bool = False
    half: bool = False
    max_tokens: int | None = None
    unproved: bool = False

    @property
    def options(self) -> list[str]:
        """The options of the command that name it."""
        return [*self._forms_by_option]

    def __bool__(self) -> bool:
        return bool(self.options)

    def check(self, form: str, longest: int) -> None:
        """Raise ExportError where the form cannot be made smaller so, or nothing becomes smaller."""
        if self.unproved and not self:
            raise ExportError("--unproved is for an export that is made smaller: --int8, --half or --max-tokens")
        if self.int8 and self.half:
            raise ExportError("--int8 and --half are two precisions of the same weights; give one of them")
        for option, forms in self._forms_by_option.items():
            if form not in forms:
                raise ExportError(f"{option} is for format {' or '.join(forms)}; got {form}")
        if self.max_tokens is not None and not FEWEST_TOKENS <= self.max_tokens < longest:
            raise ExportError(
                f"--max-tokens is {self.max_tokens}; allowed: {FEWEST_TOKENS} to {longest - 1}, as the model was "
                f"trained with {longest}"
            )

    @property
    def _forms_by_option(self) -> dict[str, tuple[str, ...]]:
        """The forms that each given option is for."""
        forms_by_option: dict[str, tuple[str, ...]] = {}
        if self.int8:
            forms_by_option["--int8"] = ("onnx",)
        if self.half:
            forms_by_option["--half"] = ("onnx", "hf")
        if self.max_tokens is not None:
            forms_by_option[f"--max-tokens {self.max_tokens}"] = ("onnx", "hf")
        return forms_by_option


def write(full: Path, out: Path, compression: Compression, types: Collection[str] | None = None) -> None:
    """Write the smaller export of the folder `full` to the folder `out`, without its card.

    `types` are the types of nodes that become int8, of `node_types`; None for all.
    """
    out.mkdir(exist_ok=True)
    for file in full.iterdir():
        if file.suffix == ".onnx" and (compression.int8 or compression.half):
            _to_int8(file, out / file.name, types) if compression.int8 else _to_half(file, out / file.name)
        elif file.name == layout.WEIGHTS and compression.half:
            _halve(file, out / file.name)
        elif file.name != description.CARD and not (file.name == SHARED and (compression.int8 or compression.half)):
            shutil.copyfile(file, out / file.name)
    if compression.max_tokens is not None:
        _change(out / tokens.TOKENIZER_CONFIG, {"model_max_length": compression.max_tokens})
        if (out / description.FILE).is_file():
            _change(out / description.FILE, {"longest": compression.max_tokens})
    if (out / CONFIG).is_file():
        changes: dict[str, Any] = {} if compression.max_tokens is None else {"max_tokens": compression.max_tokens}
        _change(out / CONFIG, changes | ({"dtype": "float16"} if compression.half else {}))


def megabytes(folder: Path) -> float:
    """Return the size of an export's graphs, or of its weights, in MB of 10^6 bytes."""
    return (
        sum(file.stat().st_size for file in folder.iterdir() if file.suffix in (".onnx", ".data", ".safetensors")) / 1e6
    )


def _change(file: Path, values: dict[str, Any]) -> None:
    files.write_json(file, files.read_json(file) | values)


def _halve(file: Path, out: Path) -> None:
    """Write a checkpoint whose weights have 16 bits."""
    import torch
    from safetensors.torch import load_file, save_file

    halves = {
        name: weight.half() if weight.dtype == torch.float32 else weight for name, weight in load_file(file).items()
    }
    save_file(halves, out, metadata={"format": "pt"})


def _to_half(graph: Path, out: Path) -> None:
    """Write a graph whose weights, and what is computed with them, have 16 bits; inputs and outputs stay."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    with _silence():
        onnx.save(convert_float_to_float16(_read(graph), keep_io_types=True), str(out))


def _to_int8(graph: Path, out: Path, types: Collection[str] | None) -> None:
    """Write a graph in which nodes of these types are quantised, or of all."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = _read(graph)
    nodes = [name for name, node_type in _quantisable(model).items() if types is None or node_type in types]
    if not nodes and types is None:
        raise ExportError(f"{graph.name} has no linear map of the encoder that could be quantised; allowed: --half")
    if not nodes:
        shutil.copyfile(graph, out)
        return
    with _silence():
        quantize_dynamic(
            model, str(out), op_types_to_quantize=[*QUANTISED], nodes_to_quantize=nodes, per_channel=True,
            reduce_range=True, weight_type=QuantType.QInt8,
        )  # fmt: skip


def node_types(full: Path) -> list[str]:
    """Return the types of nodes that int8 quantises in the graphs of a folder, such as `Linear attention.self.query`.

    A type holds the nodes of all layers.
    """
    names: dict[str, None] = {}
    for graph in sorted(full.glob("*.onnx")):
        names |= dict.fromkeys(_quantisable(_read(graph)).values())
    return [*names]


def _quantisable(model: Any) -> dict[str, str]:
    """Return the type of each node that is quantised, by the node's name."""
    shapes = {weight.name: weight.dims for weight in model.graph.initializer}
    types: dict[str, str] = {}
    for node in model.graph.node:
        shape = next((shapes[name] for name in node.input if name in shapes), None)
        scope = _scope(node)
        if node.op_type not in QUANTISED or shape is None or not scope.startswith(ENCODER) or scope.startswith(POOLER):
            continue
        if node.op_type != "Gather" or shape[0] > TABLE:
            parts = [part for part in scope.removeprefix(ENCODER).split(".") if not part.isdigit()]
            types[node.name] = f"{node.op_type} {'.'.join(parts).removeprefix('encoder.layer.')}"
    return types


def _scope(node: Any) -> str:
    """Return the innermost module that a node is computed in; empty where the graph does not say."""
    texts = [entry.value for entry in node.metadata_props if entry.key == SCOPES]
    scopes = ast.literal_eval(texts[0]) if texts else []
    return scopes[-2] if len(scopes) > 1 else ""


def _read(graph: Path) -> Any:
    """Read a graph without the shapes between its nodes: onnxruntime's tools transpose weights, and infer them anew."""
    import onnx

    model = onnx.load(str(graph))
    del model.graph.value_info[:]
    return model


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep onnxruntime's tools from logging advice."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(disabled)

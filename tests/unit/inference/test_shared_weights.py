"""The graphs of one export have the weights that they share once, in a file beside them."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mtbert.inference import exporting

SHARED, OWN = np.full(1000, 2, np.float32), np.full(500, 3, np.float32)  # 4000 and 2000 bytes


def graph(file: Path, added: np.ndarray) -> Path:
    """The sum of its input, of SHARED and of the sum of `added`."""
    nodes = [
        helper.make_node("ReduceSum", ["added"], ["sum"], keepdims=0),
        helper.make_node("Add", ["shared", "sum"], ["more"]),
        helper.make_node("Add", ["x", "more"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1000]) for name in "xy")
    weights = [numpy_helper.from_array(SHARED, "shared"), numpy_helper.from_array(added, "added")]
    made = helper.make_graph(nodes, "made", [x], [y], weights)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), file)
    return file


def places(file: Path) -> dict[str, tuple[str, ...]]:
    weights = onnx.load(file, load_external_data=False).graph.initializer
    return {each.name: tuple(entry.value for entry in each.external_data) for each in weights}


def test_weights_that_are_equal_are_written_once_and_small_ones_stay(tmp_path: Path) -> None:
    import onnxruntime

    one, other = graph(tmp_path / "one.onnx", OWN), graph(tmp_path / "other.onnx", OWN[:2])
    exporting._share_weights(tmp_path)
    shared = ("weights.data", "0", "4000")
    assert places(one) == {"shared": shared, "added": ("weights.data", "4096", "2000")}
    assert places(other) == {"shared": shared, "added": ()}
    assert (tmp_path / "weights.data").stat().st_size == 4096 + 2000
    for file, expected in ((one, 1 + 2 + 1500), (other, 1 + 2 + 6)):
        said = onnxruntime.InferenceSession(file).run(None, {"x": np.ones(1000, np.float32)})[0]
        assert np.asarray(said).tolist() == [expected] * 1000

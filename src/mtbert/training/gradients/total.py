"""Total: the gradient of the sum of the losses.

Formula: g = grad of sum_i l_i.

Source: the usual multi-task objective; SlapBERT calls it "interleaved" training where a step holds every task.

Prefer another rule where the tasks' gradients conflict.
"""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn

from mtbert.training.gradients.base import GradientRule


class Total(GradientRule):
    """Back-propagates the sum of the losses."""

    def __call__(
        self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter], backward: Callable[[Tensor], None]
    ) -> None:
        """Leave the gradient of the sum in each parameter's `.grad`."""
        total = sum(losses.values())
        assert isinstance(total, Tensor), "a step has at least one loss"
        backward(total)

"""Total: the gradient of the sum of the losses.

Formula: g = grad of sum_i l_i.

Source: the usual multi-task objective; SlapBERT calls it "interleaved" training where a step holds every task.

Prefer another rule where the tasks' gradients conflict.
"""

from mtbert.training.gradients.base import GradientRule


class Total(GradientRule):
    """Back-propagates the sum of the losses, which is what the base class does."""

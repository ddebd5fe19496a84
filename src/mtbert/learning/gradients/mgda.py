"""Take the shortest weighted mean of the tasks' gradients: a step along it harms no task (MGDA).

Formula: g = sum_i a_i g_i with the a that makes |sum_i a_i g_i| least, where all a_i >= 0 and sum_i a_i = 1. Then
g . g_i >= |g|^2 for every task.

Source: Desideri (2012); Sener and Koltun (2018), section 3, equation 3, without their bound for encoders and
without the scaling of gradients that their code offers. Symbols: g_i the gradient of task i over the shared parameters.

It is found exactly, by non-negative least squares; the paper's algorithm 2 (Frank-Wolfe) approaches it round by
round. Equal gradients count alike. A task whose gradient is 0 takes all.

Mind that the shortest gradient counts most: tasks that are almost learnt hold the others back. Prefer `imtl_g`
where gradients differ in length.
"""

from mtbert.learning.gradients.gramian import Array, GramianRule, in_few_dimensions, nearest_to_origin


class Mgda(GramianRule):
    """Takes the point of the gradients' convex hull that is nearest to the origin."""

    def counts(self, gramian: Array) -> Array:
        """Return a, [tasks], from a Gramian [tasks, tasks]: 0 or more, with sum 1."""
        return nearest_to_origin(in_few_dimensions(gramian))

"""One seed, one generator per purpose."""

import numpy as np
import pytest

from mtbert import seeding


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [((1, "weights"), 5164344575451445340), ((7, "order", "sst", 3), 5077571147892296350)],
)
def test_a_derived_seed_is_half_the_first_64_bits_of_a_sha256(purpose: tuple, expected: int):
    assert seeding.derive(*purpose) == expected  # printf '1/weights' | sha256sum: 8f56e00f1aff70b8...


def test_drawing_for_one_purpose_does_not_shift_another():
    expected = seeding.stream(1, "order").permutation(20)
    noise, order = seeding.stream(1, "noise"), seeding.stream(1, "order")
    noise.random(1000)
    np.testing.assert_array_equal(order.permutation(20), expected)
    assert not np.array_equal(seeding.stream(1, "noise").permutation(20), expected)

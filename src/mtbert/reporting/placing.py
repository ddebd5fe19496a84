"""Where to write the names of points in a picture, so that none hides another or a point."""

import math
from collections.abc import Sequence

Offset = tuple[float, float]
Box = tuple[float, float, float, float]  # left, bottom, right, top

DIRECTIONS = [(math.cos(angle), math.sin(angle)) for angle in (math.pi / 2 + at * math.pi / 8 for at in range(16))]
DISTANCES = (0, 10, 22, 36, 52, 70, 90)  # from the nearest place on, tried in turn
GAP = 8.0  # between a point and its name where the name is nearest
POINT = 5.0  # radius that stays free around a point


def offsets(
    points: Sequence[Offset], sizes: Sequence[Offset], width: float, height: float, nameless: Sequence[Offset] = ()
) -> list[Offset | None]:
    """The middle of each name from its point; the first that is free of other names, points and edges.

    Args:
        points: in pixels from the lower left corner, those to be named first in front.
        sizes: width and height of each name in pixels.
        width: of the picture in pixels.
        height: likewise.
        nameless: further points, which a name must not hide.

    Returns:
        None for a name that finds no room.
    """
    taken: list[Box] = [_box(point, (2 * POINT, 2 * POINT)) for point in (*points, *nameless)]
    shifts: list[Offset | None] = []
    for at, (point, size) in enumerate(zip(points, sizes, strict=True)):
        own, others = taken[at], taken[:at] + taken[at + 1 :]
        tried = ((shift, _box((point[0] + shift[0], point[1] + shift[1]), size)) for shift in _shifts(size))
        free = ((shift, box) for shift, box in tried if _inside(box, width, height))
        fitting = next(((s, box) for s, box in free if not any(_meet(box, other) for other in (own, *others))), None)
        shifts.append(fitting and fitting[0])
        taken += [fitting[1]] if fitting else []
    return shifts


def _shifts(size: Offset) -> list[Offset]:
    """Every place to try, the nearest first: beside the point, so far that the name's edge clears it."""
    reach = [(x * (size[0] / 2 + GAP), y * (size[1] / 2 + GAP)) for x, y in DIRECTIONS]
    ways = list(zip(reach, DIRECTIONS, strict=True))
    return [(x + dx * far, y + dy * far) for far in DISTANCES for (x, y), (dx, dy) in ways]


def _box(middle: Offset, size: Offset) -> Box:
    (x, y), (wide, high) = middle, size
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _inside(box: Box, width: float, height: float) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

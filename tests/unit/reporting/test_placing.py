"""Names of points: beside them, and never over one another."""

from itertools import combinations

from mtbert.reporting import placing


def box(point: placing.Offset, shift: placing.Offset, size: placing.Offset) -> placing.Box:
    return placing._box((point[0] + shift[0], point[1] + shift[1]), size)


def test_a_name_stands_above_its_point_where_there_is_room() -> None:
    assert [tuple(map(round, shift or ())) for shift in placing.offsets([(50, 50)], [(40, 10)], 100, 100)] == [(0, 13)]


def test_names_at_an_edge_stay_inside() -> None:
    ((x, y),) = [shift for shift in placing.offsets([(5, 95)], [(40, 10)], 100, 100) if shift]
    assert 5 + x - 20 >= 0
    assert 95 + y + 5 <= 100


def test_names_of_a_cluster_do_not_meet() -> None:
    points = [(200.0 + at % 5 * 3, 150.0 + at // 5 * 3) for at in range(20)]
    sizes = [(60.0, 14.0)] * 20
    found = placing.offsets(points, sizes, 600, 400)
    assert None not in found
    boxes = [box(point, shift, size) for point, shift, size in zip(points, found, sizes, strict=True) if shift]
    assert not any(placing._meet(one, other) for one, other in combinations(boxes, 2))


def test_a_name_hides_no_point_that_has_none() -> None:
    (shift,) = placing.offsets([(50, 50)], [(40, 10)], 100, 100, nameless=[(50, 63)])
    assert shift
    assert not placing._meet(box((50, 50), shift, (40, 10)), placing._box((50, 63), (10, 10)))


def test_a_name_without_room_is_left_out() -> None:
    assert placing.offsets([(5, 5), (15, 5)], [(200, 10), (4, 4)], 40, 40)[0] is None

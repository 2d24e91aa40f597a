"""Places for the names of points in a figure: near their points, and over nothing else."""

import math

NEAR = (5, 9, 14, 20)  # distances of a name from its point, the best first
FAR = (26, 33, 45, 60, 80, 105, 135, 170, 210)
LEADER = 12  # a name that is farther off has a line to its point
ANGLES = (0, 180, 35, -35, 145, -145, 90, -90, 60, -60, 120, -120, 15, -15, 165, -165)  # degrees; the best first
DOT = 4  # half the side of a point
CROWD = 60  # points at this distance are neighbours


def place_names(spots, sizes, frame, hard, soft):
    """A place for each name, or None where one has no place.

    Those with the most neighbours choose first, and each takes the nearest place that is free; one that finds none
    chooses before all others in the next attempt.

    Args:
        spots: list of (x, y), the points.
        sizes: list of (width, height) of the names.
        frame: (left, bottom, right, top) that no name leaves.
        hard: lines ((x, y), (x, y)) that a name covers only where every other place is taken.
        soft: lines that are covered before those.

    Returns:
        List of (box, line to the point or None), where a box is (left, bottom, right, top). No two boxes overlap, no
        box covers a point, and no line to a point goes through a box.
    """
    crowds = [sum(math.dist(one, other) < CROWD for other in spots) for one in spots]
    order = sorted(range(len(spots)), key=lambda each: -crowds[each])
    for _ in range(1 + len(spots)):
        candidates, left_over = _in_turn(order, spots, sizes, frame, (hard, soft))
        if left_over is None:
            return [candidates[number] for number in range(len(spots))]
        order = [left_over, *(each for each in order if each != left_over)]
    return None


def _in_turn(order, spots, sizes, frame, lines):
    """({number of a point: its candidate}, None), or (what was found, the first that has no place)."""
    dots = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in spots]
    hard, soft = lines
    places = {}
    for number in order:
        others = [dot for each, dot in enumerate(dots) if each != number]
        placed = None
        for rings, avoided in ((NEAR, [*hard, *soft]), (NEAR, hard), (FAR, [*hard, *soft]), (FAR, hard), (FAR, [])):
            free = (each for each in _candidates(spots[number], sizes[number], rings) if _inside(each[0], frame))
            placed = next((each for each in free if _fits(each, avoided, dots, others, places.values())), None)
            if placed:
                break
        if placed is None:
            return places, number
        places[number] = placed
    return places, None


def _candidates(spot, size, rings):
    """(box, line to the point) at each distance and angle; a box touches its ring with the side that is nearest."""
    (x, y), (width, height) = spot, size
    for ring in rings:
        for angle in ANGLES:
            if ring > LEADER and abs(angle) == 90:
                continue  # the line to the point would lie on the bar of the interval
            across, up = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            middle_x, middle_y = x + across * (ring + width / 2), y + up * (ring + height / 2)
            box = (middle_x - width / 2, middle_y - height / 2, middle_x + width / 2, middle_y + height / 2)
            end = (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]))
            yield box, ((x, y), end) if ring > LEADER else None


def _inside(box, frame):
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _fits(candidate, lines, dots, others, placed):
    box, leader = candidate
    if any(overlap(box, other) for other in dots) or any(crosses(line, box) for line in lines):
        return False
    if any(overlap(box, other) or line and crosses(line, box) for other, line in placed):
        return False
    if leader is None:
        return True
    return not any(crosses(leader, each) for each in [*others, *(other for other, _ in placed)])


def overlap(one, other):
    """Whether two boxes have an area in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def crosses(line, box):
    """Whether a line, ((x, y), (x, y)), has a part inside a box (Liang and Barsky 1984)."""
    (x, y), (end_x, end_y) = line
    first, last = 0.0, 1.0
    for start, way, low, high in ((x, end_x - x, box[0], box[2]), (y, end_y - y, box[1], box[3])):
        if way == 0:
            if not low < start < high:
                return False
            continue
        enter, leave = sorted(((low - start) / way, (high - start) / way))
        first, last = max(first, enter), min(last, leave)
    return first < last

"""Which tests `make test`, `make test-slow` and `make test-release` run: two markers say it, and a new test is quick.

    @pytest.mark.slow             not in `make test`
    @pytest.mark.release          not in `make test-slow` either
    @pytest.mark.slow(but=3)      the first three cases of this function stay quick
    @pytest.mark.release(but="gru")        so do the cases with this word in their names, or with one of several

Of every function at least one case runs before a release, except where a single one takes half a minute.
"""

from collections import defaultdict

import pytest

MARKERS = ("slow", "release")


def mark(items):
    """Take the markers from the cases that they leave out; what is for a release is slow as well."""
    functions = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    for cases in functions.values():
        for number, item in enumerate(cases):
            item.own_markers = [
                each for each in item.own_markers if each.name not in MARKERS or holds(each, number, item)
            ]
            if item.get_closest_marker("release"):
                item.add_marker(pytest.mark.slow)


def holds(marker, number, item):
    """Whether a marker is meant for a case, the one of this number of its function."""
    but = marker.kwargs.get("but", 0)
    if isinstance(but, int):
        return number >= but
    return not any(word in item.callspec.id for word in ([but] if isinstance(but, str) else but))

"""Labels move as the drawing in `serving.deploy.labels` says, and never in another way."""

import contextlib

import pytest

from serving.deploy.labels import Labels


def test_a_trial_that_is_promoted_and_taken_back():
    first = Labels(1)
    trial = first.try_version(2)
    assert trial.by_name == {"stable": 1, "canary": 2} and trial.versions == [1, 2]
    promoted = trial.promote()
    assert promoted.by_name == {"stable": 2, "previous": 1}
    assert promoted.roll_back() == first and trial.roll_back() == first
    assert promoted.try_version(3) == Labels(2, canary=3)


def test_repeating_a_trial_changes_nothing():
    assert Labels(1).try_version(2).try_version(2) == Labels(1, canary=2)


@pytest.mark.parametrize(
    ("labels", "change", "said"),
    [
        (Labels(2), lambda labels: labels.try_version(2), "version 2 is stable already"),
        (
            Labels(1, canary=2),
            lambda labels: labels.try_version(3),
            "End its trial first, with --promote or --rollback",
        ),
        (Labels(1), Labels.promote, "there is no canary; stable is version 1"),
        (Labels(2, previous=1), Labels.promote, "stable is version 2, previous is version 1"),
        (Labels(1), Labels.roll_back, "no canary and no version of before"),
    ],
)
def test_what_makes_no_sense_is_refused(labels, change, said):
    with pytest.raises(ValueError, match=said):
        change(labels)


def test_a_label_in_use_never_jumps_to_a_version_that_is_not_loaded():
    """TensorFlow Serving refuses such a configuration as a whole. All states that can be reached are tried."""
    changes = [lambda labels, version=version: labels.try_version(version) for version in range(1, 5)]
    changes += [Labels.promote, Labels.roll_back]
    known, new = set(), {Labels(1)}
    while new:
        known |= new
        pairs = []
        for labels in new:
            for change in changes:
                with contextlib.suppress(ValueError):
                    pairs.append((labels, change(labels)))
        for labels, after in pairs:
            assert len(after.versions) == len(after.by_name) <= 2
            for label, version in after.by_name.items():
                assert label not in labels.by_name or version in labels.versions
        new = {after for _, after in pairs} - known
    assert len(known) == 4 + 2 * 4 * 3  # one version alone, or two with the one as canary or as previous

"""A classifier's answer to a text that is out of its scope."""

import pytest

from serving.runtime import Runtime
from serving.runtime.errors import DamagedError
from tests.serving import fake_artefact


def test_a_label_that_is_not_likely_enough_is_out_of_scope(tmp_path):
    folder = fake_artefact.write(tmp_path / "echo", "classify")
    # Every answer of this artefact has the probability 1: that this one is wrong has the probability 0.
    for threshold, label, probability in ((1.0, "zwei", 1.0), (1.01, "oos", 0.0)):
        fake_artefact.change(folder, scope={"label": "oos", "threshold": threshold})
        found = Runtime(folder, threads=1).run(["abc", ""])
        assert [(each.label, each.probability) for each in found] == [(label, probability), ("", 0.0)]
        assert [each.confidence for each in found] == [probability, None]
        assert found[0].probabilities == {"zwei": 1.0, "null": 0.0, "eins": 0.0}
    for wrong in ({"label": "oos"}, {"label": "oos", "threshold": "0.5"}, 0.5):
        fake_artefact.change(folder, scope=wrong)
        with pytest.raises(DamagedError, match="scope"):
            Runtime(folder, threads=1)

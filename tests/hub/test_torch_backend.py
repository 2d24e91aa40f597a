"""Every model of the hub on Keras' torch backend: what it answers on TensorFlow, the order of cut answers included.

The test extra has no torch, which is large and which nothing else needs, so this runs where somebody has installed it:
`pip install torch==2.13.0`, whose build for CPUs is enough.
"""

import importlib.util
import json

import numpy as np
import pytest

from tests.house_rules import ROOT
from tests.shared import python

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch: pip install torch==2.13.0"),
]
ASK = """
import json, pathlib, sys
import keras, numpy as np
import zoo
from zoo.data import pad
from zoo.decoding import beam_search
from zoo.text import Tokenizer
from zoo.text.base import EOS

def answers(home, manifest):
    model = keras.models.load_model(home / "model.keras", compile=False)
    tokenizer, kind = Tokenizer.load(home / "source.spm"), manifest["kind"]
    end = [] if kind == "continue" else [EOS]
    given = [text.split("\\t") for text in manifest["texts"][:3] or ["one text", "another"]]
    texts = [[text[side % len(text)] for text in given] for side in (0, 1)]
    sides = [pad([ids + end for ids in tokenizer.encode(side)]) for side in texts]
    if kind in ("generate", "continue"):
        return beam_search(model, model.encode(*sides[0]), min(manifest["max_length"], 12))
    names = ("first", "second") if kind == "compare" else ("",)
    inputs = {f"{name}_{what}".lstrip("_") if name else {"ids": "token_ids", "lengths": what}[what]: value
              for name, side in zip(names, sides) for what, value in zip(("ids", "lengths"), side)}
    return [keras.ops.softmax(model(inputs, training=False))]

found = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/*/manifest.json")):
    rows = answers(path.parent, json.loads(path.read_text("utf-8")))
    found[path.parent.as_posix()] = [keras.ops.convert_to_numpy(row).tolist() for row in rows]
pathlib.Path(sys.argv[2]).write_text(json.dumps(found))
"""


def test_all_models_answer_as_on_tensorflow(tmp_path):
    found = []
    for backend in ("tensorflow", "torch"):
        out = tmp_path / f"{backend}.json"
        python("-c", ASK, ROOT / "hub", out, KERAS_BACKEND=backend)
        found.append(json.loads(out.read_text("utf-8")))
    expected, received = found
    assert expected.keys() == received.keys() and len(expected) >= 35
    for name, parts in expected.items():
        assert received[name][:-1] == parts[:-1], name  # ids and lengths
        np.testing.assert_allclose(received[name][-1], parts[-1], atol=1e-3, err_msg=name)

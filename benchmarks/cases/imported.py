"""Networks of others, imported: a Marian of real size against CTranslate2 and a loop in Python, and MiniLM's vectors.

The translator has OPUS-MT's sizes: 6 + 6 post-norm layers of 512, 58,101 pieces, 74 million random weights that
`transformers` made; `seqzoo import` and CTranslate2's own converter read the same folder. It ends no text, so every
engine writes `STEPS` pieces. Everything is from strings to strings. In float32 all engines must give the same texts.
The loop has one call of ONNX Runtime for the encoder and one for each step, caches of keys and values, and NumPy in
between, as programs have it that run exported graphs. MiniLM is the real all-MiniLM-L6-v2.
"""

import atexit
import json
import shutil
import tempfile
from pathlib import Path

from harness.engine import Engine
from harness.report import geometric_mean

MODULE, PEERS, ENVIRONMENT = "cases.imported_engines", "cases.imported_peers", "imported"
STEPS = 32


def batch_of(home, count, name="translation"):
    """Sentences of the test set of the hub's translator from English: for vectors of all lengths.

    The translator writes as much for each, and so reads such as are alike, of 10 to 14 of its pieces.
    """
    return json.loads(Path(home, f"{name}.json").read_text(encoding="utf-8"))[:count]


def cells(quick):
    """What is made is kept for the length of the run."""
    home = tempfile.mkdtemp(prefix="imported-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    batches = (1,) if quick else (1, 8, 32)
    vectors = [_vectors(home, batch) for batch in batches if batch != 8]
    return vectors + [_translation(home, beams, batch) for batch in batches for beams in (1, 4)]


def _translation(home, beams, batch):
    work = {"home": home, "beams": beams, "batch": batch}
    ours = {
        name: Engine(f"ours, {name}", MODULE, "translate", work | {"precision": name}) for name in ("float32", "int8")
    }
    theirs = {
        name: Engine(f"CTranslate2, {name}", PEERS, "translate", work | {"precision": name}, ENVIRONMENT)
        for name in ours
    }
    loop = Engine("a loop in Python, float32", MODULE, "loop", work)
    pairs = [(ours[name].name, theirs[name].name) for name in ours] + [(ours["float32"].name, loop.name)]
    return {
        "name": f"translation, beams: {beams}, batch: {batch}",
        "engines": [*ours.values(), *theirs.values(), loop],
        "pairs": pairs,
        "equal": [[ours["float32"].name, theirs["float32"].name, loop.name]],
        "unequal": 0.05,  # of the texts: where rounding decides between two pieces
        "about": {"beams": beams, "batch": batch},
    }


def _vectors(home, batch):
    work = {"home": home, "batch": batch}
    ours = Engine("ours, float32", MODULE, "embed", work)
    theirs = [
        Engine("ONNX Runtime, graph of PyTorch", PEERS, "embed_onnx", work, ENVIRONMENT),
        Engine("PyTorch", PEERS, "embed_torch", work, ENVIRONMENT),
    ]
    return {
        "name": f"vectors, batch: {batch}",
        "engines": [ours, *theirs],
        "pairs": [(ours.name, each.name) for each in theirs],
        "equal": [[ours.name, *(each.name for each in theirs)]],
        "tolerance": 1e-4,
        "about": {"beams": 0, "batch": batch},
    }


def summary(rows):
    translation = [row for row in rows if row["beams"]]
    return {"geometric_mean_translation": geometric_mean(translation)} if translation else {}

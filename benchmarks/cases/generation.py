"""A Transformer's whole generation in one ONNX graph against CTranslate2, the same weights, float32 and int8.

Pre-norm, 512 units, 8 heads, 2048 hidden units, vocabulary 8192; 32 source tokens, 48 steps (EOS is made impossible, so
that every engine does the same work). The float32 tokens of both must be equal; random weights say nothing about tokens
of int8.
"""

import atexit
import shutil
import tempfile

from harness.engine import Engine
from harness.report import geometric_mean

SIZE = {"units": 512, "heads": 8, "hidden": 2048, "vocabulary": 8192, "source": 32, "steps": 48}
PRECISIONS = ("float32", "int8")


def cells(quick):
    """What is exported is kept for the length of the run."""
    home = tempfile.mkdtemp(prefix="generation-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    if quick:
        return [_cell(3, beams, 1, SIZE, home) for beams in (1, 4)]
    return [_cell(layers, beams, batch, SIZE, home) for layers in (3, 6) for beams in (1, 4) for batch in (1, 8, 32)]


def _cell(layers, beams, batch, size, home):
    settings = {"folder": f"{home}/{layers}-{beams}", "layers": layers, "beams": beams, "batch": batch, "size": size}
    engines, pairs = [], []
    for precision in PRECISIONS:  # ours first: it exports what the peer reads
        own = {**settings, "precision": precision}
        pair = (
            Engine(f"ours, {precision}", "cases.generation_engines", "ours", own),
            Engine(f"CTranslate2, {precision}", "cases.ctranslate2_engine", "peer", own, "ctranslate2"),
        )
        engines += pair
        pairs.append(tuple(engine.name for engine in pair))
    return {
        "name": f"{layers} + {layers} blocks, beams: {beams}, batch: {batch}",
        "engines": engines,
        "pairs": pairs,
        "equal": [pairs[0]],
        "about": {"layers": layers, "beams": beams, "batch": batch},
    }


def summary(rows):
    return {f"geometric_mean_{name}": geometric_mean(rows, engine=f"ours, {name}") for name in PRECISIONS}

"""Processor seconds for 1,000 sentences from strings to strings: ours, CTranslate2, and our SavedModel in TensorFlow.

They stand in for energy, which a virtual machine does not tell: what a core takes, it takes for seconds. The model is
translate-en-zh of this checkout's hub, its sentences are those of its test split. Beams of 4; batches of similar
length, the same for all; tokenizers included. Every row tells which share of the answers differs (`unequal`). The
rule of the hub's model that no three pieces are written twice is off, because the others renormalise where it acts.

Without a length penalty all search for the same, and in float32 at most one answer of a hundred may differ, because
CTranslate2 looks for ends among the 4 best continuations and ours among 8. CTranslate2 stops at the first answer that
nothing can beat, and so do we, unless it is asked for all beams: it is measured both ways. With a penalty of 0.6, which
the hub's model has, CTranslate2 divides by `length^0.6` and stops at four answers; ours divides by
`((5 + length) / 6)^0.6` and stops when no better one could end with the next token, as the hub's model does, or, named
"sure", when no better one can come at all: only ours and TensorFlow must agree.
"""

import atexit
import shutil
import tempfile

from harness.engine import Engine
from harness.report import geometric_mean

MODULE, SENTENCES, BEAMS = "cases.energy_engines", 1000, 4
PRECISIONS = ("float32", "int8")


def cells(quick):
    """What is exported is kept for the length of the run."""
    home = tempfile.mkdtemp(prefix="energy-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    if quick:
        return [_cell(home, 0.0, 32, 96)]
    return [_cell(home, alpha, batch, SENTENCES) for alpha, batch in ((0.0, 32), (0.6, 32), (0.6, 1))]


def _cell(home, alpha, batch, count):
    work = {"folder": f"{home}/{alpha}", "beams": BEAMS, "batch": batch}
    wanted = {"": 1} if alpha else {"": 1, ", all beams": BEAMS}  # with a penalty it is one way
    stops = {"": "next"} | ({", sure": "sure"} if alpha else {})  # without one they are the same
    engines, pairs = [], []
    for precision in PRECISIONS:  # ours first: it exports what the peers read
        own = work | {"precision": precision, "alpha": alpha}
        ours = [
            Engine(f"ours, {precision}{name}", MODULE, "ours", own | {"count": count, "stop": stop})
            for name, stop in stops.items()
        ]
        peers = [
            Engine(f"CTranslate2, {precision}{name}", MODULE, "peer", own | {"answers": answers}, "ctranslate2")
            for name, answers in wanted.items()
        ]
        engines += [*ours, *peers]
        pairs += [(one.name, peer.name) for one in ours for peer in peers]
    saved = Engine("TensorFlow", MODULE, "saved_model", work)
    exact = [engine.name for engine in engines if "float32" in engine.name]
    return {
        "name": f"length penalty: {alpha}, batch: {batch}",
        "engines": [*engines, saved],
        "pairs": [*pairs, *((f"ours, {precision}", saved.name) for precision in PRECISIONS)],
        "equal": [[*(exact[:1] if alpha else exact), saved.name]],
        "unequal": 0.01,
        "before": 1,
        "about": {"sentences": count, "beams": BEAMS, "batch": batch, "alpha": alpha},
    }


def summary(rows):
    kinds = [(f"{peer}_{name}", peer, name) for peer in ("CTranslate2", "TensorFlow") for name in PRECISIONS]
    return {
        f"geometric_mean_{key}": geometric_mean([row for row in rows if peer in row["peer"]], engine=f"ours, {name}")
        for key, peer, name in kinds
    }

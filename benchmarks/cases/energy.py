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
from harness.processor import ROOT
from harness.report import geometric_mean

MODULE, SENTENCES, BEAMS = "cases.energy_engines", 1000, 4
PRECISIONS = ("float32", "int8")


def cells(quick):
    """What is exported is kept for the length of the run."""
    home = tempfile.mkdtemp(prefix="energy-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    model = max((ROOT / "hub" / "translate-en-zh").glob("[0-9]*"), key=lambda folder: int(folder.name))
    if quick:
        return [cell(home, model, 0.0, 32, 96)]
    return [cell(home, model, alpha, batch, SENTENCES) for alpha, batch in ((0.0, 32), (0.6, 32), (0.6, 1))]


def cell(home, model, alpha, batch, count, tensorflow=True):
    """The engines for so many sentences by an artefact, `tensorflow` among them; `home` keeps what is exported."""
    work = {"folder": f"{home}/{alpha}", "beams": BEAMS, "batch": batch}
    wanted = {"": 1} if alpha else {"": 1, ", all beams": BEAMS}  # with a penalty it is one way
    stops = {"": "next"} | ({", sure": "sure"} if alpha else {})  # without one they are the same
    engines, pairs = [], []
    for precision in PRECISIONS:  # ours first: it exports what the peers read
        own, asked = work | {"precision": precision, "alpha": alpha}, {"model": str(model), "count": count}
        ours = [
            Engine(f"ours, {precision}{name}", MODULE, "ours", own | {"asked": asked, "stop": stop})
            for name, stop in stops.items()
        ]
        peers = [
            Engine(f"CTranslate2, {precision}{name}", MODULE, "peer", own | {"answers": answers}, "ctranslate2")
            for name, answers in wanted.items()
        ]
        engines += [*ours, *peers]
        pairs += [(one.name, peer.name) for one in ours for peer in peers]
    exact = [engine.name for engine in engines if "float32" in engine.name]
    same = exact[:1] if alpha else exact
    if tensorflow:
        engines.append(Engine("TensorFlow", MODULE, "saved_model", work))
        pairs += [(f"ours, {precision}", "TensorFlow") for precision in PRECISIONS]
        same.append("TensorFlow")
    return {
        "name": f"length penalty: {alpha}, batch: {batch}",
        "engines": engines,
        "pairs": pairs,
        "equal": [same],
        "unequal": 0.01,
        "before": 1,
        "about": {"sentences": count, "beams": BEAMS, "batch": batch, "alpha": alpha},
    }


def summary(rows):
    means = {}
    for peer in ("CTranslate2", "TensorFlow"):
        for name in PRECISIONS if any(peer in row["peer"] for row in rows) else ():
            those = [row for row in rows if peer in row["peer"]]
            means[f"geometric_mean_{peer}_{name}"] = geometric_mean(those, engine=f"ours, {name}")
    return means

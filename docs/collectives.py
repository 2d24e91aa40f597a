"""Writes into docs/devices.md what two devices tell each other in a step: `python docs/collectives.py CORPORA`.

CORPORA holds a folder for each corpus, as for docs/readiness.py. It takes a recipe of each system, compiles its
training step for two devices of the processor, and counts the operations in which both take part.
"""

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "devices.md"
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
os.environ.setdefault("KERAS_BACKEND", "jax")

import marked  # noqa: E402
from readiness import given  # noqa: E402
from reading_collectives import collectives  # noqa: E402

from zoo.core import devices  # noqa: E402
from zoo.core.storage import write_text  # noqa: E402
from zoo.runs.forecast import make_steps  # noqa: E402

NAMES = [  # one of each system
    "dates-gru-additive", "tinyshakespeare-transformer-pre-norm", "multi30k-de-en-depth-adaptive",
    "tinyshakespeare-tensorized", "gutenberg-9-adaptive-span", "gutenberg-9-product-key", "gutenberg-9-reformer",
    "trec-star", "babi-2-universal-act",
]  # fmt: skip
HEAD = """| recipe | gradients | all-reduces | one after the other | in loops | all-gathers | of parameters |
|---|---|---|---|---|---|---|
"""


def measure(recipe, data=None):
    """What the devices tell each other in a training step of a recipe; `devices.start` was called before."""
    steps, batches, _ = make_steps(recipe, data)
    program, arguments = steps.programs(batches.longest())["training"]
    found = collectives(program.lower(*arguments).compile().as_text())
    weights = {tuple(weight.shape) for weight in steps.model.trainable_variables if len(weight.shape) > 1}
    gathers = [each for each in found if each.kind == "all-gather"]
    sums = [each for each in found if each.kind == "all-reduce"]
    return {
        "recipe": recipe.name,
        "gradients": sum(4 * weight.value.size for weight in steps.model.trainable_variables),
        "sums": [each.bytes for each in sums if not each.repeated],
        "rounds": len({each.round for each in sums if not each.repeated}),
        "looped": [each.bytes for each in sums if each.repeated],
        "gathers": [each.bytes for each in gathers],
        "parameters": [each.bytes for each in gathers if any(shape in weights for _, shape in each.arrays)],
        "others": sorted({each.kind for each in found} - {"all-reduce", "all-gather"}),
    }


def row(found):
    """A line of the table."""
    cells = [found["recipe"], _size(found["gradients"]), _told(found["sums"]), str(found["rounds"])]
    cells += [_told(found[name]) for name in ("looped", "gathers", "parameters")]
    return f"| {' | '.join(cells)} |\n"


def _told(sizes):
    return f"{len(sizes)} ({_size(sum(sizes))})" if sizes else "0"


def _size(count):
    return f"{count / 1e6:,.2f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"


def page(text, lines):
    """The text of the page with its table written anew."""
    return marked.written(text, "docs/collectives.py", f"\n{HEAD}{''.join(lines)}\n", "docs/devices.md")


def main(corpora, *names):
    lines = []
    for name in names or NAMES:
        start, (recipe, data) = time.monotonic(), given(name, Path(corpora))
        devices.start(2, recipe.training)
        found = measure(recipe, data)
        lines.append(row(found))
        print(f"{time.monotonic() - start:5.0f} s  {lines[-1].strip()} {found}", file=sys.stderr, flush=True)
    if not names:
        write_text(PAGE, page(PAGE.read_text(encoding="utf-8"), lines))


if __name__ == "__main__":
    main(*sys.argv[1:])

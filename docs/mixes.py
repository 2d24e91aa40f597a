"""Writes the page of all mixes of attention, feed-forward, block, depth and model: `python docs/mixes.py`.

A mix is what a recipe may ask for. Whether it is built is what the check of a recipe says (`zoo.recipes.make`), which
needs no Keras; tests/recipes/test_mixes.py builds those that pass, and compares the page with this.
"""

import itertools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "zoo" / "mixes.md"
sys.path.insert(0, str(ROOT))

from zoo.recipes import make  # noqa: E402
from zoo.recipes.files import combine_settings  # noqa: E402
from zoo.settings.table import by_tag  # noqa: E402
from zoo.tasks import TASKS  # noqa: E402

DATA = {"translate": "reversal", "continue": "text", "classify": "trec", "tag": "tagged"}
SIGNS = "abcdefgh"
HEAD = """# What goes with what

Every recipe of a layered model chooses an attention, a feed-forward layer, a block and a depth. Of {total} mixes
{built} can be built. The other {refused} are refused, with the reason, before anything is read.

All other settings have their defaults here. Another setting may allow what is refused: a `product_key` memory with
`query_norm = "layer"` goes into a reversible stack.

In the tables, ● marks a mix that can be built, and a letter stands for the reason why a mix is refused:

"""
TAIL = """
A transformer with `adaptive_span` has it in its decoder; its encoder reads in both directions and keeps
`multi_head`.

A star has multi-head attentions and no feed-forward layer: `multi_head`, `dense` and `pre_norm` in its row mean that
the recipe chooses nothing there.

`python docs/mixes.py` writes this page from the tables that check a recipe. The tests build all mixes; for a sample of
60, drawn anew for each release, they also train, save, load and export the model to a SavedModel and to ONNX.
"""


def mixes():
    """All `(task, depth, block, attention, feedforward)`."""
    slots = [TASKS[task].models["transformer"].slots for task in DATA]
    places = ("depth", "block", "attention", "feedforward")
    held = [list(dict.fromkeys(name for each in slots for name in by_tag(each[slot]))) for slot in places]
    return list(itertools.product(DATA, *held))


def recipe_of(mix, **changes):
    """The recipe that asks for a mix.

    Raises:
        ValueError: it is refused.
    """
    task, depth, block, attention, feedforward = mix
    sizes = {"kind": "transformer"} | changes
    base = {"name": "mix", "task": task, "data": {"corpus": DATA[task]}, "model": sizes}
    slots = {"depth": depth, "block": block, "attention": attention, "feedforward": feedforward}
    return make(combine_settings([base, slots]))


def reason(mix):
    """Why a mix is refused, in one sentence; None where it is built."""
    try:
        recipe_of(mix)
        return None
    except ValueError as error:
        found = re.sub(r"^recipe '\w+': ", "", str(error))
    star = re.search(r"depth = 'star' has blocks of its own, which leave no place for it", found)
    if star:
        return (
            '`depth = "star"` has blocks of its own: another attention, feed-forward layer or block has no place in it'
        )
    wrong = re.match(r"(\w+) must be .* received '(\w+)'\.(?: The reason: (.*)\.)?$", found)
    if wrong:
        return f'{wrong[3]} (`{wrong[1]} = "{wrong[2]}"`)'
    return re.sub(r"; received .*", "", found)


def page():
    """The text of the page."""
    verdicts = {mix: reason(mix) for mix in mixes()}
    reasons = list(dict.fromkeys(why for why in verdicts.values() if why))
    signs = dict(zip(reasons, SIGNS, strict=False))
    built = sum(why is None for why in verdicts.values())
    parts = [HEAD.format(total=len(verdicts), built=built, refused=len(verdicts) - built)]
    parts += [f"- **{signs[why]}**: {why}.\n" for why in reasons]
    columns = list(dict.fromkeys(mix[3:] for mix in verdicts))
    for model in DATA:
        parts.append(f"\n## {model}\n\n| depth, block | {' | '.join('<br>'.join(each) for each in columns)} |\n")
        parts.append(f"|---|{'---|' * len(columns)}\n")
        for row in dict.fromkeys(mix[1:3] for mix in verdicts):
            cells = (verdicts[(model, *row, *column)] for column in columns)
            marks = " | ".join("●" if why is None else signs[why] for why in cells)
            parts.append(f"| {', '.join(row)} | {marks} |\n")
    return "".join([*parts, TAIL])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)

"""Writes the page of which recipes lower for which platforms.

    KERAS_BACKEND=jax python docs/readiness.py CORPORA                  # all; cc-news-product-key takes 24 GB
    KERAS_BACKEND=jax python docs/readiness.py CORPORA RECIPE RECIPE     # the rows of these; the others stay

CORPORA holds a folder for each corpus. Recipes that need no data to know their shapes are taken without.
"""

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "readiness.md"
sys.path.insert(0, str(ROOT))
os.environ.setdefault("KERAS_BACKEND", "jax")

from zoo import recipes  # noqa: E402
from zoo.runs.forecast import make_steps  # noqa: E402
from zoo.training.steps.needs import ALLOWED, PLATFORMS, count_operations, custom_calls, export_steps  # noqa: E402

FOLDERS = {  # of corpora whose labels or lengths only the data tell; and of two recipes, which leave out no long pair
    "babi": "babi/en-valid", "sst": "sst", "sst5": "sst", "trec": "trec", "tagged": "ud-english-ewt",
    "multi30k-en-de-bpe-transformer-post-norm": "multi30k/bpe-revisit-mmt-en-de",
    "multi30k-en-de-bpe-transformer-pre-norm": "multi30k/bpe-revisit-mmt-en-de",
}  # fmt: skip
FILES = {  # of recipes whose files have names of their own: the folder, what trains, what validates
    "clinc150-transformer": ("clinc150", '"train.tsv.gz"', '["val.tsv.gz", "oos_val.tsv.gz"]'),
    "g2p-best": ("g2p-sigmorphon-2020", '"hun_train.tsv.gz"', '"hun_dev.tsv.gz"'),
}
HEAD = """# Which recipes are ready for which devices

This page shows which recipes compile for an accelerator before you have one. On JAX, the training step and the
validation step of {count} recipes each become one portable module for these platforms: {platforms}.
{calls}

The table has, for the longest batch shape, the parameters of the model, the floating-point operations of an update,
and the sizes of the modules. Speed and memory are estimated by `seqzoo train RECIPE --plan h100`
([Many devices](devices.md#before-there-is-an-accelerator)).

`KERAS_BACKEND=jax python docs/readiness.py CORPORA` writes this page.

| recipe | batch | parameters | operations of an update | training module | validation module |
|---|---|---|---|---|---|
"""


def measure(recipe, data=None):
    """What is known of the modules of a recipe's steps, for all platforms; a dict."""
    steps, batches, assumed = make_steps(recipe, data)
    batch = batches.longest()
    found = export_steps(steps, batch)
    program, arguments = steps.programs(batch)["training"]
    traced = program.trace(*arguments)
    return {
        "parameters": steps.model.count_params(),
        "batch": " x ".join(map(str, (recipe.training.batch_size, *batches.shapes[-1]))),
        "operations": count_operations(traced.jaxpr.jaxpr, trips=recipe.model.num_layers).total(),
        "xla": traced.lower().cost_analysis()["flops"],
        "platforms": list(found["training"].platforms),
        "bytes": {name: len(each.mlir_module_serialized) for name, each in found.items()},
        "calls": sorted(set().union(*(custom_calls(each.mlir_module()) for each in found.values()))),
        "assumed": assumed,
    }


def given(name, corpora):
    """(a recipe of the catalogue, the folder of its corpus); no folder where its shapes are known without."""
    if name in FILES:
        folder, train, valid = FILES[name]
        return recipes.load(name, [f"data.train={train}", f"data.valid={valid}"]), corpora / folder
    recipe = recipes.load(name)
    folder = FOLDERS.get(name, FOLDERS.get(recipe.data.corpus))
    return recipe, folder and corpora / folder


def kept():
    """The rows of the page as it is, by their recipes."""
    lines = PAGE.read_text("utf-8").splitlines(keepends=True) if PAGE.is_file() else []
    rows = {line.split()[1]: line for line in lines if line.startswith("| ")}
    return {name: row for name, row in rows.items() if name in recipes.list_recipes()}


def main(corpora, *names):
    rows, calls = kept() if names else {}, set()
    for name in names or sorted(recipes.list_recipes()):
        start = time.monotonic()
        found = measure(*given(name, Path(corpora)))
        assert found["platforms"] == list(PLATFORMS)
        calls |= set(found["calls"])
        sizes = [f"{found['bytes'][step] / 1e3:,.0f} kB" for step in ("training", "validation")]
        counts = [f"{found['parameters']:,}", f"{found['operations'] / 1e9:,.2f} billion"]
        rows[name] = f"| {' | '.join([name, found['batch'], *counts, *sizes])} |\n"
        print(f"{time.monotonic() - start:5.0f} s  {rows[name]}", end="", file=sys.stderr, flush=True)
    if names and calls:
        sys.exit(f"{sorted(calls)} are custom calls; write the page of all recipes, so that it says so.")
    told = "They hold no custom call."
    if calls:
        told = f"They hold these custom calls: {', '.join(f'`{each}` ({ALLOWED[each]})' for each in sorted(calls))}."
    head = HEAD.format(count=len(rows), platforms=", ".join(PLATFORMS), calls=told)
    PAGE.write_text(head + "".join(row for _, row in sorted(rows.items())), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

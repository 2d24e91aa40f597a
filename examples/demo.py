"""`make demo`: train a model on dates, export it, verify it, and convert five dates with ONNX Runtime."""

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

from seqzoo.calm import calm
from seqzoo.screen import log

from serving import export as exporting
from serving.lazy import later
from serving.runtime import Runtime
from serving.runtime.percent import percent
from zoo.recipes import dumps, load, read
from zoo.runs import evaluate, open_run, train

verifying = later("serving.export.again")

RECIPE = "dates-gru-additive"
TYPED = (
    "the 3rd of March 1999",
    "Donnerstag, 14. Juli 2022",
    "4 juillet 1976",
    "2024年2月29日",
    "8 мая 1945 г.",
)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--out", default="build/demo", metavar="DIR", help="default: build/demo")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as of `seqzoo train`")
    args = parser.parse_args(argv)
    with calm():
        print(json.dumps(demonstrate(Path(args.out), args.set)))
    return 0


def demonstrate(out, changes=()):
    """Run the demo; returns its score, parity, duration in seconds and artefact as a dict."""
    started = time.monotonic()
    recipe = load(RECIPE, changes)
    run = out / "run"
    if (run / "recipe.toml").is_file():
        shutil.rmtree(run)  # of an earlier demo
    log(f"training {recipe.name}: {recipe.description}")
    train(recipe, run)

    trained = open_run(run)
    recipe, search = trained.recipe, trained.recipe.search
    scores, _ = evaluate(trained, "test", beams=1)
    settings = exporting.Settings(
        name=recipe.name,
        task=recipe.title,
        beams=(search.beam,),
        max_length=search.max_output_length,
        alpha=search.alpha,
        recipe=dumps(recipe),
        scores={"split": "test", **{name: scores[name] for name in ("beam", "sentences", "exact_match")}},
        texts=TYPED,
    )
    artefact = exporting.export(trained.model, trained.tokenizers, out, settings, log=log)
    parity = verifying.verify(artefact, log=log)
    log(f"verified {artefact}: largest difference {parity['max_abs_diff']:.1e}")

    runtime = Runtime(artefact)
    sources, targets = read(recipe, "test")
    answers = runtime.run(list(sources), beam=1)
    right = sum(answer.text == target for answer, target in zip(answers, targets, strict=True))
    exact_match = 100 * right / len(targets)
    log(f"{percent(exact_match, 2)} % of {len(targets)} held-out dates are exactly right")
    for text, answer in zip(TYPED, runtime.run(list(TYPED)), strict=True):
        log(f"  {text:<28} {answer.text}")
    return {
        "exact_match": round(exact_match, 3),
        "parity_max_abs_diff": parity["max_abs_diff"],
        "seconds": round(time.monotonic() - started, 1),
        "artefact": str(artefact),
    }


if __name__ == "__main__":
    sys.exit(main())

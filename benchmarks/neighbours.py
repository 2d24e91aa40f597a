"""Whether an answer depends on the texts beside it, what int8 costs of the score, and its time: models of the hub.

    python benchmarks/neighbours.py translate-de-en intents-en --texts captions.txt
    python benchmarks/neighbours.py translate-de-en --earlier OLD --rounds 7 --write     # beside an earlier export

Each text is asked alone, with all others, in the reverse order, and beside texts of no language; `different` counts the
texts that do not have the same answer each time. OLD is a hub with an earlier version of the model, whose size, time
and answers are measured in turns with these.
"""

import argparse
import json
import random
import statistics
import time
from pathlib import Path

import timing
from harness.report import table
from server_load import texts_of

from serving.runtime import Runtime
from serving.runtime.sessions import graph_file

ROOT = Path(__file__).resolve().parents[1]
BATCHES = (1, 8, 32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+", metavar="MODEL", help="the name of a model, or the folder of an artefact")
    parser.add_argument("--texts", type=Path, help="a text on each line; default: those of the model's own test set")
    parser.add_argument("--most", type=int, default=150, help="texts that are asked")
    parser.add_argument("--earlier", type=Path, metavar="DIR", help="a hub with earlier versions")
    parser.add_argument("--rounds", type=int, default=5, help="of the times")
    parser.add_argument("--write", action="store_true", help="keep the results in benchmarks/results")
    arguments = parser.parse_args()
    rows = [row for name in arguments.models for row in measured(name, arguments)]
    print(table(rows))
    if arguments.write:
        timing.write("neighbours", {"rows": rows})


def measured(name, arguments):
    """A row for each form of a model: float32, int8, and those of the earlier version."""
    folder = Path(name) if Path(name).is_dir() else newest(ROOT / "hub" / name)
    places = {"": folder} | ({"earlier ": newest(arguments.earlier / folder.parent.name)} if arguments.earlier else {})
    forms = {
        f"{when}{precision}": (place, Runtime(place, precision=precision, threads=1))
        for when, place in places.items()
        for precision in ("float32", "int8")
        if (place / graph_file(default_graph(place), precision)).is_file()
    }
    one = next(runtime for _, runtime in forms.values())
    given = arguments.texts.read_text("utf-8").splitlines() if arguments.texts else texts_of(one, folder, 10**6)
    texts = list(dict.fromkeys(given))[: arguments.most]
    taken = times({form: runtime for form, (_, runtime) in forms.items()}, texts, arguments.rounds)
    for form, (place, runtime) in forms.items():
        size = (place / graph_file(default_graph(place), form.split()[-1])).stat().st_size
        yield {
            "model": folder.parent.name,
            "form": form,
            "texts": len(texts),
            "different": dependent(runtime, texts),
            "bytes": size,
            **{f"ms, batch {batch}": round(1e3 * taken[form][batch], 3) for batch in BATCHES},
        }


def newest(home):
    return max((path.parent for path in home.glob("*/manifest.json")), key=lambda path: int(path.name))


def default_graph(folder):
    """The float32 name of the graph that answers by default."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    return manifest["generation"][str(manifest["default_beam"])] if "generation" in manifest else "model.onnx"


def dependent(runtime, texts):
    """How many texts have another answer beside others than alone, in one of three batches or more."""
    alone = answers(runtime, texts, 1)
    noise = ["".join(random.Random(each).choices("qxzjkv .,!", k=len(text))) for each, text in enumerate(texts)]
    mixed = [each for pair in zip(texts, noise, strict=True) for each in pair]
    others = answers(runtime, texts), answers(runtime, texts[::-1])[::-1], answers(runtime, mixed)[::2]
    return sum(len({*map(str, each)}) > 1 for each in zip(alone, *others, strict=True))


def answers(runtime, texts, batch=None):
    size = batch or len(texts)
    parts = [texts[first : first + size] for first in range(0, len(texts), size)]
    return [result.answer for part in parts for result in runtime.run(part)]


def times(runtimes, texts, rounds):
    """{form: {batch: seconds of the processor for a text}}; the forms take turns."""
    taken = {form: {batch: [] for batch in BATCHES} for form in runtimes}
    for number in range(rounds + 1):
        for batch in BATCHES:
            for form, runtime in runtimes.items():
                start = time.process_time()
                answers(runtime, texts[:64], batch)
                if number:  # the first round warms up
                    taken[form][batch].append((time.process_time() - start) / len(texts[:64]))
    return {form: {batch: statistics.median(each) for batch, each in found.items()} for form, found in taken.items()}


if __name__ == "__main__":
    main()

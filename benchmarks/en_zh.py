"""English to Chinese by every system of the zoo: the same data, the same updates, parameters within 5 %.

    python benchmarks/en_zh.py --data CORPORA --runs RUNS           # writes benchmarks/results/en_zh.json and a figure
    python benchmarks/en_zh.py --data CORPORA --runs RUNS --systems "gru additive" universal   # those rows anew
    python benchmarks/en_zh.py --data CORPORA --runs RUNS --systems "gru dot" --seeds 2 3      # two seeds more

CORPORA has the folders tatoeba-en-zh and en-zh-3am. Training has the pairs of both; those of 3AM that have a sentence
of 3AM's or Tatoeba's validation or test part are left out, and so are pairs of more than 18 tokens. Scores are those of
Tatoeba's 1,000 test sentences with beams of 4, with a 95 % bootstrap interval. Seconds are of one core, for a training
with its validations. RUNS keeps what is trained; a run that is there is scored and not trained again. A row is of seed
1; what other seeds reach stands beside it, as `bleu_of_seeds`, and is kept from one call to the next.
"""

import argparse
import gzip
import json
from pathlib import Path

from harness.report import table
from harness.runs import scored, seconds, trained
from timing import RESULTS, write

from zoo.data import read_lines
from zoo.recipes.toml import toml

FIGURE = Path(__file__).resolve().parents[1] / "docs/zoo/figures/en-zh-systems.png"
LANGUAGES = ("en", "zh")
TRAINING = {
    "batch_size": 64,
    "num_buckets": 4,
    "max_length": 18,
    "learning_rate": 0.002,
    "schedule": "cosine",
    "warmup": 300,
    "adam_beta_2": 0.98,
    "steps": 2400,
    "validate_every": 400,
    "average": 3,
}
TEXT = {"vocab_size": 3500, "character_coverage": 0.9995}
COMMON = {
    "task": "translate",
    "data": {"corpus": "parallel", "source_language": "en", "target_language": "zh"},
    "text": TEXT | {"target": {"vocab_size": 3500, "normalization": "identity"}},
    "training": TRAINING,
    "search": {"beam": 4, "max_output_length": 50},
}
# Units with which each cell has as many parameters as the Transformer: without attention, and with it.
UNITS = {"simple_rnn": (188, 180), "gru": (156, 152), "gru_reset_before": (156, 152), "lstm": (142, 140)}
BLOCKS = {"kind": "transformer", "units": 128, "num_layers": 2, "num_heads": 4, "hidden_units": 512, "dropout": 0.2}
SMOOTHED = {"label_smoothing": 0.1}


def _recurrent(cell, attention, **model):
    units = UNITS[cell][attention != "none"]
    return {
        "system": "recurrent",
        "model": {"kind": "recurrent", "cell": cell, "units": units, "dropout": 0.1} | model,
        "attention": {"layer": attention},
        "loss": SMOOTHED,
        "training": TRAINING | {"learning_rate": 0.003},
    }


def _transformer(system="transformer", model=None, **tables):
    """Of the tables of a Transformer's recipe, with what this one has of its own."""
    own = {"system": system, "model": BLOCKS | (model or {}), "block": {"layer": "pre_norm"}, "loss": SMOOTHED}
    return own | tables


SYSTEMS = {
    f"{cell} {attention}": _recurrent(cell, attention) for cell in UNITS for attention in ("none", "additive", "dot")
} | {
    "gru self-attentive, dot": _recurrent("gru", "dot", encoder="self_attentive", units=138),
    "transformer post_norm": _transformer(block={"layer": "post_norm"}),
    "transformer pre_norm": _transformer(),
    "transformer macaron": _transformer(block={"layer": "macaron"}),
    "universal": _transformer(
        "universal-transformer", {"units": 160, "hidden_units": 640, "num_layers": 4}, depth={"layer": "universal"}
    ),
    "depth-adaptive": _transformer(
        "depth-adaptive",
        depth={"layer": "depth_adaptive", "exit": "geometric"},
        loss={"kind": "depth_adaptive", "oracle": "likelihood", "price": 0.05, "alpha": 0.5},
    ),
    "product-key": _transformer(
        "product-key memory",
        feedforward={"layer": "product_key", "blocks": [2], "num_keys": 24, "k": 8, "query_dim": 64},
    ),
    "reformer": _transformer(
        "reformer",
        attention={"layer": "lsh", "rounds": 4, "num_buckets": 4, "chunk_length": 16, "resample": True},
        depth={"layer": "reversible"},
    ),
}


def prepared(corpora, folder):
    """The folder of the data, made if it is not there."""
    if folder.exists():
        return folder
    tatoeba = {part: read(corpora / "tatoeba-en-zh", part) for part in ("train", "valid", "test")}
    held = {line for part in ("valid", "test") for side in tatoeba[part] for line in side}
    held |= {line for part in ("val", "test") for side in read(corpora / "en-zh-3am", part) for line in side}
    pairs = list(zip(*tatoeba["train"], strict=True))
    pairs += [pair for pair in zip(*read(corpora / "en-zh-3am", "train"), strict=True) if held.isdisjoint(pair)]
    tatoeba["train"] = list(zip(*pairs, strict=True))
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    for part, sides in tatoeba.items():
        for language, lines in zip(LANGUAGES, sides, strict=True):
            with gzip.open(partial / f"{part}.{language}.gz", "wt", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
    return partial.rename(folder)


def read(folder, part):
    return tuple(read_lines(folder / f"{part}.{language}.gz") for language in LANGUAGES)


def recipe_of(system, folder):
    """The path of the recipe of one system, written there."""
    path = folder / f"{system.replace(',', '').replace(' ', '-')}.toml"
    described = {"name": path.stem, "description": f"Everyday English sentences to Chinese: {system}."}
    path.write_text(toml(described | COMMON | SYSTEMS[system]), "utf-8")
    return path


def run_of(system, seed, arguments):
    """The run of a system and a seed, trained if it was not yet."""
    recipe = recipe_of(system, arguments.runs)
    run = arguments.runs / (recipe.stem if seed == 1 else f"{recipe.stem}-seed-{seed}")
    return trained(recipe, run, [] if seed == 1 else [f"training.seed={seed}"], data=arguments.folder)


def row_of(system, arguments):
    """The scores of a system with seed 1."""
    run = run_of(system, 1, arguments)
    scores = scored(run, data=arguments.folder)
    kept = json.loads((run / "training.json").read_text("utf-8"))
    row = {"system": system, "parameters": kept["parameters"], "perplexity": round(kept["valid"]["perplexity"], 2)}
    row |= {"bleu": round(scores["bleu"], 1), "interval": [round(each, 1) for each in scores["bleu_interval"]]}
    return row | {"chrf": round(scores["chrf"], 1), "seconds": seconds(run)}


def known():
    """The rows that were written before, by their systems."""
    path = RESULTS / "en_zh.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
    return {row["system"]: row for row in rows}


def with_seeds(row, others):
    """The row with the BLEU of all seeds, itself first, and their mean."""
    every = {"1": row["bleu"]} | {seed: bleu for seed, bleu in others.items() if seed != "1"}
    if len(every) == 1:
        return row
    return row | {"bleu_of_seeds": every, "mean": round(sum(every.values()) / len(every), 1)}


def shown(row):
    """The row as the page has it."""
    seeds = row.get("bleu_of_seeds", {}).values()
    spread = f"{row['mean']} ({min(seeds)} to {max(seeds)})" if seeds else "one seed"
    return {
        "system": row["system"],
        "parameters": f"{row['parameters']:,}",
        "perplexity (validation)": row["perplexity"],
        "BLEU": row["bleu"],
        "95 % interval": "{} to {}".format(*row["interval"]),
        "mean of three seeds (range)": spread,
        "chrF": row["chrf"],
        "minutes of a core": round(row["seconds"] / 60, 1),
    }


def draw(rows):
    """BLEU with its interval beside the seconds of the training, a point a system."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 0.6 + 0.36 * len(rows)), layout="constrained")
    for place, row in enumerate(reversed(rows)):
        recurrent = row["system"].split()[0] in UNITS
        axes.plot(row["interval"], [place, place], color="C0" if recurrent else "C1", alpha=0.5)
        axes.plot(row["bleu"], place, "o", color="C0" if recurrent else "C1")
        seeds = [*row.get("bleu_of_seeds", {}).values()]
        axes.plot(seeds, [place] * len(seeds), "|", color="black", markersize=9)
        axes.annotate(
            f"{row['seconds'] / 60:.1f} min",
            (max([row["interval"][1], *seeds]), place),
            (5, -3),
            textcoords="offset points",
        )
    axes.set_yticks(range(len(rows)), [row["system"] for row in reversed(rows)])
    axes.set(xlabel="BLEU of seed 1 with a 95 % interval; strokes: each of three seeds; minutes of one core")
    axes.margins(x=0.16)
    figure.savefig(FIGURE, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of tatoeba-en-zh and en-zh-3am")
    parser.add_argument("--runs", type=Path, required=True, help="where runs are kept; those that are there count")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS, metavar="SYSTEM")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], metavar="SEED", help="1 measures the row anew")
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    arguments.folder = prepared(arguments.data, arguments.runs / "data")
    found = known()
    for system in arguments.systems:
        row = row_of(system, arguments) if 1 in arguments.seeds or system not in found else found[system]
        others = found.get(system, {}).get("bleu_of_seeds", {})
        for seed in sorted({*arguments.seeds} - {1}):
            scores = scored(run_of(system, seed, arguments), data=arguments.folder)
            others = others | {str(seed): round(scores["bleu"], 1)}
        found[system] = with_seeds(row, others)
        print(found[system], flush=True)
        rows = sorted(found.values(), key=lambda row: -row["bleu"])
        write("en_zh", rows, training=TRAINING)
    draw(rows)
    print(table([shown(row) for row in rows]))


if __name__ == "__main__":
    main()

"""Pronunciation of ten languages: one model a language, three seeds, against the baselines of SIGMORPHON 2020; and a
table of systems on three of the languages.

    python benchmarks/g2p.py --data DIR --runs DIR                 # writes benchmarks/results/g2p.json
    python benchmarks/g2p.py --data DIR --runs DIR --part systems  # one of the two tables; writes nothing

The ten: `seqzoo train g2p-best` with seeds 1, 2 and 3; word error rate of the test part, beams of 4. `ensemble` is the
mean of the three seeds' log-probabilities in one search (`seqzoo evaluate --ensemble`). Runs that are in the folder
already are scored and not trained again. Seconds are those of one core for a training with its validations. The systems
have the recipe's data, updates, batches and dropout; units are 128. Transformers have 2 + 2 blocks (a universal one
applies its block 4 times) with 256 hidden units, and a peak learning rate of 0.001 after 200 updates. DIR has
LANGUAGE_{train,dev,test}.tsv.gz of https://github.com/sigmorphon/2020 (task 1).
"""

import argparse
import statistics
import tomllib
from pathlib import Path

from harness.report import table
from harness.runs import scored, seconds, trained
from timing import write

from zoo.recipes.toml import toml

LANGUAGES = ("arm", "bul", "fre", "geo", "gre", "hin", "hun", "ice", "kor", "lit")
SOME = ("geo", "gre", "hun")
SEEDS = (1, 2, 3)
# Macro word error rate of the shared task's own systems, one model a language, each swept.
BASELINES = {
    "lstm": 18.53,
    "transformer": 19.13,
}
RECIPE = Path(__file__).resolve().parents[1] / "zoo" / "catalogue" / "g2p-best.toml"

BLOCKS = {
    "model": {"kind": "transformer", "units": 128, "num_layers": 2, "num_heads": 4, "hidden_units": 256, "dropout": 0.3}
}
SLOWER = {"training.learning_rate": 0.001, "training.warmup": 200}
SYSTEMS = {
    f"{cell} {attention}": {"model": {"kind": "recurrent", "cell": cell, "units": 128, "dropout": 0.3}}
    | {"attention": {"layer": attention}}
    for cell in ("simple_rnn", "gru", "lstm")
    for attention in ("none", "additive", "dot")
} | {
    **{f"transformer {block}": BLOCKS | {"block": {"layer": block}} for block in ("post_norm", "pre_norm", "macaron")},
    "universal": {"model": BLOCKS["model"] | {"num_layers": 4}, "depth": {"layer": "universal"}},
}


def settings(data, language, seed):
    """Arguments of `seqzoo train` for a language."""
    parts = {"train": "train", "valid": "dev", "test": "test"}
    found = [f"data.{name}={data}/{language}_{part}.tsv.gz" for name, part in parts.items()]
    return [*found, f"training.seed={seed}"]


def recipe_of(system, folder):
    """The path of the recipe of one system: the best one's, but for its model."""
    recipe = tomllib.loads(RECIPE.read_text("utf-8"))
    recipe = {name: value for name, value in recipe.items() if name not in ("model", "attention")} | SYSTEMS[system]
    recipe["description"] = f"Letters of a word to its phones: {system}."
    if recipe["model"]["kind"] == "transformer":
        recipe["system"] = "universal-transformer" if system == "universal" else "transformer"
        recipe["training"] |= {key.partition(".")[2]: value for key, value in SLOWER.items()}
    path = folder / f"{system.replace(' ', '-')}.toml"
    path.write_text(toml(recipe), "utf-8")
    return path


def languages_table(arguments):
    """A row a language: the word error rate of each seed, their mean, and of the three together."""
    rows = []
    for language in arguments.languages:
        runs = [arguments.runs / f"{language}-{seed}" for seed in SEEDS]
        for seed, run in zip(SEEDS, runs, strict=True):
            trained("g2p-best", run, settings(arguments.data, language, seed))
        alone = [scored(run) for run in runs]
        rates = [each["wer"] for each in alone]
        row = {"language": language} | {f"seed {seed}": rate for seed, rate in zip(SEEDS, rates, strict=True)}
        row |= {"mean": statistics.mean(rates), "deviation": statistics.stdev(rates)}
        row |= {"per": statistics.mean(each["per"] for each in alone), "ensemble": scored(*runs)["wer"]}
        row["seconds"] = max(map(seconds, runs))
        rows.append({name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()})
        print(rows[-1], flush=True)
    return rows


def systems_table(arguments):
    """A row a system: the word error rate on each of three languages, one seed."""
    rows = []
    for system in SYSTEMS:
        recipe, row = recipe_of(system, arguments.runs), {"system": system}
        for language in SOME:
            run = trained(recipe, arguments.runs / f"{recipe.stem}-{language}", settings(arguments.data, language, 1))
            row[language] = round(scored(run)["wer"], 2)
            row["seconds"] = max(row.get("seconds", 0), seconds(run))
        row["mean"] = round(statistics.mean(row[language] for language in SOME), 2)
        rows.append(row)
        print(row, flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of LANGUAGE_{train,dev,test}.tsv.gz")
    parser.add_argument("--runs", type=Path, required=True, help="where runs are kept; those that are there count")
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, choices=LANGUAGES)
    parser.add_argument("--part", choices=("languages", "systems"), help="one of the two tables alone; writes nothing")
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    found = {}
    if arguments.part != "systems":
        found["languages"] = languages_table(arguments)
        found["mean"] = {
            name: round(statistics.mean(row[name] for row in found["languages"]), 2)
            for name in ("mean", "per", "ensemble")
        } | {"baselines": BASELINES}
        print(table(found["languages"]), found["mean"], sep="\n")
    if arguments.part != "languages":
        found["systems"] = systems_table(arguments)
        print(table(found["systems"]))
    if arguments.part is None and len(arguments.languages) == len(LANGUAGES):
        write("g2p", found)


if __name__ == "__main__":
    main()

"""The models of the hub: trains those that are not there yet, exports and publishes them, as hub/models.toml says.

    python benchmarks/hub_models.py --data CORPORA --runs RUNS                  # all of them
    python benchmarks/hub_models.py --data CORPORA --runs RUNS --only dates babi-1 --until train
    python benchmarks/hub_models.py --data CORPORA --runs RUNS --anew           # published weights, exported again

CORPORA holds a folder for each source. RUNS keeps what was trained and exported, so that a run that was broken off goes
on from its last checkpoint. Training is on JAX and one thread, unless KERAS_BACKEND and the like are set. With --anew
nothing is trained: the weights of each newest version are exported by this seqzoo, published as the next version, and
the versions before it leave the hub. Two such commands, each with other models, may run at the same time.
"""

import argparse
import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import en_zh
from harness.runs import ONE_THREAD

ROOT = Path(__file__).resolve().parents[1]
HUB = ROOT / "hub"
STAGES = ("train", "export", "publish")


def main():
    table = tomllib.loads((HUB / "models.toml").read_text("utf-8"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--runs", type=Path, required=True, help="where runs and artefacts are kept")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=list(table["models"]), choices=table["models"])
    parser.add_argument("--until", choices=STAGES, default="publish", help="the last thing to do for each model")
    parser.add_argument("--anew", action="store_true", help="export what is published again, as the next version")
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    runs = arguments.runs.resolve()
    stages = STAGES[: STAGES.index(arguments.until) + 1]
    for name in arguments.only:
        model = table["models"][name]
        if arguments.anew and model.get("frozen"):
            continue
        source = table["sources"][model["source"]]
        folder = prepared(model["source"], source, arguments.data.resolve(), runs)
        run, version = runs / name, newest(name) + arguments.anew or 1
        if arguments.anew:
            restored(name, model, run)
        else:
            train(name, model, source, folder, runs, arguments.data.resolve())
        for what, (other, split) in model.get("elsewhere", {}).items():
            evaluate(run, arguments.data.resolve() / other, split, what, "teacher" in model)
        if "export" in stages:
            export(run, model, source, folder)
        if "publish" in stages and version > newest(name):
            publish(name, version, model, source, run, folder)
            remove(name, version)


def recipe(name, model, source):
    """The text of a model's recipe: the one that it extends, and what it changes."""
    from zoo.recipes.toml import toml

    own = {"extends": model["extends"], "name": name} | model.get("recipe", {})
    data = {"licence": source["data_licence"]} if "files" in model else {}
    for part, file in zip(("train", "valid", "test"), model.get("files", ()), strict=False):
        data[part] = file
    own["data"] = data | own.get("data", {})
    return toml({key: value for key, value in own.items() if value})


def newest(name):
    """The newest version of a model in the hub, 0 where there is none."""
    index = HUB / "index.json"
    there = json.loads(index.read_text("utf-8"))["models"] if index.exists() else []
    return max((each["version"] for each in there if each["name"] == name), default=0)


def restored(name, model, run):
    """Make the run of a model from its newest published version, as far as an export reads one.

    How it searches is what its table says now.
    """
    from zoo.recipes.toml import toml

    home, partial = HUB / name / str(newest(name)), run.with_name(f"{run.name}.partial")
    if run.exists():
        return
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for path in (home / "model.keras", *home.glob("*.spm")):
        shutil.copy(path, partial)
    recipe = tomllib.loads((home / "recipe.toml").read_text("utf-8"))
    if search := model.get("recipe", {}).get("search"):
        recipe["search"] |= search
    (partial / "recipe.toml").write_text(toml(recipe), "utf-8")
    manifest = json.loads((home / "manifest.json").read_text("utf-8"))
    said = manifest["published"]["training"]
    (partial / "training.json").write_text(json.dumps(said), "utf-8")
    for key in ("labels", "scope"):
        if key in manifest:
            (partial / f"{key}.json").write_text(json.dumps(manifest[key]), "utf-8")
    run.with_name(f"{run.name}.seconds").write_text(f"{3600 * said['core_hours']:.0f}\n")
    partial.rename(run)


def train(name, model, source, folder, runs, corpora):
    """Train the model, or go on, unless it was trained to the end; a student learns the answers of its teacher."""
    run, clock = runs / name, runs / f"{name}.seconds"
    if not clock.exists():
        path = runs / f"{name}.toml"
        path.write_text(recipe(name, model, source), "utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        given = [] if "files" in model or "folder" not in source else ["--data", folder]
        if teacher := model.get("teacher"):
            given += ["--teacher", HUB / teacher / str(newest(teacher))]
            given += [word for each in model.get("teacher_texts", ()) for word in ("--teacher-texts", corpora / each)]
        seqzoo("train", path, *given, "--out", run, *(["--resume"] if run.exists() else []), folder=folder)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        clock.write_text(f"{seconds:.0f}\n")
        print(f"{name}: trained in {seconds:.0f} s of one core", flush=True)


def evaluate(run, folder, split, what, student):
    """The scores on a split of another corpus, which the card shows beside those of the own test set.

    The recipe of a student reads files, the answers of its teacher, and others are parallel.
    """
    path = run / "scores.json"
    if not path.exists() or what not in json.loads(path.read_text("utf-8")).get("elsewhere", {}):
        reading = ["--set", "data.corpus=parallel"] if student else []
        seqzoo("evaluate", run, "--data", folder, "--split", split, "--as", what, *reading, folder=folder)


def export(run, model, source, folder):
    """The artefact, whose weights are stored in 16 bits, or as its table says, where its forms agree as they must."""
    home = run.with_name(f"{run.name}-artefact")
    given = ["--data", folder, "--split", "valid"] if _has_folder(model, source) else []
    for name, value in model.get("rules", {}).items():
        given += [f"--{name.replace('_', '-')}", value]
    for storage in (model.get("storage", "float16"), "float32"):
        if not list(home.glob("*/*/manifest.json")):
            own = {"folder": folder, "environment": {"KERAS_BACKEND": "tensorflow"}, "must": storage == "float32"}
            seqzoo("export", run, "--out", home, "--name", run.name, "--storage", storage, *given, **own)


def _has_folder(model, source):
    """Whether the recipe of a model's run finds its data in a folder; a student's names the answers of its teacher."""
    return "folder" in source and not {"files", "teacher"} & model.keys()


def publish(name, version, model, source, run, folder):
    """The model in the hub."""
    said = {"--run": run, "--hub": HUB, "--version": version, "--licence": source["licence"], "--data": source["data"]}
    said |= {"--data-licence": source["data_licence"], "--attribution": source["attribution"]}
    said |= {"--core-hours": f"{float((run.with_name(f'{name}.seconds')).read_text()) / 3600:.4g}"}
    said |= {"--test": folder} if _has_folder(model, source) else {}
    arguments = [part for pair in said.items() for part in pair]
    for language in model.get("languages", ()):
        arguments += ["--language", language]
    (artefact,) = run.with_name(f"{name}-artefact").glob("*/[0-9]*/")
    seqzoo("hub", "publish", artefact, *arguments, folder=folder, environment={"KERAS_BACKEND": "tensorflow"})


def remove(name, version):
    """Take the versions of a model before this one out of the hub."""
    from serving.hub import shelf

    with shelf.lock(HUB):
        entries = shelf.read_index(HUB)["models"]
        shelf.write_index(HUB, [each for each in entries if each["name"] != name or each["version"] >= version])
    for folder in (HUB / name).glob("[0-9]*"):
        if int(folder.name) < version:
            shutil.rmtree(folder)


def seqzoo(*arguments, folder, environment=None, must=True):
    """Runs a command in the folder of the data, so that the paths in a recipe are names of its files."""
    print(f"seqzoo {' '.join(map(str, arguments))}", flush=True)
    own = {"KERAS_BACKEND": "jax", **os.environ, **ONE_THREAD, **(environment or {})}
    done = subprocess.run([sys.executable, "-m", "seqzoo", *map(str, arguments)], env=own, cwd=folder, text=True)
    if done.returncode and must:
        raise SystemExit(f"seqzoo {arguments[0]} ended with {done.returncode}")


def prepared(name, source, corpora, runs):
    """The folder of a source's files, in a format that is read without a setting."""
    if "folder" not in source:
        return runs
    folder = corpora / source["folder"]
    if name not in PREPARE:
        return folder
    own = runs / "data" / name
    if not own.exists():
        partial = own.with_name(f"{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        PREPARE[name](folder, partial)
        partial.rename(own)
    return own


def _cmudict(folder, out):
    """`word TAB phones`: the first pronunciation of each word, without stress and remarks."""
    with gzip.open(folder / "cmudict.dict.gz", "rt", encoding="utf-8") as lines:
        with gzip.open(out / "cmudict.tsv.gz", "wt", encoding="utf-8") as written:
            for line in lines:
                word, _, phones = line.partition("#")[0].strip().partition(" ")
                if re.fullmatch(r"[a-z'.-]+", word):
                    written.write(f"{word}\t{re.sub('[0-9]', '', phones).strip()}\n")


def _en_zh(folder, out):
    """The pairs of both corpora, of which the shorter ones are trained on."""
    out.rmdir()
    en_zh.prepared(folder, out)


PREPARE = {"cmudict": _cmudict, "en-zh": _en_zh}

if __name__ == "__main__":
    main()

"""Seconds of one core until an LSTM with attention is as good as SIGMORPHON 2020's baseline: ours and OpenNMT-py's.

    python benchmarks/g2p_time.py --data DIR --runs DIR    # writes benchmarks/results/PROCESSOR/g2p_time.json

3,600 words of a language, of both the same letters (nfd) and phones; one layer of 192 units each, the letters read in
both directions; dropout 0.3, label smoothing 0.1, batches of 32 words, Adam, whose rate rises to 0.003 over 200 updates
and falls with the root of their number. After every 114 updates, a pass over the words, a greedy search tells the word
error rate of the dev part. A training ends when that is at most the published one (`TARGETS`), or after 24 passes.

`seconds` are what its process had spent by then: start, vocabularies, compilation, updates, validations, checkpoints;
`first pass` those of the first 114 updates. The weights of that moment then answer the test part, with beams of 4,
which is not counted. Half of the units of OpenNMT-py's encoder read each direction, all of ours do, so it is measured
with 272 units, too, with which it has as many parameters; this and our other backend with one seed, the others with
three. Trainings that are in the folder already are not repeated. `--data` is as for g2p.py.
"""

import argparse
import contextlib
import gzip
import itertools
import json
import resource
import statistics
import subprocess
import sys
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

from harness import processor, report
from harness.engine import Engine, running
from harness.environments import ENVIRONMENTS, Environment, interpreter, versions
from harness.runs import ONE_THREAD

# Word error rate of the test part, %, of the shared task's own LSTM.
TARGETS = {"gre": 18.89, "bul": 31.11}
PASS, PASSES, BEAM = 114, 24, 4
PEER, RELEASE = "opennmt", "OpenNMT-py==3.5.1"
# What it imports. It asks for a PyTorch below 2.3, and so is itself installed without asking.
NEEDED = """torch==2.13.0 ctranslate2==4.8.5 pyonmttok==1.38.1 configargparse==1.9.0 sacrebleu==2.6.0
pyahocorasick==2.3.1 rapidfuzz==3.14.6 fasttext-wheel==0.9.2 spacy==3.8.18 tensorboard==2.21.0 pyyaml six numpy"""
ENVIRONMENTS[PEER] = Environment(tuple(NEEDED.split()))
LOAD = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}  # its checkpoints hold more than weights
SYSTEMS = {  # name -> (function, units, variables, seeds)
    "seqzoo, JAX": ("ours", 192, {"KERAS_BACKEND": "jax", **ONE_THREAD}, (1, 2, 3)),
    "seqzoo, TensorFlow": ("ours", 192, {"KERAS_BACKEND": "tensorflow", **ONE_THREAD}, (1,)),
    "OpenNMT-py, 192 units": ("theirs", 192, LOAD, (1, 2, 3)),
    "OpenNMT-py, 272 units": ("theirs", 272, LOAD, (1,)),
}
OURS = f"""model.cell=lstm model.dropout=0.3 attention.layer=dot loss.label_smoothing=0.1 training.batch_size=32
training.learning_rate=0.003 training.schedule=inverse_sqrt training.warmup=200 training.adam_beta_2=0.98
training.clip_norm=1 training.average=1 training.monitor=wer training.steps={PASS * PASSES}
training.validate_every={PASS} training.checkpoint_every={PASS}"""
THEIRS = """-encoder_type brnn -decoder_type rnn -rnn_type LSTM -layers 1 -global_attention general
-share_decoder_embeddings -dropout 0.3 -label_smoothing 0.1 -batch_type sents -batch_size 32 -bucket_size 3600
-valid_batch_size 64 -optim adam -decay_method noam -warmup_steps 200 -adam_beta2 0.98 -max_grad_norm 1 -num_workers 0
-valid_metrics WER"""


def spent():
    """Seconds of processor time of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(each.ru_utime + each.ru_stime for each in used), 2)


def wrong(outputs, references):
    """Word error rate in %."""
    return 100 * sum(a.split() != b.split() for a, b in zip(outputs, references, strict=True)) / len(references)


def ours(threads, data, language, folder, seed, target, units):
    """`seqzoo train g2p-best`, as a function, so that the clock is read at each validation."""

    def step():
        from tools.startup import lean

        lean()
        import keras

        import zoo

        curve = []

        class Watch(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                curve.append([logs["step"], round(logs["val_wer"], 2), spent()])
                self.model.stop_training = logs["val_wer"] <= target

        parts = {"train": "train", "valid": "dev", "test": "test"}.items()
        settings = [f"data.{name}={data}/{language}_{part}.tsv.gz" for name, part in parts] + OURS.split()
        settings += [f"model.units={units}", f"training.seed={seed}"]
        run = zoo.train("g2p-best", out=folder, settings=settings, callbacks=[Watch()])
        test = round(zoo.evaluate(run, beams=BEAM)["wer"], 2)
        return {"curve": curve, "test": test, "parameters": run.model.count_params()}

    return step


def theirs(threads, data, language, folder, seed, target, units):
    """OpenNMT-py's own three commands in one process; a metric of its validations reads the clock."""

    def step():
        import torch
        from onmt.bin import build_vocab, train, translate
        from onmt.scorers import register_scorer
        from onmt.scorers.scorer import Scorer

        curve, home = [], written(data, language, Path(folder))

        @register_scorer(metric="WER")
        class WordErrors(Scorer):
            def compute_score(self, preds, texts_refs):
                if curve and curve[-1][1] <= target:  # one pass ago: its checkpoint was written after this
                    sys.exit()
                curve.append([PASS * (len(curve) + 1), round(wrong(preds, texts_refs), 2), spent()])
                return curve[-1][1]

        def command(module, *words):
            sys.argv = [module.__name__, *map(str, words)]
            module.main()

        files = {f"{side}_vocab": f"{home}/vocab.{side}" for side in ("src", "tgt")}
        files |= {"save_data": f"{home}/data", "save_model": f"{home}/model", "data": {}}
        for name, part in (("corpus", "train"), ("valid", "dev")):
            files["data"][name] = {f"path_{side}": f"{home}/{part}.{side}" for side in ("src", "tgt")}
        rate = 0.003 * (units * 200) ** 0.5  # `noam` divides by these roots: the peak is 0.003, as ours
        files |= {"hidden_size": units, "word_vec_size": units, "learning_rate": rate, "seed": seed}
        files |= {"train_steps": PASS * PASSES, "valid_steps": PASS, "save_checkpoint_steps": PASS}
        (home / "config.yaml").write_text(json.dumps(files), "utf-8")
        command(build_vocab, "-config", home / "config.yaml", "-n_sample", -1)
        with contextlib.suppress(SystemExit):
            command(train, "-config", home / "config.yaml", *THEIRS.split())
        best = home / f"model_step_{min(curve, key=lambda entry: entry[1])[0]}.pt"
        command(translate, "-model", best, "-src", home / "test.src", "-output", home / "test.out", "-beam_size", BEAM)
        outputs, references = ((home / name).read_text("utf-8").splitlines() for name in ("test.out", "test.tgt"))
        held = torch.load(best)
        sizes = {each.data_ptr(): each.numel() for part in ("model", "generator") for each in held[part].values()}
        return {"curve": curve, "test": round(wrong(outputs, references), 2), "parameters": sum(sizes.values())}

    return step


def written(data, language, folder):
    """The folder, in which are now the letters and the phones of each part, a word a line."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        with gzip.open(f"{data}/{language}_{part}.tsv.gz", "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        letters = [" ".join(unicodedata.normalize("NFD", word)) for word, _ in rows]
        for side, lines in (("src", letters), ("tgt", [phones for _, phones in rows])):
            (folder / f"{part}.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def trained(options, language, system, seed):
    """What the training of a system found; from the folder, if it is there."""
    function, units, variables, _ = SYSTEMS[system]
    folder = options.runs / f"{language}-{'-'.join(system.replace(',', '').lower().split())}-{seed}"
    saved = folder.with_name(folder.name + ".json")
    if not saved.exists():
        case = {"data": str(options.data.resolve()), "language": language, "folder": str(folder.resolve())}
        case |= {"seed": seed, "target": TARGETS[language], "units": units}
        engine = Engine(system, "g2p_time", function, case, PEER if function == "theirs" else None, variables)
        with running([engine], 1, lambda line: None) as (child,):
            saved.write_text(json.dumps(child.step()[0]), "utf-8")
    return json.loads(saved.read_text("utf-8"))


def row(language, system, found):
    """A list has an entry for each seed; `seconds` is their median, None if half of them did not reach the target."""
    target, ends = TARGETS[language], [each["curve"][-1] for each in found]
    median = statistics.median(seconds if wer <= target else float("inf") for _, wer, seconds in ends)
    shown = {"language": language, "target": target, "system": system, "parameters": found[0]["parameters"]}
    shown |= {"seconds": median if median < float("inf") else None, "each": [seconds for *_, seconds in ends]}
    shown |= {"first pass": [each["curve"][0][2] for each in found], "updates": [step for step, *_ in ends]}
    return shown | {"dev": [wer for _, wer, _ in ends], "test": [each["test"] for each in found]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of LANGUAGE_{train,dev,test}.tsv.gz")
    parser.add_argument("--runs", type=Path, required=True, help="where runs are kept; those that are there count")
    parser.add_argument("--languages", nargs="+", default=["gre"], choices=TARGETS)
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    pip = [interpreter(PEER), "-m", "pip", "--disable-pip-version-check", "install", "-qq", "--no-deps", RELEASE]
    subprocess.run(pip, check=True)
    found = {}
    for seed in (1, 2, 3):  # the systems take turns, so that other work on the machine hurts all alike
        for case in itertools.product(options.languages, SYSTEMS):
            if seed in SYSTEMS[case[1]][-1]:
                found.setdefault(case, []).append(trained(options, *case, seed))
                print(*case, seed, found[case][-1], flush=True)
    here, rows = processor.processor(), [row(*case, each) for case, each in found.items()]
    result = {"benchmark": "g2p_time", "processor": here, "threads": 1, "clock": "processor"}
    result |= {"date": datetime.now(UTC).date().isoformat(), "commit": processor.commit()}
    known = processor.versions() | versions(PEER) | {"OpenNMT-py": RELEASE.partition("==")[2]}
    result |= {"versions": known, "rows": rows, "runs": {" ".join(case): each for case, each in found.items()}}
    print(report.table(rows), report.write(processor.slug(here), "g2p_time", result), sep="\n")


if __name__ == "__main__":
    main()

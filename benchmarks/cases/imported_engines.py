"""Our artefacts of imported networks in `serving.Runtime`, and a search in Python over their graphs of one step."""

import gzip
import json
import subprocess
from pathlib import Path

import numpy as np
from harness.apart import export_apart
from harness.environments import interpreter

from cases.imported import ENVIRONMENT, STEPS, batch_of

BENCHMARKS = Path(__file__).resolve().parents[1]
EOS = 3


def prepared(home):
    """The folder with the networks and our artefacts, made by whichever engine is the first."""
    home = Path(home)
    if not (home / "vectors.json").exists():
        subprocess.run([interpreter(ENVIRONMENT), "-m", "cases.imported_peers", str(home)], cwd=BENCHMARKS, check=True)
        export_apart(_export, home)
    return home


def _export(home):
    import zoo
    from serving.export.kinds import kind_of
    from serving.export.pipeline import make_again
    from serving.export.runs import settings_of
    from zoo.pretrained import import_network
    from zoo.text import load_tokenizer

    for name, changes in {
        "marian": {"max_length": STEPS, "beams": (4,), "graphs": ("greedy", "steps")},
        "minilm": {},
    }.items():
        import_network(home / name, home / "runs" / name)
        run = zoo.open(home / "runs" / name)
        (home / "artefacts" / name).mkdir(parents=True)
        make_again(kind_of(run.model, settings_of(run, changes)), run.tokenizers, home / "artefacts" / name)
    reader = load_tokenizer(home / "artefacts" / "marian" / "source.spm")
    (hub,) = (BENCHMARKS.parent / "hub" / "translate-en-de").iterdir()
    with gzip.open(hub / "outputs.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["input"] for line in lines]
    for name, lengths in (("translation", range(10, 15)), ("vectors", range(1, 100))):
        those = [text for text, ids in zip(texts, reader.encode(texts), strict=True) if len(ids) in lengths]
        (home / f"{name}.json").write_text(json.dumps(those[:: len(those) // 32][:32]), encoding="utf-8")


def translate(threads, home, beams, batch, precision):
    from serving import Runtime

    runtime = Runtime(prepared(home) / "artefacts" / "marian", threads=threads, precision=precision)
    texts = batch_of(home, batch)
    return lambda: [result.answer for result in runtime.run(texts, beam=beams)]


def embed(threads, home, batch):
    from serving import Runtime

    runtime = Runtime(prepared(home) / "artefacts" / "minilm", threads=threads, precision="float32")
    texts = batch_of(home, batch, "vectors")
    return lambda: [list(result.answer) for result in runtime.run(texts)]


def loop(threads, home, beams, batch):
    """Encoder and step in ONNX Runtime, the search in NumPy."""
    import onnxruntime

    from zoo.text import load_tokenizer

    folder = prepared(home) / "artefacts" / "marian"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    encoder, decoder = (
        onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), options) for name in ("encoder", "step")
    )
    source, target = (load_tokenizer(folder / f"{side}.spm") for side in ("source", "target"))
    names, texts = [[each.name for each in graph.get_outputs()] for graph in (encoder, decoder)], batch_of(home, batch)
    axes = {each.name: each.shape.index("beams") for each in decoder.get_inputs() if "beams" in each.shape}

    def step():
        rows = [[*ids, EOS] for ids in source.encode(texts)]
        lengths = np.array([len(row) for row in rows], "int32")
        ids = np.array([row + [0] * (lengths.max() - len(row)) for row in rows], "int32")
        known = dict(zip(names[0], encoder.run(None, {"token_ids": ids, "lengths": lengths}), strict=True))
        tokens = np.repeat(known.pop("first_ids"), beams, 1)
        known |= {name: np.repeat(known[name], beams, axis) for name, axis in axes.items() if name in known}
        scores = np.where(np.arange(beams), -np.inf, 0.0) + np.zeros((batch, 1))
        written = np.zeros((batch, beams, 0), "int32")
        for _ in range(STEPS):
            found = dict(zip(names[1], decoder.run(None, known | {"token_ids": tokens}), strict=True))
            logits = found.pop("logits")
            logits -= logits.max(-1, keepdims=True)
            logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
            total = (scores[:, :, None] + logits).reshape(batch, -1)
            best = np.argpartition(-total, beams - 1)[:, :beams]
            scores = np.take_along_axis(total, best, 1)
            parents, tokens = best // logits.shape[-1], (best % logits.shape[-1]).astype("int32")
            written = np.concatenate([np.take_along_axis(written, parents[:, :, None], 1), tokens[:, :, None]], 2)
            for name, value in found.items():
                mine = name.removeprefix("next_")
                known[mine] = _chosen(value, parents, axes[mine]) if mine in axes and beams > 1 else value
            if (tokens == EOS).all():
                break
        return target.decode(written[np.arange(batch), scores.argmax(1)].tolist())

    return step


def _chosen(value, parents, axis):
    """The rows of the parents, along the axis of the beams."""
    shape = [1] * value.ndim
    shape[0], shape[axis] = parents.shape
    return np.take_along_axis(value, parents.reshape(shape), axis)

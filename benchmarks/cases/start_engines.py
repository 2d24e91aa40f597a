"""Whole processes, from the start to the answer."""

import json
import os
import subprocess
import sys

BARE = """
import json, sys
import numpy as np, onnxruntime, sentencepiece
graph, source, target, texts = json.loads(sys.argv[1])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(graph, options)
read, write = sentencepiece.SentencePieceProcessor(source), sentencepiece.SentencePieceProcessor(target)
rows = [[*read.encode(text), 3] for text in texts]
lengths = np.array([len(row) for row in rows], "int32")
ids = np.zeros((len(rows), lengths.max()), "int32")
for row, found in zip(ids, rows):
    row[: len(found)] = found
outputs, sizes = session.run(["output_ids", "output_lengths"], {"token_ids": ids, "lengths": lengths})
for row, size in zip(outputs[:, 0], sizes[:, 0]):
    print(write.decode([int(each) for each in row[:size] if each != 3]))
"""


def _process(command, threads, text=None):
    """A function that runs a command and returns its lines."""
    own = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))

    def step():
        done = subprocess.run(command, input=text, capture_output=True, text=True, env={**os.environ, **own})
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        return done.stdout.splitlines()

    step.in_processes = True
    return step


def run(threads, texts):
    return _process([sys.executable, "-m", "seqzoo", "run", "dates"], threads, "".join(f"{text}\n" for text in texts))


def bare(threads, texts):
    import zoo.hub

    folder = zoo.hub.fetch("dates", ["manifest.json", "model.int8.onnx", "source.spm", "target.spm"])
    files = [str(folder / name) for name in ("model.int8.onnx", "source.spm", "target.spm")]
    return _process([sys.executable, "-c", BARE, json.dumps([*files, texts])], threads)


def imported(threads, module):
    return _process([sys.executable, "-c", f"import {module}"], threads)

"""Artefacts made by hand: their graphs echo the source, so every answer is known without a model.

"generate": beam k of the generation leaves out the last k ids and has the score -k - 0.5; a slot with nothing left is
empty: length 0, score -1e9. The attention of step j is half on source position j (a counter in the state) and half on
the positions that hold the id written last. A sample is the source, too, and its score minus the sum of all that came
with it. "continue": the prompt comes again, however long. "classify": the label is that of the length, modulo 3.
"compare": the label is that of the length of the first text less that of the second, modulo 3.
"tag": the label is that of the token's id, modulo 3. "embed": the vector is 1 at the length, modulo 3.
"rate": half the length.

`python -m tests.serving.fake_artefact DIR [KIND]` writes one.
"""

import hashlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import sentencepiece
from onnx import TensorProto, helper, numpy_helper

from serving.runtime.manifest_format import digest_of

ALPHABET = "abcdefgh 0123456789äß日本"
LABELS = ["null", "eins", "zwei"]
MAX_LENGTH = {"generate": 64, "continue": 4}


def graph(nodes, inputs, outputs, constants):
    def value(name, kind, *shape):
        return helper.make_tensor_value_info(name, kind, list(shape))

    made = helper.make_graph(
        [helper.make_node(op, ins, outs, **rest) for op, ins, outs, rest in nodes],
        "fake",
        [value(*item) for item in inputs],
        [value(*item) for item in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model


SOURCE = [
    ("token_ids", TensorProto.INT32, "batch", "time"),
    ("lengths", TensorProto.INT32, "batch"),
]
DRAWN = [
    ("uniforms", TensorProto.FLOAT, "batch", 1, "steps"),
    ("temperature", TensorProto.FLOAT, "batch"),
    ("top_k", TensorProto.INT32, "batch"),
    ("top_p", TensorProto.FLOAT, "batch"),
]


def echo(beams, end=1):
    """The source less its last `end` ids, which are EOS where a source has one."""
    behind = np.arange(beams, dtype="int32")
    return graph(
        [
            ("Unsqueeze", ["token_ids", "one"], ["row"], {}),
            ("Expand", ["row", "tiling"], ["output_ids"], {}),
            ("Unsqueeze", ["lengths", "one"], ["column"], {}),
            ("Sub", ["column", "short"], ["shorter"], {}),
            ("Max", ["shorter", "nothing"], ["output_lengths"], {}),
            ("Greater", ["shorter", "nothing"], ["real"], {}),
            ("Where", ["real", "penalty", "empty"], ["scores"], {}),
        ],
        SOURCE,
        [
            ("output_ids", TensorProto.INT32, "batch", beams, "time"),
            ("output_lengths", TensorProto.INT32, "batch", beams),
            ("scores", TensorProto.FLOAT, "batch", beams),
        ],
        {
            "one": np.array([1]),
            "tiling": np.array([1, beams, 1]),
            "short": behind + np.int32(end),  # the end of sentence, and one id per beam
            "nothing": np.zeros(1, "int32"),
            "empty": np.full(1, -1e9, "float32"),
            "penalty": -behind.astype("float32") - np.float32(0.5),
        },
    )


def echo_drawn(end):
    """The source again; the score is minus the sum of all that came with it."""
    return graph(
        [
            ("Unsqueeze", ["token_ids", "one"], ["output_ids"], {}),
            ("Unsqueeze", ["lengths", "one"], ["column"], {}),
            ("Sub", ["column", "end"], ["output_lengths"], {}),
            ("ReduceSum", ["uniforms", "last"], ["total"], {"keepdims": 0}),
            ("Cast", ["top_k"], ["k"], {"to": TensorProto.FLOAT}),
            ("Sum", ["temperature", "k", "top_p"], ["settings"], {}),
            ("Unsqueeze", ["settings", "one"], ["more"], {}),
            ("Add", ["total", "more"], ["sum"], {}),
            ("Neg", ["sum"], ["scores"], {}),
        ],
        [*SOURCE, *DRAWN],
        [
            ("output_ids", TensorProto.INT32, "batch", 1, "time"),
            ("output_lengths", TensorProto.INT32, "batch", 1),
            ("scores", TensorProto.FLOAT, "batch", 1),
        ],
        {"one": np.array([1]), "last": np.array([2]), "end": np.array([end], "int32")},
    )


def labels(of, name="probabilities"):
    """One-hot numbers of `of` ("lengths" or "token_ids") modulo the number of labels."""
    axes = ["batch"] if of == "lengths" else ["batch", "time"]
    return graph(
        [
            ("Mod", [of, "count"], ["label"], {}),
            ("OneHot", ["label", "count", "values"], [name], {}),
        ],
        SOURCE,
        [(name, TensorProto.FLOAT, *axes, len(LABELS))],
        {"count": np.array(len(LABELS), "int32"), "values": np.array([0, 1], "float32")},
    )


def pairs():
    """One-hot probabilities of the difference of both lengths."""
    inputs = [
        value
        for side in ("first", "second")
        for value in (
            (f"{side}_ids", TensorProto.INT32, "batch", f"{side}_time"),
            (f"{side}_lengths", TensorProto.INT32, "batch"),
        )
    ]
    return graph(
        [
            ("Sub", ["first_lengths", "second_lengths"], ["difference"], {}),
            ("Mod", ["difference", "count"], ["label"], {}),
            ("OneHot", ["label", "count", "values"], ["probabilities"], {}),
        ],
        inputs,
        [("probabilities", TensorProto.FLOAT, "batch", len(LABELS))],
        {"count": np.array(len(LABELS), "int32"), "values": np.array([0, 1], "float32")},
    )


def encoder():
    return graph(
        [
            ("Identity", ["token_ids"], ["memory.values"], {}),
            ("Unsqueeze", ["lengths", "axes"], ["column"], {}),
            ("Mul", ["column", "zero"], ["state.cells_0"], {}),
            ("Squeeze", ["state.cells_0", "axis"], ["nothing"], {}),
            ("Add", ["nothing", "bos"], ["first_ids"], {}),
        ],
        SOURCE,
        [
            ("memory.values", TensorProto.INT32, "batch", "time"),
            ("state.cells_0", TensorProto.INT32, "batch", 1, 1),
            ("first_ids", TensorProto.INT32, "batch", 1),
        ],
        {"axes": np.array([1, 2]), "axis": np.array([2]), "zero": np.zeros(1, "int32"), "bos": np.array(2, "int32")},
    )


def step(with_attention=True):
    attention = [
        ("Shape", ["memory.values"], ["shape"], {}),
        ("Gather", ["shape", "last"], ["long"], {}),
        ("Cast", ["long"], ["time"], {"to": TensorProto.INT32}),
        ("Range", ["start", "time", "stride"], ["positions"], {}),
        ("Equal", ["positions", "state.cells_0"], ["here"], {}),
        ("Cast", ["here"], ["diagonal"], {"to": TensorProto.FLOAT}),
        ("Unsqueeze", ["memory.values", "axis_beams"], ["row"], {}),
        ("Unsqueeze", ["token_ids", "axis_time"], ["written"], {}),
        ("Equal", ["row", "written"], ["same"], {}),
        ("Cast", ["same"], ["copied"], {"to": TensorProto.FLOAT}),
        ("Add", ["diagonal", "copied"], ["sum"], {}),
        ("Mul", ["sum", "half"], ["next_state.attention"], {}),
    ]
    return graph(
        [
            ("Add", ["state.cells_0", "stride"], ["next_state.cells_0"], {}),
            ("Cast", ["state.cells_0"], ["logits"], {"to": TensorProto.FLOAT}),
            *(attention if with_attention else []),
        ],
        [
            ("token_ids", TensorProto.INT32, "batch", "beams"),
            ("state.cells_0", TensorProto.INT32, "batch", "beams", 1),
            ("memory.values", TensorProto.INT32, "batch", "time"),
        ],
        [
            ("logits", TensorProto.FLOAT, "batch", "beams", 1),
            ("next_state.cells_0", TensorProto.INT32, "batch", "beams", 1),
            *([("next_state.attention", TensorProto.FLOAT, "batch", "beams", "time")] if with_attention else []),
        ],
        {
            "last": np.array(1),
            "start": np.array(0, "int32"),
            "stride": np.array(1, "int32"),
            "axis_beams": np.array([1]),
            "axis_time": np.array([2]),
            "half": np.array(0.5, "float32"),
        },
    )


def rating():
    nodes = [("Cast", ["lengths"], ["length"], {"to": TensorProto.FLOAT}), ("Mul", ["length", "half"], ["rating"], {})]
    return graph(nodes, SOURCE, [("rating", TensorProto.FLOAT, "batch")], {"half": np.array(0.5, "float32")})


def tokenizer():
    """One piece per character, with the zoo's special ids."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([ALPHABET] * 3),
        model_writer=model,
        vocab_size=64,
        model_type="char",
        hard_vocab_limit=False,
        minloglevel=2,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
    )
    return model.getvalue()


KINDS = {
    "generate": {
        "greedy": ("greedy.onnx", lambda: echo(1)),
        "tokens": ("model.onnx", lambda: echo(4)),
        "sample": ("sample.onnx", lambda: echo_drawn(1)),
        "encode": ("encoder.onnx", encoder),
        "step": ("step.onnx", step),
    },
    "continue": {"greedy": ("greedy.onnx", lambda: echo(1, 0)), "sample": ("sample.onnx", lambda: echo_drawn(0))},
    "classify": {"classify": ("model.onnx", lambda: labels("lengths"))},
    "compare": {"compare": ("model.onnx", pairs)},
    "tag": {"tag": ("model.onnx", lambda: labels("token_ids"))},
    "rate": {"rate": ("model.onnx", rating)},
    "embed": {"embed": ("model.onnx", lambda: labels("lengths", "vector"))},
}
SEARCH = {"alpha": 0.6, "rules": {}}
FACTS = {
    "generate": {
        "generation": {"1": "greedy.onnx", "4": "model.onnx"},
        "default_beam": 4,
        "max_length": MAX_LENGTH["generate"],
        **SEARCH,
    },
    "continue": {
        "generation": {"1": "greedy.onnx"},
        "default_beam": 1,
        "max_length": MAX_LENGTH["continue"],
        "overlong": "truncate",
        **SEARCH,
    },
    "classify": {"labels": LABELS},
    "compare": {"labels": LABELS},
    "tag": {"labels": LABELS},
    "rate": {},
    "embed": {},
}


def write(directory, kind="generate", with_attention=True):
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for name, make in KINDS[kind].values():
        onnx.save(step(with_attention) if name == "step.onnx" else make(), directory / name)
    if kind == "generate":
        onnx.save(echo(4), directory / "model.int8.onnx")
    sides = ("source", "target") if kind == "generate" else ("source",)
    pieces = {}
    for side in sides:
        (directory / f"{side}.spm").write_bytes(tokenizer())
        pieces[side] = sentencepiece.SentencePieceProcessor(model_file=str(directory / f"{side}.spm")).vocab_size()
    manifest = {
        "format": 2,
        "name": "echo",
        "version": 1,
        "task": "echo",
        "kind": kind,
        "max_input": 1024,
        "overlong": "refuse",
        **FACTS[kind],
        "storage": "float32",
        "vocabulary": pieces,
        "signatures": [],
        "graphs": {signature: name for signature, (name, _) in KINDS[kind].items()},
        "onnx": {},
        "tokenizer": {side: f"{side}.spm" for side in sides},
        "texts": [],
        "ranges": {},
        "scores": {},
        "parity": None,
        "int8": None,
        "versions": {},
    }
    (directory / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return change(directory)


def signatures(directory, kind):
    """The tables of the inputs and outputs that the graphs of an artefact have."""

    def table(values):
        tensors = [(value.name, value.type.tensor_type) for value in values]
        return [
            {
                "name": name,
                "dtype": helper.tensor_dtype_to_np_dtype(tensor.elem_type).name,
                "shape": [axis.dim_param or axis.dim_value for axis in tensor.shape.dim],
            }
            for name, tensor in tensors
        ]

    graphs = {name: onnx.load(directory / file).graph for name, (file, _) in KINDS[kind].items()}
    return [{"name": name, "inputs": table(each.input), "outputs": table(each.output)} for name, each in graphs.items()]


def change(directory, **keys):
    """Give the manifest of an artefact other values, the hashes of the files that are there, and its seal."""
    path = directory / "manifest.json"
    held = {each.relative_to(directory).as_posix(): each.read_bytes() for each in files_of(directory)}
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in held.items()}
    manifest["sizes"] = {name: len(content) for name, content in held.items()}
    manifest |= keys
    path.write_text(json.dumps(manifest | {"manifest_sha256": digest_of(manifest)}), encoding="utf-8")
    return directory


def files_of(directory):
    """The files of an artefact beside its manifest."""
    return sorted(path for path in directory.rglob("*") if path.is_file() and path.name != "manifest.json")


if __name__ == "__main__":
    write(*sys.argv[1:])

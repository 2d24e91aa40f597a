"""The laws and the uses of one layer, asked in turn, and what follows from the answers."""

import re
from dataclasses import asdict, dataclass

import keras

from zoo.check import laws, uses
from zoo.check.in_training import check_differences, check_training
from zoo.check.of_keras import check_implicit_masks, check_quantized
from zoo.check.onnx import check_onnx
from zoo.check.slots import cases
from zoo.check.uses import NotApplicable

HOLDS, BROKEN, NOT_APPLICABLE = "holds", "does not hold", "not applicable"
# Of the battery, each asked in every way in which the layer is called.
OF_THE_SLOT = {
    "config": "a copy out of its config, in JSON, too, is the same layer",
    "padding": "padding, what is in it and the other rows change no valid position",
    "gradients": "every weight has a gradient, the same in float32 and float64",
    "empty_row": "a row that is all padding gives finite values and gradients",
    "symbolic": "shapes and dtypes without values are those with values",
    "graph": "one graph for all sizes of batch and time computes the same",
    "static": "shapes where batch and time are numbers are those with values",
    "training": "in training masks are obeyed, rows stay apart, and numbers are drawn from seeds",
    "differences": "gradients are the slopes that finite differences find",
    "implicit_masks": "masks that Keras attaches to a tensor are obeyed and handed on",
}
OF_PRECISION = {
    "xla": "compiled by XLA it computes the same",
    "bfloat16": "in mixed bfloat16 it is within 5 % of float32",
    "quantized": "quantized by Keras to int8, int4 or float8, a file of it answers alike",
}
BATTERY = {
    **laws.LAWS,
    "implicit_masks": check_implicit_masks,
    "quantized": check_quantized,
    "static": laws.check_static,
    "training": check_training,
    "differences": check_differences,
}


@dataclass(frozen=True)
class Finding:
    """One law.

    Attributes:
        result: "holds", "does not hold" or "not applicable".
        number: the largest difference that was measured where it does not hold, or None.
        detail: what was found, or why it is not applicable.
    """

    name: str
    meaning: str
    result: str
    number: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class Use:
    """What the layer may be used for, or why it may not."""

    name: str
    allowed: bool
    reason: str = ""


def examine(subject, log=lambda finding: None):
    """`(findings, uses)` of a `zoo.check.slots.Subject`; `log` is given each finding as soon as it is known."""
    built, findings = {}, {}

    def ask(name, meaning, check):
        findings[name] = finding(name, meaning, check)
        log(findings[name])

    def ask_each(name, meaning):
        ask(name, meaning, lambda: [_of_case(BATTERY[name], each) for each in _built(subject, built)])

    ask(
        "arguments",
        "the constructor's arguments are attributes, and in the config",
        lambda: uses.check_arguments(subject),
    )
    ask("protocol", "it has what its slot and its traits ask for", lambda: uses.check_protocol(subject))
    ask("names", "no name of Keras means something else in it", lambda: uses.check_names(subject))
    ask("settings", "each setting is kept, whatever its value", lambda: uses.check_settings(subject))
    for name, meaning in OF_THE_SLOT.items():
        ask_each(name, meaning)
    ask(
        "long",
        "in long texts, too, padding and what is later change nothing",
        lambda: uses.check_long(subject, _built(subject, built)),
    )
    whole = lambda backend: uses.check_elsewhere(subject, _built(subject, built), backend)  # noqa: E731
    ask("file", "a .keras file of it loads in a fresh process and answers alike", lambda: whole("tensorflow"))
    ask("causal", "with causal=True no position sees a later one", lambda: uses.check_causal(subject))
    ask("generation", "step by step, with beams, it computes its full pass", lambda: uses.check_generation(subject))
    ask("memory", "the same in a decoder over an encoder's outputs", lambda: uses.check_memory_steps(subject))
    required = list(findings)
    for name, meaning in OF_PRECISION.items():
        ask_each(name, meaning)
    ask("reversible", "in a reversible stack its gradients are the same", lambda: uses.check_reversible(subject))
    ask("jax", "on JAX it computes the same", lambda: whole("jax"))
    ask("onnx", "its ONNX form answers alike in onnxruntime", lambda: check_onnx(_built(subject, built)))
    return findings, required, _uses(subject, findings)


def _built(subject, built):
    """Each case's layer, made once."""
    for case in cases(subject):
        if case.name not in built:
            keras.utils.set_random_seed(1)
            built[case.name] = laws.build(case)
    return list(built.values())


def _of_case(check, built):
    try:
        check(built)
    except AssertionError as error:
        raise AssertionError(f"{built.case.name}: {error}") from error


def finding(name, meaning, check):
    """What came of a check."""
    try:
        check()
    except NotApplicable as reason:
        return Finding(name, meaning, NOT_APPLICABLE, detail=str(reason))
    except Exception as error:  # a layer of somebody else's may fail in any way, and that is the finding
        text = re.sub(r"\x1b\[[0-9;]*m", "", " ".join(str(error).split())).partition(" Arguments received by")[0]
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        measured = re.search(r"Max absolute difference[^:]*: ([0-9.e+-]+|nan|inf)", text)
        if measured:
            where = text.partition("Not equal to tolerance")[0].strip()
            text = f"{where} the largest difference is {measured[1]}".strip()
        return Finding(name, meaning, BROKEN, float(measured[1]) if measured else None, f"{kind}{text}")
    return Finding(name, meaning, HOLDS)


def _uses(subject, findings):
    """What follows for models, training and export."""
    traits = vars(subject.traits())
    rows = [
        ("encoders, classifiers and taggers", ["both_ways"], []),
        ("language models and decoders", ["causal"], ["causal"]),
        ("writing step by step: greedy, sampling and beam search", ["causal", "steps"], ["generation"]),
        ("models that write, which place one token after the other", ["by_place"], ["generation", "memory"]),
        ("attention over an encoder's outputs", ["crosses"], ["memory"]),
        ("depth-adaptive stacks", ["skips"], []),
        ("reversible stacks", [], ["reversible"]),
        ("training on TensorFlow, which compiles with XLA", [], ["xla"]),
        ("training on JAX", [], ["jax"]),
        ("mixed bfloat16", [], ["bfloat16"]),
        ("Keras' quantize, saved and loaded", [], ["quantized"]),
        ("export to ONNX", [], ["onnx"]),
    ]
    follows = []
    for name, declared, asked in rows:
        if any(trait not in traits for trait in declared):
            continue  # another slot decides it
        without = [trait for trait in declared if not traits[trait]]
        reasons = [f"its traits do not say {trait}=True" for trait in without]
        for law in [] if without else asked:
            if findings[law].result == BROKEN:
                reasons.append(findings[law].detail)
            elif findings[law].result == NOT_APPLICABLE and law in ("onnx", "reversible"):
                reasons.append(findings[law].detail)
        follows.append(Use(name, not reasons, "; ".join(reasons)))
    return follows


def as_data(subject, findings, required, uses):
    """What `--json` prints."""
    return {
        "layer": f"{subject.cls.__module__}.{subject.cls.__qualname__}",
        "slot": subject.slot,
        "holds": holds(findings, required),
        "laws": [{**asdict(each), "required": each.name in required} for each in findings.values()],
        "uses": [asdict(each) for each in uses],
    }


def holds(findings, required):
    """Whether every law of the slot holds, as far as it is asked."""
    return all(findings[name].result != BROKEN for name in required)

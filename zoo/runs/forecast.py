"""What a training would need on an accelerator that is not here: counted in its steps before they are compiled (JAX).

With data, the vocabularies are learnt and the batches are those of the training. Without data, if the recipe says
enough, the vocabularies have the size that it names and every example has the greatest length: an upper bound.
"""

import math
from collections import Counter
from dataclasses import dataclass

from zoo.attention.multi_head import portable
from zoo.core import devices
from zoo.recipes.folder import resolve_initial
from zoo.recipes.mixes import most_layers
from zoo.runs import takeover, training
from zoo.runs.training import make_training_steps
from zoo.settings.layers import AdaptiveSpan
from zoo.tasks.parts import corpora
from zoo.text.base import AROUND, UNK
from zoo.training.steps.needs import count_operations, export_steps, size_of
from zoo.training.steps.shared import model_inputs

TERA, GIB = 1e12, 2**30
UTILISATION = 0.4  # of the peak: what well-filled trainings of Transformers reach, where small models reach far less
RESERVED = 0.25  # of an accelerator's memory, which the runtime, fragments and the compiler's own buffers take


@dataclass(frozen=True)
class Accelerator:
    """What one device can do at most, from its maker's data sheet.

    Attributes:
        title: its name.
        platform: JAX's name of the kind of device, for which programs are lowered.
        memory: bytes.
        peak: `{dtype: floating-point operations a second}` of dense matrix products of arrays of that type, as JAX
            computes them by default: float32 in tf32 on NVIDIA's devices, and in one pass of bfloat16 on TPUs.
        source: where the numbers are from.
    """

    title: str
    platform: str
    memory: int
    peak: dict
    source: str


def _peaks(float32, halves):
    return {"float32": float32 * TERA, "bfloat16": halves * TERA, "float16": halves * TERA}


ACCELERATORS = {
    "h200": Accelerator("NVIDIA H200 SXM", "cuda", 141 * 10**9, _peaks(494.7, 989.4), "NVIDIA H200 data sheet, dense"),
    "h100": Accelerator("NVIDIA H100 SXM", "cuda", 80 * GIB, _peaks(494.7, 989.4), "NVIDIA H100 data sheet, dense"),
    "a100": Accelerator("NVIDIA A100 SXM", "cuda", 80 * GIB, _peaks(156, 312), "NVIDIA A100 80 GB data sheet, dense"),
    "l4": Accelerator("NVIDIA L4", "cuda", 24 * GIB, _peaks(60.5, 121), "NVIDIA L4 data sheet, dense: half of sparse"),
    "tpu-v5e": Accelerator("TPU v5e", "tpu", 16 * GIB, _peaks(197, 197), "Google Cloud, TPU v5e, one chip"),
}


def forecast(recipe, name, data=None, log=len):
    """What one accelerator needs to train a recipe.

    Args:
        recipe: the `Recipe`.
        name: of the accelerator, a key of `ACCELERATORS`.
        data: as of `zoo.runs.train`.
        log: called with a line before what takes long.

    Returns:
        A dict that JSON can hold: `parameters`, of these `trained`; `shapes`, each with its `lengths`, its `share` of
        the steps, its `operations` (floating-point operations of a step, of these `matrix` in matrix products) and
        `seconds`; `memory` in bytes by purpose, of the longest shape, as a training estimates it before it compiles;
        `fits`; `step_seconds`, the mean, and `training_seconds`, of matrix products; `assumed`, what was not read.

    Raises:
        ValueError: the backend is not JAX, the data are missing and the recipe does not say enough without them, or a
            step does not lower for the device.
    """
    if devices.backend() != "jax":
        raise ValueError(
            f"A forecast traces the training step on JAX; the backend is {devices.backend()}. Set KERAS_BACKEND=jax."
        )
    with portable.holding(True):  # the same answer on whatever device asks
        return _forecast(recipe, ACCELERATORS[name], data, log)


def _forecast(recipe, device, data, log):
    settings = recipe.training
    steps, batches, assumptions = make_steps(recipe, data, log)
    log(f"lowering the steps for {device.platform}")
    export_steps(steps, batches.longest(), [device.platform])
    shapes = []
    for count, batch in batches.by_shape():
        program, arguments = steps.programs(batch)["training"]
        counts = count_operations(program.trace(*arguments).jaxpr.jaxpr, trips=most_layers(recipe))
        shapes.append(_describe_shape(batch, count / batches.steps_per_epoch, counts, device))
    longest = batches.longest()
    memory = steps.expected_memory(longest) | {"batch": sum(map(size_of, longest.values()))}
    if isinstance(recipe.attention, AdaptiveSpan):
        assumptions.append("the spans that training begins with; longer ones cost more")
    if settings.model_parallel > 1:
        assumptions.append("one accelerator, which holds all weights: training.model_parallel is for several")
    seconds = sum(each["share"] * each["seconds"] for each in shapes)
    return {
        "recipe": recipe.name,
        "device": device.title,
        "source": device.source,
        "precision": settings.precision,
        "parameters": steps.model.count_params(),
        "trained": sum(math.prod(each.shape) for each in steps.model.trainable_weights),
        "batch_size": settings.batch_size,
        "shapes": shapes,
        "memory": memory,
        "device_memory": device.memory,
        "fits": sum(memory.values()) <= (1 - RESERVED) * device.memory,
        "utilisation": UTILISATION,
        "step_seconds": seconds,
        "steps": settings.steps,
        "training_seconds": settings.steps * seconds,
        "assumed": assumptions,
    }


def _describe_shape(batch, share, counts, device):
    matrix = Counter({kind: count for kind, count in counts.items() if kind != "other"})
    peak = {kind: device.peak.get(kind, device.peak["float32"]) for kind in matrix}
    return {
        "lengths": [value.shape[1] for value in model_inputs(batch).values() if value.ndim > 1],
        "share": share,
        "operations": counts.total(),
        "matrix": matrix.total(),
        "seconds": sum(count / peak[kind] for kind, count in matrix.items()) / UTILISATION,
    }


def make_steps(recipe, data=None, log=len):
    """(the compiled steps of a recipe, its training batches, a list of assumptions); arguments as of `forecast`."""
    recipe, initial = resolve_initial(recipe)
    weights = takeover.prepare_takeover(recipe, initial)
    model, batches, assumptions = _make_parts(recipe, data, log, weights and weights.keep_tokenizers(recipe))
    takeover.choose_trained(recipe, model, weights)
    return make_training_steps(recipe, model), batches, assumptions


def _make_parts(recipe, data, log, tokenizers):
    """(the model, the training batches, a list of assumptions); `tokenizers` are those of `training.init`, or None."""
    job = recipe.job
    try:
        recipe, data = corpora.training_data(recipe, data)
        corpora.check_data(recipe, ("train", "valid"), data)
    except ValueError as missing:
        if data is not None:
            raise
        return _assume_parts(recipe, missing, tokenizers)
    log("reading the data" if tokenizers else "reading the data and learning the vocabularies")
    parts = training.make_parts(recipe, data, tokenizers)
    model = training.build_with_precision(recipe, parts.sizes, recipe.training.precision)
    job.prepare(recipe, model, parts.tokenizers)
    return model, parts.train, []


def _assume_parts(recipe, missing, tokenizers):
    """As of `_make_parts`, without data; `missing` is the error that says so."""
    job, settings, text = recipe.job, recipe.training, recipe.text
    length = recipe.model.context if recipe.data.windows else settings.max_length
    if job.labelled or not length:
        why = "the labels are not known" if job.labelled else "training.max_length is 0, so the lengths are not known"
        raise ValueError(f"{missing} Without data {why}.")
    sizes = [text.vocab_size]
    if len(job.sides) > 1:
        sizes.append(text.vocab_size if text.shared else text.answers.vocab_size)
    sizes = [each.vocab_size for each in tokenizers] if tokenizers else sizes
    stand_ins = tuple(FixedLengthTokenizer(size, length if recipe.data.windows else length - 1) for size in sizes)
    texts = [""] if recipe.data.windows else [""] * settings.batch_size
    batches = job.batches(recipe, stand_ins, (), (texts, texts), training=True)
    sides = " and ".join(f"{size:,}" for size in dict.fromkeys(sizes))
    assumption = f"no data were read: a vocabulary of {sides}, and every example of {length:,} tokens"
    return training.build_with_precision(recipe, sizes, settings.precision), batches, [assumption]


class FixedLengthTokenizer:
    """Stands for a tokenizer of a given size that is not learnt yet; every text has the same number of tokens."""

    around, before = AROUND, AROUND.before

    def __init__(self, vocab_size, length):
        self.vocab_size, self.length = vocab_size, length

    def encode(self, texts):
        return [[UNK] * self.length for _ in texts]

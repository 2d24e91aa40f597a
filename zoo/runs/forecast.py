"""What a training would need on an accelerator that is not here: counted in its steps before they are compiled (JAX).

With data the vocabularies are learnt and the batches are those of the training. Without, where a recipe says enough,
the vocabularies have the size that it names and every example is as long as it allows: an upper bound.
"""

import math
from collections import Counter

from zoo.core import devices
from zoo.recipes.folder import resolve_initial
from zoo.recipes.mixes import most_layers
from zoo.runs import takeover, training
from zoo.runs.training import make_training_steps
from zoo.settings.layers import AdaptiveSpan
from zoo.tasks.parts import corpora
from zoo.text.special import AROUND, UNK
from zoo.training.accelerators import ACCELERATORS
from zoo.training.lowering import exported
from zoo.training.steps.arithmetic import operations
from zoo.training.steps.memory import size_of
from zoo.training.steps.shared import model_inputs

UTILISATION = 0.4  # of the peak: what well-filled trainings of Transformers reach, where small models reach far less
RESERVED = 0.25  # of an accelerator's memory, which the runtime, fragments and the compiler's own buffers take


def forecast(recipe, name, data=None, utilisation=UTILISATION, log=len):
    """What one accelerator needs to train a recipe.

    Args:
        recipe: the `Recipe`.
        name: of the accelerator, a key of `zoo.training.accelerators.ACCELERATORS`.
        data: as of `zoo.runs.train`.
        utilisation: the share of the device's peak that its matrix products reach.
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
    device, own = ACCELERATORS[name], recipe.training
    steps, batches, assumed = prepared(recipe, data, log)
    log(f"lowering the steps for {device.platform}")
    exported(steps, batches.longest(), [device.platform])
    shapes = []
    for count, batch in batches.by_shape():
        program, arguments = steps.programs(batch)["training"]
        counts = operations(program.trace(*arguments).jaxpr.jaxpr, trips=most_layers(recipe))
        shapes.append(_shape(batch, count / batches.steps_per_epoch, counts, device, utilisation))
    longest = batches.longest()
    memory = steps.expected_memory(longest) | {"batch": sum(map(size_of, longest.values()))}
    if isinstance(recipe.attention, AdaptiveSpan):
        assumed = [*assumed, "the spans that training begins with; longer ones cost more"]
    if own.model_parallel > 1:
        assumed = [*assumed, "one accelerator, which holds all weights: training.model_parallel is for several"]
    seconds = sum(each["share"] * each["seconds"] for each in shapes)
    return {
        "recipe": recipe.name,
        "device": device.title,
        "source": device.source,
        "precision": own.precision,
        "parameters": steps.model.count_params(),
        "trained": sum(math.prod(each.shape) for each in steps.model.trainable_weights),
        "batch_size": own.batch_size,
        "shapes": shapes,
        "memory": memory,
        "device_memory": device.memory,
        "fits": sum(memory.values()) <= (1 - RESERVED) * device.memory,
        "utilisation": utilisation,
        "step_seconds": seconds,
        "steps": own.steps,
        "training_seconds": own.steps * seconds,
        "assumed": assumed,
    }


def _shape(batch, share, counts, device, utilisation):
    matrix = Counter({kind: count for kind, count in counts.items() if kind != "other"})
    peak = {kind: device.peak.get(kind, device.peak["float32"]) for kind in matrix}
    return {
        "lengths": [value.shape[1] for value in model_inputs(batch).values() if value.ndim > 1],
        "share": share,
        "operations": counts.total(),
        "matrix": matrix.total(),
        "seconds": sum(count / peak[kind] for kind, count in matrix.items()) / utilisation,
    }


def prepared(recipe, data=None, log=len):
    """(the compiled steps of a recipe, its training batches, a list of what was assumed); as of `forecast`."""
    recipe, initial = resolve_initial(recipe)
    taken = takeover.prepared(recipe, initial)
    model, batches, assumed = _parts(recipe, data, log, taken and taken.keep_tokenizers(recipe))
    takeover.choose_trained(recipe, model, taken)
    return make_training_steps(recipe, model), batches, assumed


def _parts(recipe, data, log, kept):
    job = recipe.job
    try:
        recipe, data = corpora.trained_on(recipe, data)
        corpora.check_data(recipe, job.kind_of(recipe), ("train", "valid"), data)
    except ValueError as missing:
        if data is not None:
            raise
        return _assumed(recipe, missing, kept)
    log("reading the data" if kept else "reading the data and learning the vocabularies")
    parts = training.make_parts(recipe, data, kept)
    model = training.built_in(recipe, parts.sizes, recipe.training.precision)
    job.prepare(recipe, model, parts.tokenizers)
    return model, parts.train, []


def _assumed(recipe, missing, kept):
    job, own, text = recipe.job, recipe.training, recipe.text
    length = recipe.model.context if recipe.data.windows else own.max_length
    if job.labelled or not length:
        why = "the labels are not known" if job.labelled else "training.max_length is 0, so the lengths are not known"
        raise ValueError(f"{missing} Without data {why}.")
    sizes = [text.vocab_size]
    if len(job.sides) > 1:
        sizes.append(text.vocab_size if text.shared else text.answers.vocab_size)
    sizes = [each.vocab_size for each in kept] if kept else sizes
    tokenizers = tuple(Stand(size, length if recipe.data.windows else length - 1) for size in sizes)
    nothing = [""] if recipe.data.windows else [""] * own.batch_size
    batches = job.batches(recipe, tokenizers, (), (nothing, nothing), training=True)
    sides = " and ".join(f"{size:,}" for size in dict.fromkeys(sizes))
    told = f"no data were read: a vocabulary of {sides}, and every example of {length:,} tokens"
    return training.built_in(recipe, sizes, own.precision), batches, [told]


class Stand:
    """Stands for a tokenizer that is not learnt yet, of a size; every text has the same number of tokens."""

    around, before = AROUND, AROUND.before

    def __init__(self, vocab_size, length):
        self.vocab_size, self.length = vocab_size, length

    def encode(self, texts):
        return [[UNK] * self.length for _ in texts]

"""Gradients with less memory: activations are not kept in the forward pass, but computed again in the backward pass.

`keras.remat` cannot be used for this: sub-layers called with keyword arguments raise on TensorFlow, on JAX a dropout's
seed leaks out of the trace, and XLA on a CPU undoes the recomputation. Here everything that a function depends on is
explicit: its inputs, the values of its variables, its dropout seeds and its discrete choices.

Such a choice, as a hash bucket is one, must stay the same when a pass is computed again. A layer wraps it in `recall`:
the first pass writes a record and the second reads it, so that rounding cannot send a vector to another bucket. In a
pass that is computed once `recall` only computes.
"""

import keras
import numpy as np
from keras import ops

from zoo.core.later import later
from zoo.gradients.ambient import Ambient
from zoo.gradients.rows import tapping

_answer = Ambient()  # what answers a recalled choice, if anything does


def recall(compute):
    """`compute()`, or what it gave in the pass that is being repeated."""
    answer = _answer.value
    return compute() if answer is None else answer(compute)


def recording(record):
    """While open, every recalled choice is appended to the list `record`; inside a replay it comes from there."""
    outer = _answer.value

    def answer(compute):
        record.append(compute() if outer is None else outer(compute))
        return record[-1]

    return _answer.holding(answer)


def replaying(record):
    """While open, recalled choices are those of `record`, in their order."""
    choices = iter(record)
    return _answer.holding(lambda compute: next(choices))


jax = later("jax")
tf = later("tensorflow")

DRAWS = 1024  # random numbers that one pass may draw from one seed generator before the next pass repeats them


def vjp(function, inputs, upstream):
    """`(function(*inputs), gradients of the inputs)` for the gradients `upstream` of the outputs, one or a tuple."""
    if keras.backend.backend() == "tensorflow":
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = function(*inputs)
        gradients = tape.gradient(output, inputs, upstream, unconnected_gradients="zero")
        return output, [tf.convert_to_tensor(each) for each in gradients]  # the gradient of a table becomes dense
    if keras.backend.backend() == "jax":
        output, pull = jax.vjp(function, *inputs)
        return output, list(pull(upstream))
    raise ValueError(
        "Recomputing activations needs the tensorflow or the jax backend. Received: "
        f'{keras.backend.backend()!r}. Choose activations="plain".'
    )


def after(ready, x, *others):
    """`[x, *others]`, available only after all of `ready`; otherwise XLA recomputes too early, or not at all.

    Of the others only vectors (biases and the scales of norms) have to wait: XLA would broadcast them over all
    positions as soon as it can, and keep the result. On several devices each row of x waits for the same row of the
    first of `ready` alone: a number from all rows would be a message from device to device.
    """
    if keras.distribution.distribution() is not None:
        zero = _zero_after(ops.cast(ops.reshape(ready[0], (ops.shape(x)[0], -1))[:, 0], "float32"))
        return [x + ops.cast(ops.reshape(zero, (-1, *[1] * (len(x.shape) - 1))), x.dtype), *others]
    total = sum(ops.cast(ops.reshape(each, (-1,))[0], "float32") for each in ready)
    zero = _zero_after(total)
    return [each + ops.cast(zero, each.dtype) if each is x or len(each.shape) == 1 else each for each in (x, *others)]


def _zero_after(number):
    """0, which XLA cannot know before the number."""
    return ops.where(number == number, 0.0, float("nan"))


class Piece:
    """A function `f(x, *sides)` of layers that can be run twice, because everything that it depends on is an argument.

    Args:
        function: called as `function(x, *sides)`.
        layers: the layers that it calls; built.

    Raises:
        ValueError: (when run) the function changes a variable (the statistics of a BatchNormalization): since it
            runs twice, the change would be made twice.

    Attributes:
        adds_losses: whether layers added losses when it ran last.
    """

    def __init__(self, function, layers):
        self.function = function
        variables = {id(variable): variable for layer in layers for variable in layer.variables}.values()
        self.seeds = [each for each in variables if each.path.endswith("seed_generator_state")]
        drawn = {id(each) for each in self.seeds}
        others = [each for each in variables if id(each) not in drawn]
        self.trained = [each for each in others if each.trainable]
        self.fixed = [each for each in others if not each.trainable]
        self.adds_losses = False

    def values(self):
        """`(trained, fixed)`: the present values of the variables. The seed generators then advance to other numbers.

        They are multiplied by 1, because TensorFlow would otherwise give its variables and not tensors.
        """
        trained, fixed, seeds = ([each.value * 1 for each in group] for group in (self.trained, self.fixed, self.seeds))
        for seed, state in zip(self.seeds, seeds, strict=True):
            seed.assign(state + ops.convert_to_tensor(np.array([0, DRAWS]), dtype=seed.dtype))
        return trained, [*fixed, *seeds]

    def run(self, values, x, *sides):
        """`(function(x, *sides), loss)` where the variables have these values.

        The loss is the sum of those that the layers added, a float32 scalar: an output like the other, so that it has
        a gradient and whoever runs the piece can add it (`keras.layers.Layer.add_loss`).
        """
        trained, fixed = values
        pairs = [*zip(self.trained, trained, strict=True), *zip([*self.fixed, *self.seeds], fixed, strict=True)]
        scope = keras.StatelessScope(pairs, collect_losses=True)
        before = [scope.get_current_value(each) for each in self.fixed]
        with scope, tapping(None):  # the gradient of a table is whole where it is computed again
            output = self.function(x, *sides)
        pairs = zip(self.fixed, before, strict=True)
        changed = [each.path for each, value in pairs if scope.get_current_value(each) is not value]
        if changed:
            raise ValueError(
                "A layer whose activations are recomputed must not change variables, because it runs twice. Received a "
                f'layer that changes {changed}. Take activations="plain", or other layers.'
            )
        self.adds_losses = bool(scope.losses)
        return output, sum((ops.cast(loss, "float32") for loss in scope.losses), ops.zeros((), "float32"))


def each_output(upstream):
    """The gradients of the outputs: TensorFlow hands over one after the other, JAX one tuple of them."""
    return tuple(upstream[0]) if len(upstream) == 1 else upstream


def checkpoint(piece, x, *sides):
    """`(output, loss)` of a piece, of which only the arguments are kept; its gradient computes the rest again."""
    trained, fixed = piece.values()
    count = 1 + len(sides)

    @ops.custom_gradient
    def run(*given):
        record = []
        with recording(record):
            outputs = piece.run((given[count:], fixed), *given[:count])

        def gradient(*upstream, variables=()):
            upstream = each_output(upstream)

            def again(*given):
                with replaying(record):
                    return piece.run((given[count:], fixed), *given[:count])

            return tuple(vjp(again, after([upstream[0]], *given), upstream)[1])

        return outputs, gradient

    return run(x, *sides, *trained)

"""The loop of a recurrent layer: Keras' own, with weights that are read before it, and one for training.

What TensorFlow and JAX derive of a loop adds to the gradient of every weight at every step, `dW += x_t^T da_t`. In the
loop for training the backward loop carries the gradients of the states alone and keeps those of the gates; behind it
one product for all steps gives each weight's: `dW = sum_t x_t^T da_t`. Weights of the attention get theirs from all
steps at once, too; its scores are computed again instead of kept.
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import keras
from keras import ops

from zoo.core.later import later
from zoo.core.tensors import scan
from zoo.gradients.recompute import Piece, each_output, vjp

tf = later("tensorflow")


def read_before(layer):
    """A context in which the loop of a recurrent layer finds its weights as tensors that were read outside.

    TensorFlow's gradient of a loop keeps what each round computes, and a variable that is read inside counts as
    computed: of a kernel of 1 MB the forward loop wrote 64 copies for 64 steps, and the backward loop read them from
    there. What was read outside is the same in all rounds, and is kept once. JAX reads all variables before it begins.
    Of `gru_reset_before` each step still keeps the part of a kernel that Keras' cell cuts out of it inside the loop.
    """
    if keras.backend.backend() != "tensorflow" or not layer.built:
        return nullcontext()
    return keras.StatelessScope([(weight, tf.convert_to_tensor(weight.value)) for weight in layer.trainable_weights])


class Look(NamedTuple):
    """What each step looks at before it: `context = piece(hidden, keys, values)`, `(rows, value_units)`."""

    piece: Piece
    keys: Any
    values: Any


def _simple_rnn(a, r, hidden):
    del hidden
    return (ops.tanh(a + r),)


def _gru(a, r, hidden):
    (az, ar, ac), (rz, rr, rc) = (ops.split(each, 3, axis=-1) for each in (a, r))
    z = ops.sigmoid(az + rz)
    candidate = ops.tanh(ac + ops.sigmoid(ar + rr) * rc)
    return (z * hidden + (1 - z) * candidate,)


def _lstm(a, r, hidden, carry):
    del hidden
    i, f, g, o = ops.split(a + r, 4, axis=-1)
    carry = ops.sigmoid(f) * carry + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(carry), carry


# `states = step(a, r, *states)` of the inputs' and the states' products with their kernels, biases added.
STEPS = {"simple_rnn": _simple_rnn, "gru": _gru, "lstm": _lstm}


def run(name, cell, inputs, states, mask=None, look=None):
    """The outputs `(batch, time, units + value_units)` of a loop over the time, and its last states.

    Args:
        name: of the cell, one of `STEPS`.
        cell: Keras' cell, built, whose weights are used; its activations are the usual ones.
        inputs: `(batch, time, input_units)`.
        states: before the first step, a tuple of `(batch, units)`.
        mask: `(batch, time)`; a step where it is False gives 0 and leaves the states as they are.
        look: what every step looks at, a `Look`; its context becomes part of the inputs and of the outputs.
    """
    loop, x = _Loop(name, mask, look, len(states)), ops.transpose(inputs, (1, 0, 2))
    seen = [look.keys, look.values, *loop.trained] if look else []

    @ops.custom_gradient
    def differentiable(x, *given):
        results, kept = loop.forward(x, *given)

        def gradient(*upstream, variables=()):
            return loop.backward(each_output(upstream), kept, x, *given)

        return results, gradient

    outputs, *states = differentiable(x, *_weights(cell, inputs.dtype), *states, *seen)
    if look:
        outputs = ops.concatenate([outputs, states.pop(0)], axis=-1)
    return ops.transpose(outputs, (1, 0, 2)), tuple(states)


def _weights(cell, dtype):
    """The kernels of the inputs and of the states, and the bias of each."""
    kernel, recurrent, bias = (
        ops.cast(each.value * 1, dtype) for each in (cell.kernel, cell.recurrent_kernel, cell.bias)
    )
    return kernel, recurrent, *([bias[0], bias[1]] if len(bias.shape) == 2 else [bias, ops.zeros_like(bias)])


class _Loop:
    """The loop of one call forwards and backwards; arrays begin with the time.

    Both take the inputs, the weights, the states before the first step, and what is seen: keys, values, and the weights
    of the attention.
    """

    def __init__(self, name, mask, look, count):
        self.step, self.separate = STEPS[name], name == "gru"  # whether the two products do more than to be added
        self.mask = None if mask is None else ops.transpose(mask)[:, :, None]
        self.look, self.count = look, count
        self.trained, self.fixed = look.piece.values() if look else ((), ())

    def context(self, hidden, keys, values, *trained):
        """What rows of hidden states see, several of a sentence in succession."""
        return self.look.piece.run((trained, self.fixed), hidden, keys, values)[0]

    def forward(self, x, kernel, recurrent, first, second, *rest):
        """`([outputs, contexts if there are any, *last states], what the gradient needs)`."""
        states, seen = rest[: self.count], rest[self.count :]

        def one(states, given):
            read, keep = given
            contexts = [self.context(states[0], *seen)] if self.look else []
            a = ops.matmul(ops.concatenate([read, *contexts], axis=-1), kernel) + first
            r = ops.matmul(states[0], recurrent) + second
            products = (a, r) if self.separate else (a + r,)
            after = self.step(a, r, *states)
            outputs = [after[0], *contexts]
            if keep is not None:
                after = tuple(ops.where(keep, new, old) for new, old in zip(after, states, strict=True))
                outputs = [ops.where(keep, each, 0) for each in outputs]
            return after, (outputs, states, products)

        last, (outputs, before, products) = scan(one, tuple(states), (x, self.mask))
        return (*outputs, *last), (outputs[1:], before, products)

    def backward(self, upstream, kept, x, kernel, recurrent, first, second, *rest):
        """The gradients of all that `forward` takes, for those of its outputs."""
        contexts, before, products = kept
        seen, width = rest[self.count :], x.shape[-1]
        of_context = kernel[width:]  # outside of the loop, where XLA would copy it at every step
        douter, dlast = list(upstream[: 1 + len(contexts)]), tuple(upstream[1 + len(contexts) :])

        def one(dafter, given):
            douter, keep, states, products = given
            dstates = dafter
            if keep is not None:
                douter, dstates = ([ops.where(keep, each, 0) for each in some] for some in (douter, dafter))
            a, r = products if self.separate else (products[0], ops.zeros_like(products[0]))
            _, (da, dr, *dbefore) = vjp(self.step, [a, r, *states], (dstates[0] + douter[0], *dstates[1:]))
            dbefore[0] = dbefore[0] + ops.matmul(dr, ops.transpose(recurrent))
            dcontexts = []
            if self.look:
                dcontexts = [douter[1] + ops.matmul(da, ops.transpose(of_context))]
                _, (dhidden,) = vjp(lambda hidden: self.context(hidden, *seen), [states[0]], dcontexts[0])
                dbefore[0] = dbefore[0] + dhidden
            if keep is not None:
                dbefore = [each + ops.where(keep, 0, old) for each, old in zip(dbefore, dafter, strict=True)]
            return tuple(dbefore), ((da, dr) if self.separate else (da,), dcontexts)

        dfirst, (gates, dcontexts) = scan(one, dlast, (douter, self.mask, before, products), reverse=True)
        da, dr = gates[0], gates[-1]
        return (
            ops.matmul(da, ops.transpose(kernel[:width])),
            ops.concatenate([_summed(each, da) for each in (x, *contexts)], axis=0),
            _summed(before[0], dr),
            ops.sum(da, axis=(0, 1)),
            ops.sum(dr, axis=(0, 1)),
            *dfirst,
            *(self._seen(before[0], dcontexts[0], seen) if self.look else ()),
        )

    def _seen(self, hidden, dcontext, seen):
        """The gradients of what is seen: all steps of a sentence are queries of one attention."""
        rows = [ops.reshape(ops.transpose(each, (1, 0, 2)), (-1, each.shape[-1])) for each in (hidden, dcontext)]
        return vjp(lambda *seen: self.context(rows[0], *seen), list(seen), rows[1])[1]


def _summed(inputs, gradients):
    """`sum_t x_t^T g_t`, `(inputs, gates)`, as one product.

    On several devices the two axes stay apart, because XLA would gather all rows for one axis of time and batch.
    """
    if keras.distribution.distribution() is not None:
        return ops.tensordot(inputs, gradients, axes=((0, 1), (0, 1)))
    inputs, gradients = (ops.reshape(each, (-1, each.shape[-1])) for each in (inputs, gradients))
    return ops.matmul(ops.transpose(inputs), gradients)

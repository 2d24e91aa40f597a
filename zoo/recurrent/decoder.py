"""The decoder of a recurrent sequence-to-sequence model: over whole sequences in training, step by step in a search."""

from typing import Any

from keras import layers, ops, tree

from zoo.core.masks import ImplicitMasks
from zoo.core.registry import build_parts, register
from zoo.core.tensors import flatten_beams
from zoo.gradients.recompute import Piece
from zoo.recurrent import loop
from zoo.recurrent.cells import AttentionCell, check_cell, make_cell


def nested_list(size):
    """A cell's `state_size` as plain nested lists: the structure that both backends accept for the state of a loop."""
    sizes = size if isinstance(size, (list, tuple)) else [size]
    return [nested_list(item) if isinstance(item, (list, tuple)) else item for item in sizes]


@register
class RecurrentDecoder(ImplicitMasks, layers.Layer):
    """`s_{j+1} = cell([y_j; c_j], s_j)`, `s_0 = tanh(W h_final)`, output `[s_{j+1}; c_j]`.

    With attention, `c_j` is the mean of the encoder's states under `AttentionCell`. Without it, `c` is the encoder's
    final state at every step: the fixed-length-context baseline of Cho et al. (2014).

    `remember(values, mask, states)` makes the memory: everything that is computed once for each sentence. Its leaves
    start with the batch axis; a decoding state's leaves start with (batch, beams).

    Shapes: inputs `(batch, time, input_units)` -> `(batch, time, units + value_units)`. Masking: `inputs_mask (batch,
    time)` bool, True = keep; a masked step gives 0 and leaves the state as it is. Padding at the end changes no
    valid position either way, because no step looks ahead.

    Args:
        units: width of the state.
        cell: the name of the recurrence (`zoo.recurrent.cells`).
        attention: an alignment attention layer, or None.
        num_layers: cells stacked in one step; the topmost state is the attention's query.
        state_activation: of the first state, "tanh" or "linear": `s_0 = W h_final`. With `W` the identity the decoder
            goes on where the encoder ended (Sutskever et al. 2014).

    Raises:
        ValueError: an unknown cell, or `num_layers` is not a positive integer.

    Reference: https://arxiv.org/abs/1409.0473, appendix A.2.2; https://arxiv.org/abs/1406.1078, section 2.2;
    https://arxiv.org/abs/1409.3215, section 2.
    """

    def __init__(
        self,
        units: int,
        cell: Any = "gru",
        attention: Any = None,
        num_layers: int = 1,
        state_activation: str = "tanh",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.cell, self.attention, self.num_layers = units, check_cell(cell), attention, num_layers
        self.state_activation = state_activation
        inner = make_cell(cell, units, num_layers, dtype=self.dtype_policy)
        self.step_cell = inner if attention is None else AttentionCell(inner, attention, dtype=self.dtype_policy)
        self.rnn = layers.RNN(self.step_cell, return_sequences=True, zero_output_for_mask=True, dtype=self.dtype_policy)
        sizes = tree.flatten(inner.state_size)
        self.bridges = [layers.Dense(size, activation=state_activation, dtype=self.dtype_policy) for size in sizes]

    def build(self, inputs_shape, memory_shape):
        values_shape = memory_shape["summary" if self.attention is None else "values"]
        width, context = inputs_shape[-1], values_shape[-1]
        build_parts(self.bridges, (None, context))
        if self.attention is None:
            self.step_cell.build((None, width + context))
        else:
            self.step_cell.build((None, width), tuple(values_shape))
        self.step_cell.built = True
        self.rnn.built = True

    def remember(self, values, mask, states):
        """Memory of one batch: encoder outputs `(batch, time, value_units)`, their mask, the encoder's final states."""
        layers_ = len(self.bridges) // self.num_layers  # states per layer
        initial = tuple(
            bridge(states[min(index % layers_, len(states) - 1)]) for index, bridge in enumerate(self.bridges)
        )
        if self.attention is None:
            return {"initial": initial, "summary": states[0]}
        return {"initial": initial, "keys": self.attention.project(values), "mask": mask, "values": values}

    def call(self, inputs, memory, training=None, inputs_mask=None):
        if training and self._has_own_loop:
            return self._trained(inputs, memory, inputs_mask)
        initial = tree.pack_sequence_as(self._state_structure, list(memory["initial"]))
        if self.attention is None:
            inputs, summary = self._with_summary(inputs, memory)
            with loop.read_before(self.rnn):
                outputs = self.rnn(inputs, initial_state=initial, mask=inputs_mask, training=training)
            return ops.concatenate([outputs, summary], axis=-1)
        with self.step_cell.attending(memory["values"], memory["mask"], memory["keys"]), loop.read_before(self.rnn):
            return self.rnn(inputs, initial_state=initial, mask=inputs_mask, training=training)

    def _with_summary(self, inputs, memory):
        """The inputs beside the encoder's final state, which every step gets, and that state at every step."""
        summary = ops.repeat(memory["summary"][:, None, :], ops.shape(inputs)[1], axis=1)
        return ops.concatenate([inputs, summary], axis=-1), summary

    def _trained(self, inputs, memory, mask):
        """The same by a loop whose gradient is cheaper."""
        if self.attention is None:
            inputs, summary = self._with_summary(inputs, memory)
            outputs, _ = loop.run(self.cell, self.step_cell, inputs, memory["initial"], mask)
            return ops.concatenate([outputs, summary], axis=-1)
        look = loop.Look(Piece(self._context(memory["mask"]), [self.attention]), memory["keys"], memory["values"])
        return loop.run(self.cell, self.step_cell.cell, inputs, memory["initial"], mask, look)[0]

    @property
    def _has_own_loop(self):
        """Whether `zoo.recurrent.loop` trains it: not several layers, nor an attention that draws random numbers.

        That loop computes the attention again, of all steps at once, where other numbers would be drawn.
        """
        known = self.num_layers == 1 and self.cell in loop.STEPS
        return known and (self.attention is None or not Piece(None, [self.attention]).seeds)

    def _context(self, mask):
        """The context of hidden states, as a function of all that it depends on."""

        def context(hidden, keys, values):
            with self.step_cell.attending(values, mask, keys):
                return self.step_cell.align([hidden])[0]

        return context

    @property
    def _state_structure(self):
        cell = self.step_cell if self.attention is None else self.step_cell.cell
        return nested_list(cell.state_size)

    def start(self, memory, beams):
        """The state before the first token, the same for every beam: leaves `(batch, beams, ...)`."""
        cells = tuple(ops.repeat(leaf[:, None], beams, axis=1) for leaf in memory["initial"])
        if self.attention is None:
            return {"cells": cells}
        mask = memory["mask"]
        weights = ops.zeros((ops.shape(mask)[0], beams, ops.shape(mask)[1]), dtype=self.compute_dtype)
        return {"cells": cells, "attention": weights}

    def step(self, inputs, state, memory):
        """`(batch, beams, input_units)` -> outputs `(batch * beams, units + value_units)` and the next state."""
        batch, beams = ops.shape(inputs)[0], ops.shape(inputs)[1]
        rows = flatten_beams(inputs)
        cells = tree.pack_sequence_as(self._state_structure, [flatten_beams(leaf) for leaf in state["cells"]])
        if self.attention is None:
            context = flatten_beams(ops.repeat(memory["summary"][:, None], beams, axis=1))
            outputs, cells = self.step_cell(ops.concatenate([rows, context], axis=-1), cells)
            outputs, extra = ops.concatenate([outputs, context], axis=-1), {}
        else:
            with self.step_cell.attending(memory["values"], memory["mask"], memory["keys"]):
                context, weights = self.step_cell.align(cells)
                outputs, cells = self.step_cell.advance(rows, context, cells)
            extra = {"attention": ops.reshape(weights, ops.shape(state["attention"]))}
        leaves = tree.flatten(cells)
        return outputs, {"cells": tuple(ops.reshape(c, (batch, beams, c.shape[-1])) for c in leaves), **extra}

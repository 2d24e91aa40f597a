"""The compiled steps on TensorFlow: two `tf.function`s under XLA, whose state is in the variables."""

import tensorflow as tf

from zoo.gradients.means import dividing
from zoo.training.losses import token_sums
from zoo.training.steps import shared
from zoo.training.steps.needs import graph_operations, measure_variables, peak_bytes
from zoo.training.steps.optimizers import RowAdam, densify


class TensorFlowSteps:
    """See `zoo.training.make_steps`.

    A function is traced again for each batch shape, because XLA must know how often a recurrent loop runs. The batches
    have a bounded number of shapes, so this cost is bounded.
    """

    def __init__(self, model, optimizer, loss, parts=1):
        self.model, self.optimizer = model, optimizer
        variables, scaling = model.trainable_variables, shared.place_of_scale(optimizer) is not None
        by_rows = isinstance(optimizer, RowAdam)  # which makes the gradients of all but its tables dense

        def differentiate(batch, share=None, counts=None):
            with tf.GradientTape() as tape, dividing(counts, parts):
                outputs = model(shared.model_inputs(batch), **shared.call_settings(loss))
                value = loss(batch["labels"], outputs, sample_weight=batch["weights"])
                value = shared.part_loss(value, sum(model.losses), share, parts)
                scaled = optimizer.scale_loss(value) if scaling else value
            gradients = tape.gradient(scaled, variables)
            pairs = zip(gradients, zeros(), strict=True)  # what the loss does not depend on has no gradient
            gradients = [zero if gradient is None else gradient for gradient, zero in pairs]
            return value, gradients if by_rows else list(map(densify, gradients))

        def zeros():
            return [tf.zeros(variable.shape, variable.dtype) for variable in variables]

        def count(split):
            """The positions of each mean, of all parts together."""
            weights = [[each.value for each in group] for group in (variables, model.non_trainable_variables)]
            one = tf.function(lambda part: shared.positions_of(model, part, weights, loss), autograph=False)
            one = one.get_concrete_function(
                {name: tf.TensorSpec(array.shape[1:], array.dtype) for name, array in split.items()}
            )
            dtypes = [tf.float32] * len(one.structured_outputs)
            return [tf.reduce_sum(each) for each in tf.map_fn(one, split, fn_output_signature=dtypes)] if dtypes else []

        def in_parts(batch):
            split = {name: shared.rows_by_part(array, parts) for name, array in batch.items()}
            counts = count(split)

            def add(number, *sums):
                part = {name: array[number] for name, array in split.items()}
                share = shared.share_of(part["weights"], batch["weights"])
                value, gradients = differentiate(part, share, counts)
                sums_here = [value, *map(tf.convert_to_tensor, gradients)]
                return number + 1, *(one + other for one, other in zip(sums, sums_here, strict=True))

            nothing = [tf.zeros(()), *zeros()]
            _, value, *gradients = tf.while_loop(
                lambda number, *sums: number < parts,
                add,
                [0, *nothing],
                parallel_iterations=1,
                maximum_iterations=parts,
            )
            return value, gradients

        def train(batch):
            value, gradients = (in_parts if parts > 1 else differentiate)(batch)
            optimizer.apply(gradients, variables)
            return value

        def evaluate(batch):
            logits = model(shared.model_inputs(batch), training=False)
            return token_sums(batch["labels"], logits, batch["weights"])

        self.train = tf.function(train, jit_compile=True, autograph=False)
        self.evaluate = tf.function(evaluate, jit_compile=True, autograph=False)

    def learning_rate(self):
        return float(self.optimizer.learning_rate)

    def expected_memory(self, batch):
        """See `make_steps`. This traces the step, which a training step of this batch does anyway."""
        graph = self.train.get_concrete_function(batch).graph
        longest = max(length for array in batch.values() for length in array.shape[1:])
        activations = peak_bytes(graph_operations(graph, trips=longest))
        return measure_variables(self.model, self.optimizer) | {"activations and gradients": activations}

    def program_key(self, batch):
        return shared.shape_of(batch)

    def sync(self):
        """Nothing to do: the programs update the variables in place."""

    def reload(self):
        """Nothing to do: the programs read the variables."""

    @property
    def num_programs(self):
        return self.train.experimental_get_tracing_count()

"""The compiled steps on JAX: pure functions of an explicit state, which stays on the device."""

import jax
import jax.numpy as jnp
import keras

from zoo.core.protocols import Weight
from zoo.gradients.means import dividing
from zoo.gradients.rows import Taps, tapping
from zoo.training.losses import token_sums
from zoo.training.steps import shared
from zoo.training.steps.needs import jaxpr_operations, measure_variables, peak_bytes
from zoo.training.steps.optimizers import RowAdam, row_gradients
from zoo.training.steps.products import Compiled


class JaxSteps:
    """See `zoo.training.make_steps`.

    The state is a tuple of the values of trainable, non-trainable and optimizer variables. Each step reuses the buffers
    of the state before it (they are "donated"). Values are copied to and from the Keras variables, so that these stay
    readable. If Keras has a distribution when the steps are made (`zoo.core.devices`), batches are split among its
    copies of the model, and the state lies where the variables do.
    """

    def __init__(self, model, optimizer, loss, parts=1):
        self.model, self.optimizer = model, optimizer
        self._variables = (
            model.trainable_variables,
            model.non_trainable_variables,
            optimizer.variables,
        )

        tables = [variable for variable in model.trainable_variables if Weight.of(variable).row_updates]
        by_rows = bool(tables) and isinstance(optimizer, RowAdam) and parts == 1
        scale_of = shared.place_of_scale(optimizer)

        def compute_loss(trainable, zeros, fixed, batch, scale, share, counts=None):
            taps = Taps(zeros)
            with tapping(taps if by_rows else None), dividing(counts, parts):
                outputs, fixed, extra = model.stateless_call(
                    trainable, fixed, shared.model_inputs(batch), return_losses=True, **shared.call_settings(loss)
                )
            value = loss(batch["labels"], outputs, sample_weight=batch["weights"])
            value = shared.part_loss(value, sum(extra), share, parts)
            tables[:] = taps.tables
            scaled = value if scale is None else scale * value
            return scaled, (value, fixed, taps.indices, taps.weights, taps.outputs)

        gradient = jax.value_and_grad(compute_loss, argnums=(0, 1), has_aux=True)

        def at_once(trainable, fixed, batch, scale):
            zeros = None
            if by_rows:
                outputs = jax.eval_shape(compute_loss, trainable, None, fixed, batch, scale, None)[1][-1]
                zeros = [jnp.zeros(output.shape, output.dtype) for output in outputs]
            (_, (value, fixed, *read, _)), (gradients, upstream) = gradient(trainable, zeros, fixed, batch, scale, None)
            if by_rows:
                read = jax.tree.map(self._placement.replicate, [*read, upstream])  # less than the rows of the gradients
                gradients = row_gradients(model.trainable_variables, gradients, tables, *read)
            return value, fixed, gradients

        def in_parts(trainable, fixed, batch, scale):
            split = {name: shared.rows_by_part(array, parts) for name, array in batch.items()}
            counts = jax.lax.map(lambda part: shared.positions_of(model, part, (trainable, fixed), loss), split)
            counts = [jnp.sum(each) for each in counts]

            def add(sums, part):
                fixed, *sums = sums
                share = shared.share_of(part["weights"], batch["weights"])
                (_, (value, fixed, *_)), (gradients, _) = gradient(trainable, None, fixed, part, scale, share, counts)
                return (fixed, *jax.tree.map(jnp.add, sums, [value, gradients])), None

            nothing = fixed, jnp.zeros(()), jax.tree.map(jnp.zeros_like, trainable)
            (fixed, value, gradients), _ = jax.lax.scan(add, nothing, split)
            return value, fixed, gradients

        def train(state, batch):
            trainable, fixed, slots = state
            scale = None if scale_of is None else slots[scale_of]
            value, fixed, gradients = (in_parts if parts > 1 else at_once)(trainable, fixed, batch, scale)
            trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
            return (trainable, fixed, slots), value

        def evaluate(trainable, fixed, batch):
            logits, _ = model.stateless_call(trainable, fixed, shared.model_inputs(batch), training=False)
            return token_sums(batch["labels"], logits, batch["weights"])

        wide = jax.default_backend() == "cpu" and model.compute_dtype == "bfloat16"
        self._placement = Placement(keras.distribution.distribution())
        self.reload()
        # Without these the second step would be compiled again, for the placement that the first gave to the state.
        state_placement = self._placement.of_state(self._state)
        output_placement = state_placement and (state_placement, self._placement.replicated)
        self._train = Compiled(train, wide, donate_argnums=0, out_shardings=output_placement)
        self._evaluate = Compiled(evaluate, wide, out_shardings=self._placement.replicated)

    def train(self, batch):
        if self._synced:
            self.reload()  # a callback may have assigned to the variables
        self._state, value = self._train(self._state, self._placement(batch))
        return value

    def evaluate(self, batch):
        if self._synced:
            self.reload()
        trainable, fixed, _ = self._state
        return self._evaluate(trainable, fixed, self._placement(batch))

    def expected_memory(self, batch):
        """See `make_steps`. This traces the step, which a training step of this batch does anyway."""
        trace = self._train.original.trace(self._state, self._placement(batch))
        activations = peak_bytes(jaxpr_operations(trace.jaxpr.jaxpr))
        own = measure_variables(self.model, self.optimizer)
        # Weights and optimizer count twice: the state on the device is a copy of the variables.
        return {name: 2 * size for name, size in own.items()} | {"activations and gradients": activations}

    def programs(self, batch):
        """{"training": (the step as it was written, its arguments), "validation": ..}, for an analysis of them."""
        batch, (trainable, fixed, _) = self._placement(batch), self._state
        return {
            "training": (self._train.original, (self._state, batch)),
            "validation": (self._evaluate.original, (trainable, fixed, batch)),
        }

    def program_key(self, batch):
        return shared.shape_of(batch)

    def learning_rate(self):
        if self._synced:
            return float(self.optimizer.learning_rate)
        slots = dict(zip(map(id, self._variables[2]), self._state[2], strict=True))
        self.optimizer.iterations.assign(jnp.copy(slots[id(self.optimizer.iterations)]))
        return float(self.optimizer.learning_rate)

    def sync(self):
        """Copy the state to the variables. Values assigned to them from now on are read back at the next step."""
        if self._synced:
            return
        for variables, values in zip(self._variables, self._state, strict=True):
            for variable, value in zip(variables, values, strict=True):
                variable.assign(jnp.copy(value))
        self._synced = True

    def reload(self):
        self._synced = False
        self._state = tuple([jnp.copy(variable.value) for variable in variables] for variables in self._variables)

    @property
    def num_programs(self):
        return self._train.num_programs


class Placement:
    """On which devices the arrays of a step lie.

    Args:
        spread: Keras' distribution; None leaves everything as it is.
    """

    def __init__(self, distribution):
        self.distribution, self.replicated = distribution, None
        if distribution is not None:
            mesh = distribution.device_mesh.backend_mesh
            self.copies = distribution.num_model_replicas
            self.replicated = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def __call__(self, batch):
        """The arrays of a batch, each split along its first axis; a process makes only the parts of its own devices."""
        return batch if self.distribution is None else {name: self._split(value) for name, value in batch.items()}

    def _split(self, value):
        layout = self.replicated
        if value.ndim and value.shape[0] % self.copies == 0:
            layout = self.distribution.get_data_layout(value.shape).backend_layout
        return jax.make_array_from_callback(value.shape, layout, lambda index: value[index])

    def replicate(self, value):
        """The whole array on every device."""
        return value if self.distribution is None else jax.lax.with_sharding_constraint(value, self.replicated)

    def of_state(self, state):
        """The placement of each array of a state; None without a distribution."""
        return None if self.distribution is None else jax.tree.map(lambda value: value.sharding, state)

"""What attention with several heads shares: splitting and joining heads, their keys and values, zeros for padding."""

from keras import ops


class Heads:
    """A mixin, before the Keras layer, of `units`, `num_heads` and `head_dim`, the width of each head.

    `project` is of a layer with a `key_projection` and a `value_projection`.
    """

    def split_heads(self, x):
        """`(batch, time, units)` -> `(batch, heads, time, head_dim)`."""
        x = ops.reshape(x, (*ops.shape(x)[:2], self.num_heads, self.head_dim))
        return ops.transpose(x, (0, 2, 1, 3))

    def join_heads(self, x):
        width = self.num_heads * self.head_dim
        return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (ops.shape(x)[0], ops.shape(x)[2], width))

    @staticmethod
    def silence(output, query_mask):
        return output if query_mask is None else ops.where(query_mask[:, :, None], output, 0.0)

    def project(self, value):
        """`{"keys", "values"}` `(batch, heads, value_time, head_dim)`: what does not depend on the query."""
        parts = {"keys": self.key_projection, "values": self.value_projection}
        return {name: self.split_heads(projection(value)) for name, projection in parts.items()}

    def empty_cache(self, batch, entries):
        """A pool without content: what `project` would give for nothing."""
        zeros = ops.zeros((batch, self.num_heads, entries, self.head_dim), dtype=self.compute_dtype)
        return {"keys": zeros, "values": zeros}

    def compute_output_shape(self, query_shape, value_shape=None):
        return (*query_shape[:2], self.units)

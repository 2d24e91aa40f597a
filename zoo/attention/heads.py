"""What attention with several heads shares: splitting and joining heads, and zeros where a query is padding."""

from keras import ops


class Heads:
    """A mixin, before the Keras layer, of `units`, `num_heads` and `head_dim`, the width of each head."""

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

    def compute_output_shape(self, query_shape, value_shape=None):
        return (*query_shape[:2], self.units)

    def compute_mask(self, query, query_mask=None, **kwargs):
        return query_mask

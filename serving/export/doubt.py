"""`serving.runtime.doubt` in TensorFlow operations, for the texts that a SavedModel reads and writes."""

import tensorflow as tf

from serving.runtime import doubt
from zoo.text.base import UNK


def join(*warnings):
    """Several warnings about each text as one; each is `(batch,)`, and "" is none."""
    remarks, *more = warnings
    for each in more:
        both = (tf.strings.length(remarks) > 0) & (tf.strings.length(each) > 0)
        remarks = tf.strings.join([remarks, tf.where(both, doubt.SEPARATOR, ""), each])
    return remarks


def unknown_warning(token_ids, lengths, around):
    """The warning about pieces that the tokenizer does not know; `around` of the ids of a text are no pieces of it."""
    inside = tf.sequence_mask(lengths, tf.shape(token_ids)[1])
    count = tf.reduce_sum(tf.cast(tf.equal(token_ids, UNK) & inside, tf.int32), axis=1)
    return tf.where(count > 0, fill(doubt.unknown_warning, count, lengths - around), "")


def circle_warning(ids, lengths):
    """The warning about answers that go in circles."""
    size = _circle(ids, lengths)
    return tf.where(size > 0, fill(doubt.circle_warning, size), "")


def bound_warning(lengths, longest):
    """The warning about answers that are as long as they may be."""
    return tf.where(lengths >= longest, fill(doubt.bound_warning, longest), "")


def length_bounds(rules, most, lengths):
    """`serving.kinds.rules.length_bound` of each text, by the number of its ids."""
    bound = tf.fill(tf.shape(lengths), rules.get("max_length") or most)
    if rules.get("length_ratio"):
        follows = rules["length_ratio"] * tf.cast(lengths, tf.float32) + rules.get("length_extra", 0)
        bound = tf.minimum(bound, tf.cast(tf.floor(follows), tf.int32))
    return tf.minimum(most, tf.maximum(bound, max(1, rules.get("min_length", 0))))


def _circle(ids, lengths):
    """`serving.runtime.doubt.circle_size` of each row, and 0 for None: `(batch,)`."""
    time = tf.shape(ids)[1]
    sizes, places = tf.range(1, time // doubt.TIMES + 1)[:, None], tf.range(time)[None, :]
    needed = tf.maximum(doubt.TIMES * sizes, doubt.LEAST) - sizes
    same = tf.equal(ids[:, None, :], tf.gather(ids, tf.maximum(places - sizes, 0), axis=1))
    same &= (places >= sizes) & (places < lengths[:, None, None])
    before = tf.pad(tf.cumsum(tf.cast(same, tf.int32), axis=2), [[0, 0], [0, 0], [1, 0]])
    begins = tf.broadcast_to(tf.maximum(places + 1 - needed, 0)[None], tf.shape(same))
    runs = before[:, :, 1:] - tf.gather(before, begins, batch_dims=2)
    circling = tf.reduce_any(tf.equal(runs, needed), axis=2)
    never = time + 1
    smallest = tf.reduce_min(tf.where(circling, sizes[:, 0], never), axis=1)
    return tf.where(smallest < never, smallest, 0)


def fill(sentence, *parts):
    """A sentence of the runtime as a tensor of strings, with the tensors `parts` as its arguments."""
    values = [part if part.dtype == tf.string else tf.strings.as_string(part) for part in parts]
    pieces = sentence(*(f"\0{number}\0" for number in range(len(parts)))).split("\0")
    return tf.strings.join([values[int(piece)] if place % 2 else piece for place, piece in enumerate(pieces)])

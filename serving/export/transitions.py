"""`zoo.scores.transitions.likeliest` in TensorFlow operations, for the texts that a SavedModel tags."""

import tensorflow as tf

from zoo.scores.transitions import NEVER


def likeliest_tags(probabilities, there, allowed):
    """The ids of the likeliest allowed tags of each row.

    Args:
        probabilities: `(batch, words, tags)`.
        there: `(batch, words)`, whether there is such a word; rows are filled from the left.
        allowed: the `zoo.scores.transitions.Transitions`.

    Returns:
        `(batch, words)` int64; of no meaning where there is no word.
    """
    words, last = tf.shape(there)[1], ((0, 0), (0, 2))  # two words that are not there, so that no list is empty
    there = tf.pad(there, last)
    scores = tf.pad(tf.maximum(tf.math.log(tf.cast(probabilities, "float64")), NEVER), (*last, (0, 0)))
    steps, begins, ends = (
        tf.where(each, tf.constant(0.0, "float64"), tf.constant(NEVER, "float64"))
        for each in (allowed.follows, allowed.begins, allowed.ends)
    )
    count = tf.shape(scores)[2]
    stays = tf.broadcast_to(tf.range(count, dtype="int64"), tf.shape(scores)[::2])
    by_word = tf.transpose(scores, (1, 0, 2)), tf.transpose(there)

    def forward(state, word):
        total, _ = state
        values, is_there = word
        paths = total[:, :, None] + steps
        best = tf.reduce_max(paths, axis=1) + values
        before = tf.where(is_there[:, None], tf.argmax(paths, axis=1), stays)
        return tf.where(is_there[:, None], best, total), before

    first = begins + scores[:, 0]
    totals, before = tf.scan(forward, tuple(each[1:] for each in by_word), (first, stays))
    end = tf.argmax(totals[-1] + ends, axis=-1)
    tags = tf.scan(lambda tag, places: tf.gather(places, tag, batch_dims=1), before, end, reverse=True)
    return tf.transpose(tags)[:, :words]

"""Texts as code points in a TensorFlow graph, and words of them."""

import tensorflow as tf


def decoded(text):
    """`(codes, rows)` of `(batch,)` texts, both `(characters,)`: every code point, and the text that it is of."""
    codes = tf.strings.unicode_decode(text, "UTF-8")
    return codes.flat_values, codes.value_rowids()


def inside(bounds, codes):
    """Whether each code point is in the ranges; see `zoo.text.characters`."""
    return tf.searchsorted(tf.constant(bounds, tf.int32), codes, side="right") % 2 == 1


def neighbour(values, rows, distance, otherwise):
    """The value so many places further on (or before) in the same text, `otherwise` where there is none."""
    moved = tf.roll(tf.stack([tf.cast(values, tf.int32), tf.cast(rows, tf.int32)]), -distance, axis=1)
    place = tf.range(tf.shape(rows)[0]) + distance
    there = (place >= 0) & (place < tf.shape(rows)[0]) & tf.equal(moved[1], tf.cast(rows, tf.int32))
    return tf.where(there, moved[0], otherwise)


def words_of(codes, rows, starts, count):
    """The words that begin where `starts` says: a ragged `(batch, words)` of strings, and the characters of each word.

    Args:
        codes, rows: as of `decoded`.
        starts: (characters,) bool; the first character of a text is one.
        count: the number of texts.
    """
    number = tf.cumsum(tf.cast(starts, tf.int64)) - 1
    words = tf.RaggedTensor.from_value_rowids(codes, number, nrows=tf.reduce_sum(tf.cast(starts, tf.int64)))
    strings = tf.strings.unicode_encode(words, "UTF-8")
    whole = tf.RaggedTensor.from_value_rowids(strings, tf.boolean_mask(rows, starts), nrows=tf.cast(count, tf.int64))
    return whole, words.row_lengths()

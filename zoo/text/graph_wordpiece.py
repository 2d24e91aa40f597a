"""`zoo.text.WordPiece` as TensorFlow operations."""

import re

import numpy as np
import tensorflow as tf
import tensorflow_text

from zoo.text.base import UNKNOWN
from zoo.text.graph_characters import decoded, inside, neighbour, words_of
from zoo.text.special import UNK

SPACE = 32


class GraphWordPiece(tf.Module):
    """The pieces of texts, and texts of pieces; characters become others by the tables of the tokenizer's file.

    Words are cut by TensorFlow Text, which is given them one by one: its own normalisation is another Unicode's.
    """

    def __init__(self, tokenizer):
        super().__init__()
        own, special = tokenizer.settings, {*tokenizer.special, UNK}
        self._longest, self._removed, self._alone = own["longest"], own["removed"], own["alone"]
        changed = sorted(own["becomes"].items())
        self._from = np.array([ord(one) for one, _ in changed] or [-1], "int32")
        self._sizes = np.array([len(other) for _, other in changed] or [0], "int32")
        self._begins = np.cumsum(self._sizes) - self._sizes
        self._to = np.array([ord(each) for _, other in changed for each in other] or [0], "int32")
        # No word has a space in it, so that none is a special piece.
        names = [f" {token}" if token in special else piece for token, piece in enumerate(tokenizer.pieces)]
        self._cutter = tensorflow_text.FastWordpieceTokenizer(
            names,
            suffix_indicator=own["prefix"],
            max_bytes_per_word=4 * own["longest"],
            unknown_token=names[UNK],
            no_pretokenization=True,
            token_out_type=tf.int32,
        )
        self._prefix = own["prefix"]
        shown = enumerate(tokenizer.pieces)
        self._shown = [UNKNOWN.strip() if token == UNK else piece for token, piece in shown]

    def encode(self, text):
        """The ids of the pieces of `(batch,)` texts, ragged."""
        codes, rows = self._normalised(*decoded(text))
        alone = inside(self._alone, codes)
        before = neighbour(codes, rows, -1, SPACE)
        starts = alone | tf.equal(before, SPACE) | inside(self._alone, before)
        kept = tf.not_equal(codes, SPACE)
        codes, rows, starts = (tf.boolean_mask(each, kept) for each in (codes, rows, starts))
        words, sizes = words_of(codes, rows, starts, tf.shape(text)[0])
        pieces = self._cutter.tokenize(tf.where(sizes > self._longest, " ", words.flat_values))
        return words.with_flat_values(pieces).merge_dims(1, 2)

    encode_words = encode

    def decode(self, ids):
        """The texts of ragged ids, none of them special."""
        pieces = tf.ragged.map_flat_values(lambda flat: tf.gather(tf.constant(self._shown), flat), ids)
        return tf.strings.regex_replace(
            tf.strings.reduce_join(pieces, axis=-1, separator=" "), re.escape(f" {self._prefix}"), ""
        )

    def _normalised(self, codes, rows):
        """The code points that become of others, and the texts that they are of."""
        place = tf.minimum(tf.searchsorted(self._from, codes), len(self._from) - 1)
        found = tf.equal(tf.gather(self._from, place), codes)
        sizes = tf.where(found, tf.gather(self._sizes, place), 1)
        owner = tf.repeat(tf.range(tf.shape(codes)[0]), sizes)
        number = tf.range(tf.shape(owner)[0]) - tf.gather(tf.cumsum(sizes, exclusive=True), owner)
        to = tf.gather(self._begins, tf.gather(place, owner)) + tf.cast(number, self._begins.dtype)
        to = tf.gather(self._to, tf.minimum(to, len(self._to) - 1))
        codes = tf.where(tf.gather(found, owner), to, tf.gather(codes, owner))
        kept = ~inside(self._removed, codes)
        return tf.boolean_mask(codes, kept), tf.boolean_mask(tf.gather(rows, owner), kept)

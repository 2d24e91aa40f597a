"""`zoo.text.BytePairs` as TensorFlow operations; neither TensorFlow nor TensorFlow Text has byte-level BPE."""

import numpy as np
import tensorflow as tf

from zoo.text.base import UNKNOWN
from zoo.text.byte_pairs import ENDINGS
from zoo.text.characters import SPACES
from zoo.text.graph_characters import decoded, inside, neighbour, words_of
from zoo.text.special import UNK

SPACE, LETTER, NUMBER, OTHER = range(4)  # what a character is
NEVER = np.iinfo("int32").max


class GraphBytePairs(tf.Module):
    """The pieces of texts, and texts of pieces.

    A regular expression without a look ahead cannot say where words begin; four rules about neighbours can. Then, in a
    loop, each word merges all its pairs that come first in the list.
    """

    def __init__(self, tokenizer):
        super().__init__()
        own = tokenizer.settings
        self._prefix_space, self._letters, self._numbers = own["prefix_space"], own["letters"], own["numbers"]
        self._size, self._bytes, self._results = tokenizer.vocab_size, tokenizer.byte_ids, tokenizer.results
        keys = {left * self._size + right: rank for (left, right), rank in tokenizer.ranks.items()}
        self._keys = np.array(sorted(keys) or [-1], "int64")
        self._ranks = np.array([keys[key] for key in sorted(keys)] or [NEVER], "int32")
        self._shown = [UNKNOWN.strip().encode() if token == UNK else each for token, each in enumerate(tokenizer.shown)]

    def encode(self, text):
        """The ids of the pieces of `(batch,)` texts, ragged."""
        if self._prefix_space:
            text = tf.where(tf.strings.regex_full_match(text, "(?s)[^ ].*"), tf.strings.join([" ", text]), text)
        codes, rows = decoded(text)
        words, _ = words_of(codes, rows, self._starts(codes, rows), tf.shape(text)[0])
        different, places = tf.unique(words.flat_values)
        return words.with_flat_values(tf.gather(self._merged(different), places)).merge_dims(1, 2)

    def encode_words(self, words):
        """The same of words, each behind a space."""
        return self.encode(tf.strings.join([" ", words]))

    def decode(self, ids):
        """The texts of ragged ids, none of them special."""
        pieces = tf.ragged.map_flat_values(lambda flat: tf.gather(tf.constant(self._shown), flat), ids)
        return tf.strings.unicode_transcode(tf.strings.reduce_join(pieces, axis=-1), "UTF-8", "UTF-8", errors="replace")

    def _starts(self, codes, rows):
        """Where words begin: (characters,) bool."""
        kind = tf.where(inside(self._letters, codes), LETTER, tf.where(inside(self._numbers, codes), NUMBER, OTHER))
        kind = tf.where(inside(SPACES, codes), SPACE, kind)
        before, after = (neighbour(kind, rows, distance, -1) for distance in (-1, 1))
        last = neighbour(codes, rows, -1, -1)
        blank = tf.equal(kind, SPACE)
        # White space is a word but for its last character, which is one, too, or begins the word behind it.
        starts = tf.where(
            blank,
            tf.not_equal(before, SPACE) | (after > SPACE),
            tf.not_equal(kind, before) & tf.not_equal(last, ord(" ")),
        )
        apostrophe, joined = starts & tf.equal(codes, ord("'")), tf.zeros_like(codes)
        for ending in ENDINGS:
            same = [tf.equal(neighbour(codes, rows, 1 + at, -1), ord(letter)) for at, letter in enumerate(ending)]
            found = tf.cast(apostrophe & tf.reduce_all(same, axis=0), tf.int32)
            joined += neighbour(found, rows, -1, 0)
            starts |= neighbour(found, rows, -1 - len(ending), 0) > 0
        starts &= joined == 0
        return starts

    def _merged(self, words):
        """The ids of the pieces of different words, ragged."""
        bytes_ = tf.strings.bytes_split(words)
        number = tf.cast(tf.reshape(tf.io.decode_raw(bytes_.flat_values, tf.uint8), [-1]), tf.int32)
        count = tf.cast(bytes_.nrows(), tf.int32)

        def pairs(ids, owner):
            """The rank of the pair that each piece begins; `NEVER` where there is none."""
            behind = neighbour(ids, owner, 1, -1)
            key = tf.cast(ids, tf.int64) * self._size + tf.cast(behind, tf.int64)
            place = tf.minimum(tf.searchsorted(self._keys, key), len(self._keys) - 1)
            known = (behind >= 0) & tf.equal(tf.gather(self._keys, place), key)
            return tf.where(known, tf.gather(self._ranks, place), NEVER)

        def merge(ids, owner, ranks):
            first = tf.gather(tf.math.unsorted_segment_min(ranks, owner, count), owner)
            chosen = tf.equal(ranks, first) & (ranks < NEVER)
            # Of equal pieces in a row, "aaaa", every second one begins a pair.
            place = tf.range(tf.shape(ids)[0])
            others = tf.concat([[-1], tf.cast(tf.where(~chosen)[:, 0], tf.int32)], 0)
            run = place - tf.gather(others, tf.cumsum(tf.cast(~chosen, tf.int32)))
            chosen &= run % 2 == 1
            ids = tf.where(chosen, tf.gather(self._results, tf.where(chosen, ranks, 0)), ids)
            kept = ~tf.concat([[False], chosen[:-1]], 0)
            ids, owner = tf.boolean_mask(ids, kept), tf.boolean_mask(owner, kept)
            return ids, owner, pairs(ids, owner)

        ids, owner = tf.gather(self._bytes, number), tf.cast(bytes_.value_rowids(), tf.int32)
        ids, owner, _ = tf.while_loop(
            lambda ids, owner, ranks: tf.reduce_any(ranks < NEVER),
            merge,
            (ids, owner, pairs(ids, owner)),
            shape_invariants=(tf.TensorShape([None]),) * 3,
        )
        return tf.RaggedTensor.from_value_rowids(ids, tf.cast(owner, tf.int64), nrows=bytes_.nrows())

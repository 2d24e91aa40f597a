"""Tokenizers as TensorFlow operations, for graphs and SavedModels that take and give strings."""

import hashlib
import re

import numpy as np
import tensorflow as tf
import tensorflow_text

from zoo.text.base import PAD, UNK, UNKNOWN
from zoo.text.characters import SPACES
from zoo.text.json_tokenizers import ENDINGS
from zoo.text.tokenizer_files import load_tokenizer
from zoo.text.words import WHITE_SPACE, steps

SPACE, LETTER, NUMBER, OTHER = range(4)  # what a character is
BLANK = 32  # the code of a space
NEVER = np.iinfo("int32").max


class GraphTokenizer(tf.Module):
    """A tokenizer inside a graph: the same bytes give the same ids and the same text as `zoo.text.load_tokenizer`.

    The bytes are a part of the graph, so a SavedModel needs no further file; whoever loads it imports tensorflow_text
    first, which registers the operations.

    Args:
        model_bytes: the file of a tokenizer of any kind (`Tokenizer.model_bytes`).

    Attributes:
        around: what stands around every text.
    """

    def __init__(self, model_bytes: bytes):
        super().__init__()
        tokenizer = load_tokenizer(model_bytes)
        self.around, self._special = tokenizer.around, sorted(tokenizer.special)
        kinds = {"wordpiece": GraphWordPiece, "byte_pairs": GraphBytePairs}
        self._tokenizer = kinds.get(tokenizer.kind, GraphSentencePiece)(tokenizer)

    def encode(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Token ids with what stands around a text.

        Args:
            text: (batch,) string.

        Returns:
            token_ids (batch, time) int32, PAD-padded to the longest row, and lengths (batch,) int32, of all ids.
        """
        return padded(surround(self.pieces(text), self.around))

    def pieces(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Token ids without what stands around: (batch, ragged) int32."""
        return self._tokenizer.encode(text)

    def word_pieces(self, text: tf.Tensor, rule: str = "spaces") -> tuple[tf.RaggedTensor, dict[str, tf.Tensor]]:
        """Token ids of words: each by itself gives its pieces, or UNK if it has none.

        A NUL, which would end the text in the operation that splits, is read as U+0001.

        Args:
            text: (batch,) string.
            rule: what cuts a text into words, see `zoo.text.words`.

        Returns:
            token ids as of `pieces`, and of the words, each (batch, words) int32 and padded with 0: `starts` and
            `ends`, their places in the text, in characters, the end exclusive; `first`, the position of their first
            piece among those of the text; and `word_counts` (batch,).
        """
        text = tf.strings.regex_replace(text, "\\x00", "\x01")
        cut = text
        for pattern, new in steps(rule):
            cut = tf.strings.regex_replace(cut, pattern, new)
        words, *places = tensorflow_text.regex_split_with_offsets(cut, f"[{WHITE_SPACE}]+")
        pieces = self._tokenizer.encode_words(words.flat_values)
        missing = tf.cast(pieces.row_lengths() == 0, tf.int64)
        pieces = tf.concat(
            [pieces, tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(missing)], UNK), missing)], 1
        )
        counts = words.with_flat_values(tf.cast(pieces.row_lengths(), tf.int32))
        joined = words.with_flat_values(pieces).merge_dims(1, 2)
        starts, ends = _places(text, words) if steps(rule) else (_characters(text, place) for place in places)
        words_read = {
            "starts": starts,
            "ends": ends,
            "first": tf.cumsum(counts.to_tensor(), axis=1, exclusive=True),
            "word_counts": tf.cast(words.row_lengths(), tf.int32),
        }
        is_word = tf.sequence_mask(words_read["word_counts"])
        words_read["first"] = tf.where(is_word, words_read["first"], 0)
        return joined, words_read

    def decode(self, token_ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Text of the first `lengths` tokens of each row; PAD, BOS, EOS and other special ids are dropped.

        Args:
            token_ids: (batch, time) int32.
            lengths: (batch,) int32.

        Returns:
            (batch,) string.
        """
        return self._decode_pieces(_make_ragged(token_ids, lengths))

    def decode_after(self, prompt_ids, prompt_lengths, token_ids, lengths) -> tf.Tensor:
        """What `token_ids` add to the text of `prompt_ids`, its leading space included; arguments as of `decode`."""
        prompt = _make_ragged(prompt_ids, prompt_lengths)
        first = tf.strings.length(self._decode_pieces(prompt))
        whole = self._decode_pieces(tf.concat([prompt, _make_ragged(token_ids, lengths)], axis=1))
        size = tf.strings.length(whole)
        return tf.strings.substr(whole, tf.minimum(first, size), size)

    def _decode_pieces(self, ids):
        if self._special:
            shown = tf.reduce_all(tf.not_equal(ids.flat_values[:, None], self._special), axis=1)
            ids = tf.ragged.boolean_mask(ids, ids.with_flat_values(shown))
        return self._tokenizer.decode(ids)


class GraphSentencePiece(tf.Module):
    """The pieces of texts, and texts of pieces, by TensorFlow Text."""

    def __init__(self, tokenizer):
        super().__init__()
        # The kernel shares resources by name: without a name of its own, the second tokenizer of a
        # loaded SavedModel would silently become the first.
        name = f"sentencepiece_{hashlib.sha256(tokenizer.model_bytes).hexdigest()[:16]}"
        # An attribute, so that a SavedModel finds the resource.
        self._made = tensorflow_text.SentencepieceTokenizer(model=tokenizer.model_bytes, name=name)
        self.encode = self.encode_words = self._made.tokenize
        self.decode = self._made.detokenize


def surround(pieces, around):
    """Ragged ids with what stands around a text."""
    sides = (tf.tile(tf.constant([ids], tf.int32), [pieces.nrows(), 1]) for ids in around)
    before, after = (tf.RaggedTensor.from_tensor(side) for side in sides)
    return tf.concat([before, pieces, after], axis=1)


def padded(ids):
    """Ragged ids as `(token_ids, lengths)`, both int32."""
    return tf.cast(ids.to_tensor(default_value=PAD), tf.int32), tf.cast(ids.row_lengths(), tf.int32)


def _make_ragged(token_ids, lengths):
    return tf.RaggedTensor.from_tensor(tf.cast(token_ids, tf.int32), lengths=lengths)


def _characters(text, places):
    """Ragged byte offsets into each text -> offsets in characters, (batch, words) int32."""
    _, bytes_ = tf.strings.unicode_decode_with_offsets(text, "UTF-8")
    begins = bytes_.to_tensor(default_value=tf.int64.max)
    places = tf.cast(places, tf.int64)
    counts = tf.searchsorted(begins, places.to_tensor())  # characters that begin before the place
    return tf.where(tf.sequence_mask(places.row_lengths()), counts, 0)


def _places(text, words):
    """`(starts, ends)` in characters, (batch, words) int32, of ragged words that are a text without its white space."""
    codes, _ = tf.strings.unicode_decode_with_offsets(text, "UTF-8")
    place = tf.ragged.range(tf.cast(codes.row_lengths(), tf.int32))
    place = tf.ragged.boolean_mask(place, codes.with_flat_values(~is_inside(SPACES, codes.flat_values))).to_tensor()
    sizes = words.with_flat_values(tf.strings.length(words.flat_values, unit="UTF8_CHAR")).to_tensor()
    before, place = tf.cumsum(sizes, axis=1, exclusive=True), tf.pad(place, [[0, 0], [0, 1]])
    starts, lasts = (tf.gather(place, at, batch_dims=1) for at in (before, tf.maximum(before + sizes - 1, 0)))
    is_word = sizes > 0
    return tf.where(is_word, starts, 0), tf.where(is_word, lasts + 1, 0)


class GraphWordPiece(tf.Module):
    """`zoo.text.WordPiece`; characters become others by the tables of the tokenizer's file.

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
        codes, rows = self._normalise(*decode_characters(text))
        alone = is_inside(self._alone, codes)
        before = neighbour(codes, rows, -1, BLANK)
        starts = alone | tf.equal(before, BLANK) | is_inside(self._alone, before)
        is_kept = tf.not_equal(codes, BLANK)
        codes, rows, starts = (tf.boolean_mask(each, is_kept) for each in (codes, rows, starts))
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

    def _normalise(self, codes, rows):
        """The code points that become of others, and the texts that they are of."""
        place = tf.minimum(tf.searchsorted(self._from, codes), len(self._from) - 1)
        is_known = tf.equal(tf.gather(self._from, place), codes)
        sizes = tf.where(is_known, tf.gather(self._sizes, place), 1)
        owner = tf.repeat(tf.range(tf.shape(codes)[0]), sizes)
        number = tf.range(tf.shape(owner)[0]) - tf.gather(tf.cumsum(sizes, exclusive=True), owner)
        to = tf.gather(self._begins, tf.gather(place, owner)) + tf.cast(number, self._begins.dtype)
        to = tf.gather(self._to, tf.minimum(to, len(self._to) - 1))
        codes = tf.where(tf.gather(is_known, owner), to, tf.gather(codes, owner))
        is_kept = ~is_inside(self._removed, codes)
        return tf.boolean_mask(codes, is_kept), tf.boolean_mask(tf.gather(rows, owner), is_kept)


class GraphBytePairs(tf.Module):
    """`zoo.text.BytePairs`; neither TensorFlow nor TensorFlow Text has byte-level BPE.

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
        codes, rows = decode_characters(text)
        words, _ = words_of(codes, rows, self._starts(codes, rows), tf.shape(text)[0])
        different, places = tf.unique(words.flat_values)
        return words.with_flat_values(tf.gather(self._merge_pairs(different), places)).merge_dims(1, 2)

    def encode_words(self, words):
        """The same of words, each behind a space."""
        return self.encode(tf.strings.join([" ", words]))

    def decode(self, ids):
        """The texts of ragged ids, none of them special."""
        pieces = tf.ragged.map_flat_values(lambda flat: tf.gather(tf.constant(self._shown), flat), ids)
        return tf.strings.unicode_transcode(tf.strings.reduce_join(pieces, axis=-1), "UTF-8", "UTF-8", errors="replace")

    def _starts(self, codes, rows):
        """Where words begin: (characters,) bool."""
        kind = tf.where(
            is_inside(self._letters, codes), LETTER, tf.where(is_inside(self._numbers, codes), NUMBER, OTHER)
        )
        kind = tf.where(is_inside(SPACES, codes), SPACE, kind)
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
            contracted = tf.cast(apostrophe & tf.reduce_all(same, axis=0), tf.int32)
            joined += neighbour(contracted, rows, -1, 0)
            starts |= neighbour(contracted, rows, -1 - len(ending), 0) > 0
        starts &= joined == 0
        return starts

    def _merge_pairs(self, words):
        """The ids of the pieces of different words, ragged."""
        bytes_ = tf.strings.bytes_split(words)
        number = tf.cast(tf.reshape(tf.io.decode_raw(bytes_.flat_values, tf.uint8), [-1]), tf.int32)
        count = tf.cast(bytes_.nrows(), tf.int32)

        def pairs(ids, owner):
            """The rank of the pair that each piece begins; `NEVER` where there is none."""
            behind = neighbour(ids, owner, 1, -1)
            key = tf.cast(ids, tf.int64) * self._size + tf.cast(behind, tf.int64)
            place = tf.minimum(tf.searchsorted(self._keys, key), len(self._keys) - 1)
            is_known = (behind >= 0) & tf.equal(tf.gather(self._keys, place), key)
            return tf.where(is_known, tf.gather(self._ranks, place), NEVER)

        def merge(ids, owner, ranks):
            first = tf.gather(tf.math.unsorted_segment_min(ranks, owner, count), owner)
            chosen = tf.equal(ranks, first) & (ranks < NEVER)
            # Of equal pieces in a row, "aaaa", every second one begins a pair.
            place = tf.range(tf.shape(ids)[0])
            others = tf.concat([[-1], tf.cast(tf.where(~chosen)[:, 0], tf.int32)], 0)
            run = place - tf.gather(others, tf.cumsum(tf.cast(~chosen, tf.int32)))
            chosen &= run % 2 == 1
            ids = tf.where(chosen, tf.gather(self._results, tf.where(chosen, ranks, 0)), ids)
            is_kept = ~tf.concat([[False], chosen[:-1]], 0)
            ids, owner = tf.boolean_mask(ids, is_kept), tf.boolean_mask(owner, is_kept)
            return ids, owner, pairs(ids, owner)

        ids, owner = tf.gather(self._bytes, number), tf.cast(bytes_.value_rowids(), tf.int32)
        ids, owner, _ = tf.while_loop(
            lambda ids, owner, ranks: tf.reduce_any(ranks < NEVER),
            merge,
            (ids, owner, pairs(ids, owner)),
            shape_invariants=(tf.TensorShape([None]),) * 3,
        )
        return tf.RaggedTensor.from_value_rowids(ids, tf.cast(owner, tf.int64), nrows=bytes_.nrows())


def decode_characters(text):
    """`(codes, rows)` of `(batch,)` texts, both `(characters,)`: every code point, and the text that it is of."""
    codes = tf.strings.unicode_decode(text, "UTF-8")
    return codes.flat_values, codes.value_rowids()


def is_inside(bounds, codes):
    """Whether each code point is in the ranges; see `zoo.text.characters`."""
    return tf.searchsorted(tf.constant(bounds, tf.int32), codes, side="right") % 2 == 1


def neighbour(values, rows, distance, otherwise):
    """The value so many places further on (or before) in the same text, `otherwise` where there is none."""
    shifted = tf.roll(tf.stack([tf.cast(values, tf.int32), tf.cast(rows, tf.int32)]), -distance, axis=1)
    place = tf.range(tf.shape(rows)[0]) + distance
    is_valid = (place >= 0) & (place < tf.shape(rows)[0]) & tf.equal(shifted[1], tf.cast(rows, tf.int32))
    return tf.where(is_valid, shifted[0], otherwise)


def words_of(codes, rows, starts, count):
    """The words that begin where `starts` says: a ragged `(batch, words)` of strings, and the characters of each word.

    Args:
        codes, rows: as of `decode_characters`.
        starts: (characters,) bool; the first character of a text is one.
        count: the number of texts.
    """
    number = tf.cumsum(tf.cast(starts, tf.int64)) - 1
    words = tf.RaggedTensor.from_value_rowids(codes, number, nrows=tf.reduce_sum(tf.cast(starts, tf.int64)))
    strings = tf.strings.unicode_encode(words, "UTF-8")
    whole = tf.RaggedTensor.from_value_rowids(strings, tf.boolean_mask(rows, starts), nrows=tf.cast(count, tf.int64))
    return whole, words.row_lengths()

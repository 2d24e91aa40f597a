"""The tokenizer as TensorFlow operations, for graphs and SavedModels that take and give strings.

Only this file and its neighbours import tensorflow_text; `import zoo.text` does not import it.
"""

import hashlib

import tensorflow as tf
import tensorflow_text

from zoo.text.graph_byte_pairs import GraphBytePairs
from zoo.text.graph_wordpiece import GraphWordPiece
from zoo.text.kinds import load_tokenizer
from zoo.text.special import PAD, UNK

# The property White_Space; tensorflow_text's own WhitespaceTokenizer counts one of several bytes as part of the word.
SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


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
        return padded(put(self.pieces(text), self.around))

    def pieces(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Token ids without what stands around: (batch, ragged) int32."""
        return self._tokenizer.encode(text)

    def word_pieces(self, text: tf.Tensor) -> tuple[tf.RaggedTensor, dict[str, tf.Tensor]]:
        """Token ids of words: each by itself gives its pieces, or UNK if it has none.

        Words are what white space (as Unicode has it) separates. A NUL, which would end the text in the operation that
        splits, is read as U+0001.

        Args:
            text: (batch,) string.

        Returns:
            token ids as of `pieces`, and of the words, each (batch, words) int32 and padded with 0: `starts` and
            `ends`, their places in the text, in characters, the end exclusive; `first`, the position of their first
            piece among those of the text; and `word_counts` (batch,).
        """
        text = tf.strings.regex_replace(text, "\\x00", "\x01")
        words, *places = tensorflow_text.regex_split_with_offsets(text, f"[{SPACES}]+")
        pieces = self._tokenizer.encode_words(words.flat_values)
        missing = tf.cast(pieces.row_lengths() == 0, tf.int64)
        pieces = tf.concat(
            [pieces, tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(missing)], UNK), missing)], 1
        )
        counts = words.with_flat_values(tf.cast(pieces.row_lengths(), tf.int32))
        joined = words.with_flat_values(pieces).merge_dims(1, 2)
        starts, ends = (_characters(text, place) for place in places)
        found = {
            "starts": starts,
            "ends": ends,
            "first": tf.cumsum(counts.to_tensor(), axis=1, exclusive=True),
            "word_counts": tf.cast(words.row_lengths(), tf.int32),
        }
        there = tf.sequence_mask(found["word_counts"])
        found["first"] = tf.where(there, found["first"], 0)
        return joined, found

    def encode_words(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, dict[str, tf.Tensor]]:
        """`word_pieces` with what stands around a text: token_ids and lengths as of `encode`, and the words."""
        pieces, found = self.word_pieces(text)
        there = tf.sequence_mask(found["word_counts"])
        return *padded(put(pieces, self.around)), found | {
            "first": tf.where(there, found["first"] + len(self.around.before), 0)
        }

    def decode(self, token_ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Text of the first `lengths` tokens of each row; PAD, BOS, EOS and other special ids are dropped.

        Args:
            token_ids: (batch, time) int32.
            lengths: (batch,) int32.

        Returns:
            (batch,) string.
        """
        return self._decoded(_ragged(token_ids, lengths))

    def decode_after(self, prompt_ids, prompt_lengths, token_ids, lengths) -> tf.Tensor:
        """What `token_ids` add to the text of `prompt_ids`, its leading space included; arguments as of `decode`."""
        prompt = _ragged(prompt_ids, prompt_lengths)
        first = tf.strings.length(self._decoded(prompt))
        whole = self._decoded(tf.concat([prompt, _ragged(token_ids, lengths)], axis=1))
        size = tf.strings.length(whole)
        return tf.strings.substr(whole, tf.minimum(first, size), size)

    def _decoded(self, ids):
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


def put(pieces, around):
    """Ragged ids with what stands around a text."""
    sides = (tf.tile(tf.constant([ids], tf.int32), [pieces.nrows(), 1]) for ids in around)
    before, after = (tf.RaggedTensor.from_tensor(side) for side in sides)
    return tf.concat([before, pieces, after], axis=1)


def padded(ids):
    """Ragged ids as `(token_ids, lengths)`, both int32."""
    return tf.cast(ids.to_tensor(default_value=PAD), tf.int32), tf.cast(ids.row_lengths(), tf.int32)


def _ragged(token_ids, lengths):
    return tf.RaggedTensor.from_tensor(tf.cast(token_ids, tf.int32), lengths=lengths)


def _characters(text, places):
    """Ragged byte offsets into each text -> offsets in characters, (batch, words) int32."""
    _, bytes_ = tf.strings.unicode_decode_with_offsets(text, "UTF-8")
    begins = bytes_.to_tensor(default_value=tf.int64.max)
    places = tf.cast(places, tf.int64)
    found = tf.searchsorted(begins, places.to_tensor())  # characters that begin before the place
    return tf.where(tf.sequence_mask(places.row_lengths()), found, 0)

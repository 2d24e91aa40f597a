"""The tokenizer as TensorFlow operations, for graphs and SavedModels that take and give strings.

The only file of the zoo that imports tensorflow_text; `import zoo.text` does not import it.
"""

import hashlib

import tensorflow as tf
import tensorflow_text

from zoo.text.special import EOS, PAD, UNK

# The property White_Space; tensorflow_text's own WhitespaceTokenizer counts one of several bytes as part of the word.
SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


class GraphTokenizer(tf.Module):
    """`Tokenizer` inside a graph: the same model bytes give the same ids and the same text.

    The bytes are an attribute of an operation of the graph, so a SavedModel needs no further file;
    whoever loads it imports tensorflow_text first, which registers the operations.

    Args:
        model_bytes: a serialised SentencePiece model with the zoo's special ids
            (`Tokenizer.model_bytes`).
    """

    def __init__(self, model_bytes: bytes):
        super().__init__()
        # The kernel shares resources by name: without a name of its own, the second tokenizer of a
        # loaded SavedModel would silently become the first.
        name = f"sentencepiece_{hashlib.sha256(model_bytes).hexdigest()[:16]}"
        self._tokenizer = tensorflow_text.SentencepieceTokenizer(model=model_bytes, name=name)

    def encode(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Token ids with EOS appended, as every source of the zoo has it.

        Args:
            text: (batch,) string.

        Returns:
            token_ids (batch, time) int32, PAD-padded to the longest row, and lengths (batch,)
            int32, EOS counted.
        """
        return _ended(self._tokenizer.tokenize(text))

    def encode_words(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, dict[str, tf.Tensor]]:
        """Token ids of words: each by itself gives its pieces, or UNK if it has none; EOS ends them all.

        Words are what white space (as Unicode has it) separates. A NUL, which would end the text in the operation that
        splits, is read as U+0001.

        Args:
            text: (batch,) string.

        Returns:
            token_ids and lengths as `encode`, and of the words, each (batch, words) int32 and padded with 0: `starts`
            and `ends`, their places in the text, in characters, the end exclusive; `first`, the position of their first
            piece; and `word_counts` (batch,).
        """
        text = tf.strings.regex_replace(text, "\\x00", "\x01")
        words, *places = tensorflow_text.regex_split_with_offsets(text, f"[{SPACES}]+")
        pieces = self._tokenizer.tokenize(words.flat_values)
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
        return *_ended(joined), found

    def decode(self, token_ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Text of the first `lengths` tokens of each row; PAD, BOS and EOS are dropped.

        Args:
            token_ids: (batch, time) int32.
            lengths: (batch,) int32.

        Returns:
            (batch,) string.
        """
        return self._tokenizer.detokenize(_ragged(token_ids, lengths))

    def decode_after(self, prompt_ids, prompt_lengths, token_ids, lengths) -> tf.Tensor:
        """What `token_ids` add to the text of `prompt_ids`, its leading space included; arguments as of `decode`."""
        prompt = _ragged(prompt_ids, prompt_lengths)
        first = tf.strings.length(self._tokenizer.detokenize(prompt))
        whole = self._tokenizer.detokenize(tf.concat([prompt, _ragged(token_ids, lengths)], axis=1))
        size = tf.strings.length(whole)
        return tf.strings.substr(whole, tf.minimum(first, size), size)


def _ragged(token_ids, lengths):
    return tf.RaggedTensor.from_tensor(tf.cast(token_ids, tf.int32), lengths=lengths)


def _ended(pieces):
    """Ragged ids with EOS behind them -> `(token_ids, lengths)`, padded."""
    end = tf.fill([pieces.nrows(), 1], EOS)
    pieces = tf.concat([pieces, tf.RaggedTensor.from_tensor(end)], axis=1)
    return tf.cast(pieces.to_tensor(default_value=PAD), tf.int32), tf.cast(pieces.row_lengths(), tf.int32)


def _characters(text, places):
    """Ragged byte offsets into each text -> offsets in characters, (batch, words) int32."""
    _, bytes_ = tf.strings.unicode_decode_with_offsets(text, "UTF-8")
    begins = bytes_.to_tensor(default_value=tf.int64.max)
    places = tf.cast(places, tf.int64)
    found = tf.searchsorted(begins, places.to_tensor())  # characters that begin before the place
    return tf.where(tf.sequence_mask(places.row_lengths()), found, 0)

"""`serving.runtime.reading.Bound` in TensorFlow operations, for the texts that a SavedModel is given.

A graph cannot refuse one row of a batch by raising an error, because then the other rows would have no answer either.
So a text that is refused has a blank answer, and the outputs `errors` and `warnings` say why.
"""

from dataclasses import dataclass, replace

import tensorflow as tf

from serving.export.doubt import filled, joined, unknown
from serving.runtime.words import SPACES
from zoo.text.special import EOS, PAD


@dataclass
class Gated:
    """Texts that will be tokenised, with their errors and warnings; each field is `(batch,)`."""

    text: tf.Tensor
    counts: tf.Tensor  # characters of the whole text
    cut: tf.Tensor  # whether `text` is only a part of the whole text
    errors: tf.Tensor
    warnings: tf.Tensor


def clip(bound, text):
    """The texts as `Gated`: cut to the largest number of characters that is tokenised, and blank if not UTF-8."""
    valid = tf.equal(text, tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace"))
    text = tf.where(valid, text, "")
    counts = tf.strings.length(text, unit="UTF8_CHAR")
    most = bound.max_characters
    long = counts > most
    if bound.side == "first":
        long &= ~is_blank(text)
    errors = tf.where(valid, "", "not UTF-8")
    refused = long & (bound.overlong == "refuse")
    errors = tf.where(refused, filled(lambda count: bound.too_many(count, "characters"), counts), errors)
    first = counts - most if bound.side == "last" else tf.zeros_like(counts)
    part = tf.strings.substr(text, tf.maximum(first, 0), tf.fill(tf.shape(counts), most), unit="UTF8_CHAR")
    text = tf.where(counts > most, part, text)
    return Gated(tf.where(refused, "", text), counts, long & ~refused, errors, tf.zeros_like(errors))


def limit(bound, gated, token_ids, lengths, ends=1):
    """`(ids, lengths, gated)`: the ids within the bound, and `gated` with the errors and warnings that this adds.

    Args:
        bound: `serving.runtime.reading.Bound`.
        gated: the texts that were tokenised.
        token_ids: (batch, time), with EOS at the end of every row.
        lengths: (batch,), including EOS.
        ends: 1 if the model reads the EOS, too, or 0.
    """
    ids, read, limited = _limit(bound, gated, token_ids, lengths, ends)
    return ids, read, replace(limited, warnings=joined(limited.warnings, unknown(ids, read, ends)))


def _limit(bound, gated, token_ids, lengths, ends):
    """The same without a look at the pieces."""
    lengths = lengths + ends - 1
    most, over = bound.max_input, lengths > bound.max_input
    found = tf.where(gated.cut, gated.counts, lengths)
    refused = over & (bound.overlong == "refuse")
    errors = tf.where(refused, filled(lambda count: bound.too_many(count, "tokens"), lengths), gated.errors)
    read = tf.where(tf.equal(errors, ""), tf.minimum(lengths, most), ends)
    warned = tf.equal(errors, "") & (over | gated.cut)
    unit = tf.where(gated.cut, "characters", "tokens")
    warnings = tf.where(warned, filled(bound.only, read, found, unit), "")
    first = tf.where(over & warned, lengths - most, 0) if bound.side == "last" else tf.zeros_like(lengths)
    time = tf.maximum(tf.reduce_max(tf.concat([read, [1]], 0)), 1)
    position = tf.range(time)[None, :]
    width = tf.maximum(tf.shape(token_ids)[1], 1)
    padded = tf.pad(token_ids, [[0, 0], [0, width - tf.shape(token_ids)[1]]])
    ids = tf.gather(padded, tf.minimum(position + first[:, None], width - 1), batch_dims=1)
    if ends:
        ids = tf.where(tf.equal(position, read[:, None] - 1), EOS, ids)
    ids = tf.where(position < read[:, None], ids, PAD)
    return ids, read, replace(gated, errors=errors, warnings=warnings)


def limit_words(bound, gated, token_ids, lengths, found):
    """As `limit`, for texts whose words are encoded separately; a word is read as a whole or not at all.

    Args:
        bound, gated, token_ids, lengths: as of `limit`.
        found: the words, a dict from `GraphTokenizer.encode_words`. The last result is this dict for the words that
            are read.
    """
    _, _, limited = _limit(bound, gated, token_ids, lengths, ends=1)
    counts = found["word_counts"]
    number = tf.range(tf.shape(found["first"])[1])[None, :]
    following = tf.pad(found["first"][:, 1:], [[0, 0], [0, 1]])[:, : tf.shape(found["first"])[1]]
    word_ends = tf.where(number < counts[:, None] - 1, following, lengths[:, None] - 1)
    kept = (number < counts[:, None]) & (word_ends < bound.max_input) & tf.equal(limited.errors, "")[:, None]
    read = 1 + tf.reduce_max(tf.where(kept, word_ends, 0), axis=1)
    counts = tf.reduce_sum(tf.cast(kept, tf.int32), axis=1)
    warned = tf.not_equal(limited.warnings, "")
    unit, whole = tf.where(gated.cut, "characters", "tokens"), tf.where(gated.cut, gated.counts, lengths)
    warnings = tf.where(warned, filled(bound.only, read, whole, unit), "")
    time = tf.reduce_max(tf.concat([read, [1]], 0))
    position = tf.range(time)[None, :]
    ids = tf.where(position < read[:, None] - 1, token_ids[:, :time], PAD)
    ids = tf.where(tf.equal(position, read[:, None] - 1), EOS, ids)
    warnings = joined(warnings, unknown(ids, read, 1))
    width = tf.reduce_max(tf.concat([counts, [0]], 0))
    kept = tf.sequence_mask(counts, width)
    words = {name: tf.where(kept, found[name][:, :width], 0) for name in ("starts", "ends", "first")}
    return ids, read, replace(limited, warnings=warnings), {**words, "word_counts": counts}


def is_blank(text):
    """Whether each text is empty or consists of white space."""
    return tf.strings.regex_full_match(text, f"[{SPACES}]*")

"""`serving.runtime.reading.Bound` and `serving.runtime.doubt` in TensorFlow operations, for the texts of a SavedModel.

A graph cannot refuse one row of a batch by raising an error, because then the other rows would have no answer either.
So a text that is refused has a blank answer, and the outputs `errors` and `warnings` say why.
"""

from dataclasses import dataclass, replace

import tensorflow as tf

from serving.export.graph_tokenizers import padded, surround
from serving.runtime import doubt
from serving.runtime.reading import SPACES
from zoo.text.base import UNK


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
    errors = tf.where(refused, fill(lambda count: bound.overlong_error(count, "characters"), counts), errors)
    first = counts - most if bound.side == "last" else tf.zeros_like(counts)
    part = tf.strings.substr(text, tf.maximum(first, 0), tf.fill(tf.shape(counts), most), unit="UTF8_CHAR")
    text = tf.where(counts > most, part, text)
    return Gated(tf.where(refused, "", text), counts, long & ~refused, errors, tf.zeros_like(errors))


def limit(bound, gated, pieces, around):
    """`(ids, lengths, gated)`: the ids within the bound, and `gated` with the errors and warnings that this adds.

    Args:
        bound: `serving.runtime.reading.Bound`.
        gated: the texts that were tokenised.
        pieces: their own token ids, ragged.
        around: the `zoo.text.Around` of each text; it is kept whole, whatever is cut.
    """
    counts = tf.cast(pieces.row_lengths(), tf.int32)
    lengths = counts + around.size
    gated = _refuse(bound, gated, lengths)
    kept = tf.where(tf.equal(gated.errors, ""), tf.minimum(counts, max(bound.max_input - around.size, 0)), 0)
    ids, read = _cut(pieces, counts - kept if bound.side == "last" else tf.zeros_like(counts), kept, around)
    return ids, read, _warn(bound, gated, lengths, ids, read, around)


def _refuse(bound, gated, lengths):
    """`gated` with the errors of texts that have too many ids."""
    refused = (lengths > bound.max_input) & (bound.overlong == "refuse")
    errors = tf.where(refused, fill(lambda count: bound.overlong_error(count, "tokens"), lengths), gated.errors)
    return replace(gated, errors=errors)


def _warn(bound, gated, lengths, ids, read, around):
    """`gated` with the warnings about what is not read of texts with these numbers of ids, and about unknown pieces."""
    is_part = tf.equal(gated.errors, "") & (gated.cut | (lengths > bound.max_input))
    whole, unit = tf.where(gated.cut, gated.counts, lengths), tf.where(gated.cut, "characters", "tokens")
    warnings = tf.where(is_part, fill(bound.cut_warning, read, whole, unit), "")
    return replace(gated, warnings=join(warnings, unknown_warning(ids, read, around.size)))


def _cut(pieces, first, count, around):
    """So many of the ragged ids of each text, from the place `first` on, with what stands around them."""
    place, rows = tf.ragged.range(tf.cast(pieces.row_lengths(), tf.int32)).flat_values, pieces.value_rowids()
    first, count = tf.gather(first, rows), tf.gather(count, rows)
    is_kept = pieces.with_flat_values((place >= first) & (place < first + count))
    ids, lengths = padded(surround(tf.ragged.boolean_mask(pieces, is_kept), around))
    return tf.pad(ids, [[0, 0], [0, tf.maximum(1 - tf.shape(ids)[1], 0)]]), lengths


def limit_words(bound, gated, pieces, words_read, around):
    """As `limit`, for texts whose words are encoded separately; a word is read as a whole or not at all.

    Args:
        bound, gated, pieces, around: as of `limit`.
        words_read: the words, a dict from `GraphTokenizer.word_pieces`. The last result is this dict for the words that
            are read, `first` by its place among all ids.
    """
    own = tf.cast(pieces.row_lengths(), tf.int32)
    gated = _refuse(bound, gated, own + around.size)
    first, counts = words_read["first"], words_read["word_counts"]
    number = tf.range(tf.shape(first)[1])[None, :]
    following = tf.pad(first[:, 1:], [[0, 0], [0, 1]])[:, : tf.shape(first)[1]]
    word_ends = tf.where(number < counts[:, None] - 1, following, own[:, None])
    fits = (word_ends + around.size <= bound.max_input) & tf.equal(gated.errors, "")[:, None]
    is_kept = fits & (number < counts[:, None])
    counts = tf.reduce_sum(tf.cast(is_kept, tf.int32), axis=1)
    last = tf.maximum(tf.reduce_max(tf.where(is_kept, word_ends, 0), axis=1), 0)
    ids, read = _cut(pieces, tf.zeros_like(last), last, around)
    width = tf.reduce_max(tf.concat([counts, [0]], 0))
    is_kept, before = tf.sequence_mask(counts, width), len(around.before)
    words = {
        name: tf.where(is_kept, words_read[name][:, :width] + more, 0)
        for name, more in {"starts": 0, "ends": 0, "first": before}.items()
    }
    gated = _warn(bound, gated, own + around.size, ids, read, around)
    return ids, read, gated, {**words, "word_counts": counts}


def is_blank(text):
    """Whether each text is empty or consists of white space."""
    return tf.strings.regex_full_match(text, f"[{SPACES}]*")


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

"""Models that give a tag to each word of a text."""

import numpy as np
import tensorflow as tf

from serving.export import gate
from serving.export.kinds.base import remarks, row
from serving.export.kinds.reader import Reader
from zoo.scores.transitions import NEVER, likeliest_tags, transitions


class Tag(Reader):
    """A model that gives a tag to each word of a text."""

    names = ("tag",)

    def facts(self):
        return super().facts() | ({"words": self.settings.words} if self.settings.words != "spaces" else {})

    def strings(self, tokenizers, text):
        clipped = gate.clip(self.bound, text)
        pieces, around = tokenizers[0].word_pieces(clipped.text, self.settings.words), self.around(tokenizers[0])
        token_ids, lengths, gated, words = gate.limit_words(self.bound, clipped, *pieces, around)
        all_ = self.functions[self.name].traced(token_ids, lengths)["probabilities"]
        first = tf.gather(all_, words["first"], batch_dims=1)
        is_word = tf.sequence_mask(words["word_counts"], tf.shape(words["first"])[1])
        allowed = transitions(self.settings.labels)
        best = tf.argmax(first, axis=-1) if allowed is None else likeliest_in_graph(first, is_word, allowed)
        return {
            "tags": tf.where(is_word, tf.gather(tf.constant(self.settings.labels), best), ""),
            "scores": tf.where(is_word, tf.gather(first, best, batch_dims=2), 0.0),
            **{name: words[name] for name in ("starts", "ends", "word_counts")},
            "errors": gated.errors,
            "warnings": gated.warnings,
        }

    def graph_inputs(self, tokenizers, text):
        reading = self._reading(tokenizers, text)
        return row(reading.ids) if reading.places else None

    def answer(self, tokenizers, text):
        reading = self._reading(tokenizers, text)
        chosen = np.zeros((0, len(self.settings.labels)), "float32")
        if reading.places:
            chosen = self.ask_row(row(reading.ids))[np.array(reading.first)]
        best, scores = likeliest_tags(chosen, transitions(self.settings.labels))
        return {
            "tags": np.array(self.settings.labels)[best],
            "scores": scores,
            "starts": np.array([start for start, _ in reading.places], "int32"),
            "ends": np.array([end for _, end in reading.places], "int32"),
            "word_counts": np.array(len(reading.places), "int32"),
            **remarks(reading),
        }

    def _reading(self, tokenizers, text):
        """The `Reading` of one text and of its words."""
        around, rule = self.around(tokenizers[0]), self.settings.words
        (reading,) = self.bound.read_words([text], tokenizers[0].encode_words, around, rule=rule)
        return reading


def likeliest_in_graph(probabilities, is_word, allowed):
    """The ids of the likeliest allowed tags of each row: `zoo.scores.transitions.likeliest` in TensorFlow.

    Args:
        probabilities: `(batch, words, tags)`.
        is_word: `(batch, words)`, whether there is such a word; rows are filled from the left.
        allowed: the `zoo.scores.transitions.Transitions`.

    Returns:
        `(batch, words)` int64; of no meaning where there is no word.
    """
    words, last = tf.shape(is_word)[1], ((0, 0), (0, 2))  # two words that are not there, so that no list is empty
    is_word = tf.pad(is_word, last)
    scores = tf.pad(tf.maximum(tf.math.log(tf.cast(probabilities, "float64")), NEVER), (*last, (0, 0)))
    steps, begins, ends = (
        tf.where(each, tf.constant(0.0, "float64"), tf.constant(float("-inf"), "float64"))
        for each in (allowed.follows, allowed.begins, allowed.ends)
    )
    count = tf.shape(scores)[2]
    stays = tf.broadcast_to(tf.range(count, dtype="int64"), tf.shape(scores)[::2])
    by_word = tf.transpose(scores, (1, 0, 2)), tf.transpose(is_word)

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

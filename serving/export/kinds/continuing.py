"""Models that continue a prompt."""

import numpy as np
import tensorflow as tf

from serving.export.kinds.base import row
from serving.export.kinds.writing import Generate, with_bos
from serving.export.signatures import text_scoring
from serving.runtime.doubt import add_doubts
from serving.runtime.reading import DEFAULT


class Continue(Generate):
    """A model that continues a prompt. The prompt has no EOS; the model puts BOS in front of it."""

    names = ("continue",)
    text_graph = None
    sides = ("source",)
    remembers = False
    first = ("sample", "score")
    scoring = staticmethod(text_scoring)
    score_graph = "score.onnx"  # the probability of a text is how a language model is evaluated
    overlong = "truncate"  # the model continues from the end of its prompt

    def longest_input(self):
        return self.model.longest_prompt

    @property
    def max_ids(self):
        return max(DEFAULT, self.longest_text)

    @property
    def longest_text(self):
        """The largest number of tokens of a text that is scored, behind BOS: what the model has positions for."""
        return self.model.longest_text - 1 if self.model.longest_text else max(DEFAULT, self.bound.max_input)

    @property
    def target_time(self):
        """Behind the longest prompt there are positions for no more."""
        room = self.model.longest_text and self.longest_text - self.model.longest_prompt
        return min(super().target_time, room or super().target_time)

    def most_columns(self, function, name):
        """A text that is scored is read as a whole, unlike a prompt, of which the end is enough."""
        return self.longest_text if function == "score" else super().most_columns(function, name)

    def around(self, tokenizer):
        """Nothing stands behind a prompt, for the text goes on."""
        return tokenizer.around._replace(after=())

    def strings(self, tokenizers, text):
        (tokenizer,) = tokenizers
        token_ids, lengths, gated, _ = self.read_in_graph(tokenizer, text)
        results = self.functions["tokens"].traced(token_ids, lengths)
        best, length = results["output_ids"][:, 0], results["output_lengths"][:, 0]
        output = tokenizer.decode_after(token_ids, lengths, best, length)
        return self._compose_answers(output, results, tf.equal(gated.errors, ""), gated)

    def graph_inputs(self, tokenizers, text):
        reading = self.read(tokenizers[0], text)
        return row(reading.ids) if reading.ids else None

    def answer(self, tokenizers, text):
        (tokenizer,) = tokenizers
        reading = self.read(tokenizer, text)
        if reading.error:
            return self._outputs("", np.float32(0), reading)
        results, written = self._best(reading.ids)
        reading = add_doubts(reading, written)
        prompt, whole = tokenizer.decode([reading.ids, [*reading.ids, *written]])
        return self._outputs(whole[len(prompt) :], results["scores"][0, 0], reading)

    def score_inputs(self, source, target_ids, target_lengths):
        token_ids = source["token_ids"][:, : self.most_columns("score", "token_ids")]
        return {"token_ids": token_ids, "lengths": np.minimum(source["lengths"], token_ids.shape[1])}

    def facts(self):
        return super().facts() | {"longest_text": self.longest_text}

    def forced_logits(self, token_ids, lengths, target_ids):
        """The logits in one pass, in which the target of each row follows its own prompt directly."""
        most = self.model.longest_prompt
        ends = np.minimum(lengths, most or lengths)
        texts = np.zeros((len(ends), ends.max() + target_ids.shape[1]), "int32")
        for text, prompt, length, end, target in zip(texts, token_ids, lengths, ends, target_ids, strict=True):
            text[: end + len(target)] = [*prompt[length - end : length], *target]
        logits = self._teach(token_ids=with_bos(texts))["logits"]
        steps = np.arange(target_ids.shape[1] + 1)
        return {"logits": logits[np.arange(len(ends))[:, None], ends[:, None] + steps]}

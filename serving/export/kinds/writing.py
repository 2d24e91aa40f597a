"""Models that write text: an output for a source (`Generate`) or the continuation of a prompt (`Continue`)."""

import dataclasses

import numpy as np
import tensorflow as tf

from serving.export import gate
from serving.export.driver import driver
from serving.export.kinds.base import ExportedFunction, Kind, remarks, row
from serving.export.kinds.narrowed import facts, narrowed, signature_of
from serving.export.parity.grid import FIRST_WORD, grid
from serving.export.rules import rule_inputs
from serving.export.signatures import generation, ruled, sampling, scoring, text_scoring
from serving.runtime.reading import DEFAULT, is_answered
from zoo.core.protocols import Depth
from zoo.models import Ensemble
from zoo.text.special import BOS, EOS

RULED = "tokens_rules"  # the search of "tokens", whose rules are given row by row
TARGET_TIME = 5


def writers(model):
    """The models that write: the members of an ensemble, or the model itself."""
    return model.members if isinstance(model, Ensemble) else [model]


def approximates(model):
    """Whether a pass over a whole target only approximates the steps of the search, as hashing does."""
    return Depth.of(model.decoder).approximate


class Generate(Kind):
    """A model that writes an output for a source, such as a translation."""

    name = "generate"
    sides = ("source", "target")
    remembers = True  # whether a decoding step reads a memory
    scoring = staticmethod(scoring)
    score_graph = None
    target_time = TARGET_TIME  # tokens after which steps are compared, in the parity check
    _teacher = None

    def make_functions(self):
        model, settings = self.model, self.settings
        most, alpha = settings.max_length, settings.alpha
        model.start(model.encode(np.zeros((1, 1), "int32"), np.ones(1, "int32")), 1, most)  # refuses a long max_length
        sizes, rules = {"output_time": most}, ruled(settings.rules, prompts=not self.remembers)

        def search(name, beams, **kwargs):
            table = self.table("greedy" if beams == 1 else "tokens").fix(beams=beams, **sizes)
            function = generation(model, beams, most, alpha, growing=not kwargs.get("xla"), rules=rules)
            if kwargs.get("graph"):
                table = self._with_rules(table)
            return ExportedFunction(dataclasses.replace(table, name=name), function, **kwargs)

        searches = [
            search(name, beams, graph=graph_name(beams, settings), int8=True, saved=name in ("greedy", "tokens"))
            for name, beams in {"greedy": 1, "tokens": settings.beams[0], **self._more_beams()}.items()
        ]
        if settings.xla:
            searches.append(search("tokens_xla", settings.beams[0], xla=True))
        default = searches[1]
        given = tuple(dataclasses.replace(spec, default=None) for spec in default.signature.inputs)
        asked = dataclasses.replace(default.signature, name=RULED, inputs=given)
        searches.append(dataclasses.replace(default, signature=asked, saved=True))
        sample = self._with_rules(self.table("sample").fix(samples=1, **sizes))
        pair = driver(model, self.remembers)
        return [
            *searches,
            *narrowed(model, settings, rules, searches),
            ExportedFunction(sample, sampling(model, most, rules), "sample.onnx", int8=True),
            ExportedFunction(self.table("score"), self.scoring(model), self.score_graph, int8=True),
            ExportedFunction(*pair["encode"], "encoder.onnx", saved=False),
            ExportedFunction(*pair["step"], "step.onnx", saved=False),
        ]

    def _with_rules(self, table):
        """The table with the rules of a search as inputs that need not be given."""
        return dataclasses.replace(table, inputs=(*table.inputs, *rule_inputs(self.settings.rules, not self.remembers)))

    def _more_beams(self):
        return {f"tokens_beam{beams}": beams for beams in self.settings.beams[1:] if beams > 1}

    def strings(self, tokenizers, text):
        source, target = tokenizers
        token_ids, lengths, gated, answered = self.gated(source, text)
        found = self.functions["tokens"].traced(token_ids, lengths)
        output = target.decode(found["output_ids"][:, 0], found["output_lengths"][:, 0])
        return self._written(output, found, answered, gated)

    def _written(self, output, found, answered, gated):
        """The answers in TensorFlow; a text that is not `answered`, because it is blank or refused, has a blank one."""
        return {
            "output_text": tf.where(answered, output, ""),
            "scores": tf.where(answered, found["scores"][:, 0], 0.0),
            "errors": gated.errors,
            "warnings": gated.warnings,
        }

    def answer(self, tokenizers, text):
        source, target = tokenizers
        reading = self.read(source, text)
        if not is_answered(reading):
            return self._outputs("", np.float32(0), reading)
        found, written = self._best(reading.ids)
        return self._outputs(target.decode([written])[0], found["scores"][0, 0], reading)

    @staticmethod
    def _outputs(text, score, reading):
        return {"output_text": np.array(text), "scores": score, **remarks(reading)}

    def _best(self, ids):
        """The results of the function "tokens" for `ids`, and the ids of its best output."""
        found = self.ask("tokens", **row(ids))
        return found, found["output_ids"][0, 0, : found["output_lengths"][0, 0]].tolist()

    def cases(self, vocabularies):
        for name, inputs in self._cases(vocabularies):
            yield name, inputs
            if signature_of(name) in self.functions:
                yield signature_of(name), inputs

    def _cases(self, vocabularies):
        rng = np.random.default_rng(1)
        for number, source in enumerate(grid(vocabularies[0], most=self.max_ids)):
            batch = len(source["lengths"])
            target = rng.integers(FIRST_WORD, vocabularies[-1], (batch, self.target_time)).astype("int32")
            yield "greedy", source
            yield "encode", source
            yield "drive", {**source, "target_ids": target}
            yield "score", self.scored(source, target, rng.integers(0, self.target_time + 1, batch).astype("int32"))
            if number % 2:
                for name in ("tokens", *self._more_beams()):
                    yield name, source
            if number % 4 == 1:
                shape = batch, 1, self.settings.max_length
                yield (
                    "sample",
                    {
                        **source,
                        "uniforms": rng.random(shape, "float32"),
                        "temperature": rng.choice([0.5, 1.0, 1.5], batch).astype("float32"),
                        "top_k": rng.choice([0, 3, 10], batch).astype("int32"),
                        "top_p": rng.choice([0.5, 0.9, 1.0], batch).astype("float32"),
                    },
                )
            if number == 1 and self.settings.xla:
                yield "tokens_xla", source

    def scored(self, source, target_ids, target_lengths):
        return {
            "source_ids": source["token_ids"],
            "source_lengths": source["lengths"],
            "target_ids": target_ids,
            "target_lengths": target_lengths,
        }

    def expected_logits(self, token_ids, lengths, target_ids):
        """The logits before each token of `target_ids` and after the last, with which the exported steps are compared.

        They are computed in one pass of the whole model, or step by step if a pass only approximates the steps, as with
        LSH attention.
        """
        look = self._stepped if any(map(approximates, writers(self.model))) else self.forced
        return look(token_ids=token_ids, lengths=lengths, target_ids=target_ids)

    def _stepped(self, token_ids, lengths, target_ids):
        memory = self.model.encode(token_ids, lengths)
        token, state = self.model.start(memory)
        found = []
        for following in [*target_ids.T[:, :, None], None]:
            logits, state = self.model.step(token, state, memory)
            found.append(np.asarray(logits)[:, 0])
            token = following
        return {"logits": np.stack(found, axis=1)}

    def forced(self, token_ids, lengths, target_ids):
        """The logits in one pass."""
        return self._teach(source_ids=token_ids, source_lengths=lengths, target_ids=with_bos(target_ids))

    def _teach(self, **inputs):
        """Logits of the whole model, which is traced once for all shapes."""
        if self._teacher is None:
            specs = {name: tf.TensorSpec([None] * value.ndim, "int32", name) for name, value in inputs.items()}
            function = tf.function(lambda **inputs: self.model(inputs, training=False), autograph=False)
            self._teacher = function.get_concrete_function(**specs)
        return {"logits": self._teacher(**{name: tf.constant(value) for name, value in inputs.items()}).numpy()}

    def gap(self, inputs, outputs, otherwise):
        if otherwise.output != "output_ids" or "token_ids" not in inputs:
            return None
        beam, place = otherwise.place
        source = {name: inputs[name] for name in ("token_ids", "lengths")}
        logits = self.expected_logits(**source, target_ids=outputs["output_ids"][:, beam, :place])["logits"][0, -1]
        expected, received = (logits[token or EOS] for token in (otherwise.expected, otherwise.received))
        return abs(float(expected - received))

    def facts(self):
        settings, step = self.settings, self.functions["step"].signature
        generation = {str(beams): graph_name(beams, settings) for beams in sorted({1, *settings.beams})}
        own = {
            "generation": generation,
            "default_beam": settings.beams[0],
            "max_length": settings.max_length,
            "alpha": settings.alpha,
            "rules": settings.rules,
            "step": {side: [spec.name for spec in getattr(step, side)] for side in ("inputs", "outputs")},
        }
        return super().facts() | facts(settings.shortlist, generation) | own


class Continue(Generate):
    """A model that continues a prompt. The prompt has no EOS; the model puts BOS in front of it."""

    name = "continue"
    sides = ("source",)
    remembers = False
    scoring = staticmethod(text_scoring)
    score_graph = "score.onnx"  # the probability of a text is how a language model is evaluated
    side, overlong = "last", "truncate"  # the model continues from the end of its prompt

    def longest_input(self):
        return self.model.longest_prompt

    @property
    def max_ids(self):
        return max(DEFAULT, self.bound.max_input, self.longest_text or 0)

    @property
    def longest_text(self):
        """The largest number of tokens of a text behind BOS, prompt and all, or None if there is no bound."""
        return self.model.longest_text and self.model.longest_text - 1

    @property
    def target_time(self):
        """Behind the longest prompt there are positions for no more."""
        room = self.longest_text and self.longest_text - self.model.longest_prompt
        return min(super().target_time, room or super().target_time)

    def most_columns(self, function, name):
        """A text that is scored is read as a whole, unlike a prompt, of which the end is enough."""
        bounded = function == "score" and self.longest_text
        return self.longest_text if bounded else super().most_columns(function, name)

    def strings(self, tokenizers, text):
        (tokenizer,) = tokenizers
        clipped = gate.clip(self.bound, text)
        token_ids, lengths, gated = gate.limit(self.bound, clipped, *tokenizer.encode(clipped.text), ends=0)
        found = self.functions["tokens"].traced(token_ids, lengths)
        best, length = found["output_ids"][:, 0], found["output_lengths"][:, 0]
        output = tokenizer.decode_after(token_ids, lengths, best, length)
        return self._written(output, found, tf.equal(gated.errors, ""), gated)

    def fed(self, tokenizers, text):
        reading = self.read(tokenizers[0], text, ends=0)
        return row(reading.ids) if reading.ids else None

    def answer(self, tokenizers, text):
        (tokenizer,) = tokenizers
        reading = self.read(tokenizer, text, ends=0)
        if reading.error:
            return self._outputs("", np.float32(0), reading)
        found, written = self._best(reading.ids)
        prompt, whole = tokenizer.decode([reading.ids, [*reading.ids, *written]])
        return self._outputs(whole[len(prompt) :], found["scores"][0, 0], reading)

    def scored(self, source, target_ids, target_lengths):
        token_ids = source["token_ids"][:, : self.most_columns("score", "token_ids")]
        return {"token_ids": token_ids, "lengths": np.minimum(source["lengths"], token_ids.shape[1])}

    def facts(self):
        return super().facts() | {"longest_text": self.longest_text}

    def forced(self, token_ids, lengths, target_ids):
        """The logits in one pass, in which the target of each row follows its own prompt directly."""
        most = self.model.longest_prompt
        ends = np.minimum(lengths, most or lengths)
        texts = np.zeros((len(ends), ends.max() + target_ids.shape[1]), "int32")
        for text, prompt, length, end, target in zip(texts, token_ids, lengths, ends, target_ids, strict=True):
            text[: end + len(target)] = [*prompt[length - end : length], *target]
        found = self._teach(token_ids=with_bos(texts))["logits"]
        steps = np.arange(target_ids.shape[1] + 1)
        return {"logits": found[np.arange(len(ends))[:, None], ends[:, None] + steps]}


def with_bos(token_ids):
    return np.pad(token_ids, ((0, 0), (1, 0)), constant_values=BOS)


def graph_name(beams, settings):
    if beams == 1:
        return "greedy.onnx"
    return "model.onnx" if beams == settings.beams[0] else f"model.beam{beams}.onnx"

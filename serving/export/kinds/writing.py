"""Models that write an output for a source."""

import dataclasses

import numpy as np
import tensorflow as tf

from serving.export import gate
from serving.export.kinds.base import FIRST_WORD, ExportedFunction, Kind, by_graph, grid, remarks, row
from serving.export.signatures import driver, generation, make_rules, sampling, scoring, shortlist_search
from serving.kinds.rules import INPUTS, RULES, length_bound, names as rule_names
from serving.runtime.doubt import add_doubts
from serving.runtime.manifest_format import shortlist_name
from serving.runtime.reading import is_answered
from zoo.core.protocols import Depth
from zoo.core.signatures import TensorSpec
from zoo.decoding.beam import uncovered
from zoo.decoding.rules import DTYPES, OFF
from zoo.models import Ensemble
from zoo.text.base import BOS, EOS

RULED = "tokens_rules"  # the search of "tokens", whose rules are given row by row
TARGET_TIME = 5
RULE_AXES = {"forced_tokens": ("places",), "bad_words": ("words", "pieces")}  # besides that of the rows


def over_shortlist(name):
    """The name of the signature of a search over a shortlist."""
    return f"{name}_shortlist"


class Generate(Kind):
    """A model that writes an output for a source, such as a translation."""

    names = ("generate",)
    text_graph = "tokens"
    sides = ("source", "target")
    searches = True
    remembers = True  # whether a decoding step reads a memory
    choices = {
        "greedy": ("greedy", over_shortlist("greedy")),
        "sample": ("sample",),
        "score": ("score",),
        "steps": ("encode", "step"),
    }
    first = ("score",)
    scoring = staticmethod(scoring)
    score_graph = None
    target_time = TARGET_TIME  # tokens after which steps are compared, in the parity check
    _teacher = None

    @classmethod
    def name_of(cls, tables):
        """A model of prompts has no source to score."""
        inputs = {table.name: {spec.name for spec in table.inputs} for table in tables}
        return cls.names[0] if "tokens" in inputs and cls.remembers == ("source_ids" in inputs["score"]) else None

    @property
    def without(self):
        return [name for name in super().without if name != "greedy" or 1 not in self.settings.beams]

    def make_functions(self):
        model, settings = self.model, self.settings
        most, alpha = settings.max_length, settings.alpha
        memory = model.encode(np.zeros((1, 1), "int32"), np.ones(1, "int32"))
        model.start(memory, 1, most)  # refuses a long max_length
        if "coverage_penalty" in settings.rules:
            uncovered(model, memory, 1)  # refuses a model that tells no attention
        sizes, rules = {"output_time": most}, make_rules(settings.rules, not self.remembers, settings.fixed)

        def search(name, beams, growing=True):
            table = self.table("greedy" if beams == 1 else "tokens").fix(beams=beams, **sizes)
            function = generation(model, beams, most, alpha, growing, rules, settings.ranking)
            return dataclasses.replace(table, name=name), function

        searches = []
        for name, beams in {"greedy": 1, "tokens": settings.beams[0], **self._more_beams()}.items():
            table, function = search(name, beams)
            table, is_saved = self._with_rules(table, beams > 1), name in ("greedy", "tokens")
            searches.append(ExportedFunction(table, function, graph_name(beams, settings), is_saved, int8=True))
        if settings.xla:
            searches.append(ExportedFunction(*search("tokens_xla", settings.beams[0], growing=False), xla=True))
        default = searches[1]
        inputs = tuple(dataclasses.replace(spec, default=None) for spec in default.signature.inputs)
        signature = dataclasses.replace(default.signature, name=RULED, inputs=inputs)
        searches.append(dataclasses.replace(default, signature=signature, saved=True))
        sample = self._with_rules(self.table("sample").fix(samples=1, **sizes))
        pair = driver(model, self.remembers)
        return [
            *searches,
            *self._search_shortlist(searches, rules),
            ExportedFunction(sample, sampling(model, most, rules), "sample.onnx", int8=True),
            ExportedFunction(self.table("score"), self.scoring(model), self.score_graph, int8=True),
            ExportedFunction(*pair["encode"], "encoder.onnx", saved=False),
            ExportedFunction(*pair["step"], "step.onnx", saved=False),
        ]

    def _search_shortlist(self, searches, rules):
        """For each graph of `searches` a graph of the same search over the shortlist; none without a shortlist."""
        settings, functions = self.settings, []
        for graph, search in by_graph(searches).items() if settings.shortlist is not None else ():
            beams = search.signature.outputs[0].shape[1]
            function = shortlist_search(self.model, settings.shortlist, settings, beams, rules)
            table = dataclasses.replace(search.signature, name=over_shortlist(search.name))
            functions.append(ExportedFunction(table, function, shortlist_name(graph), saved=False, int8=True))
        return functions

    def _with_rules(self, table, ranks=False):
        """The table with the rules that the model takes as inputs, each with the value that holds where none is given.

        A beam search, which `ranks` hypotheses, takes the rules that rank them if the settings have a value for them,
        and `n_best`, the number of hypotheses that are wanted.
        """
        defaults, inputs = self.settings.rules, list(table.inputs)
        known = rule_names(prompts=not self.remembers)
        chosen = [name for name in known if not RULES[name].ranks or ranks and name in defaults]
        for name in [*(INPUTS.get(name, name) for name in chosen), *(["n_best"] if ranks else [])]:
            # A rule has one row, or as many as there are ids: ONNX Runtime takes axes of one name for equal.
            shape = f"{name}_rows", *RULE_AXES.get(name, ())
            row = np.reshape(defaults.get(name, OFF[name]), [1] * len(shape)).tolist()
            inputs.append(TensorSpec(name, DTYPES[name], shape, row))
        return dataclasses.replace(table, inputs=tuple(inputs))

    def _more_beams(self):
        return {f"tokens_beam{beams}": beams for beams in self.settings.beams[1:] if beams > 1}

    def strings(self, tokenizers, text):
        source, target = tokenizers
        token_ids, lengths, gated, answered = self.read_in_graph(source, text)
        results = self.functions["tokens"].traced(token_ids, lengths)
        output = target.decode(results["output_ids"][:, 0], results["output_lengths"][:, 0])
        most = gate.length_bounds(self.settings.rules, self.settings.max_length, lengths)
        cut = gate.bound_warning(results["output_lengths"][:, 0], most)
        return self._compose_answers(output, results, answered, gated, cut)

    def _compose_answers(self, output, results, answered, gated, *remarks):
        """The answers in TensorFlow; a text that is not `answered`, because it is blank or refused, has a blank one."""
        circles = gate.circle_warning(results["output_ids"][:, 0], results["output_lengths"][:, 0])
        doubts = tf.where(answered, gate.join(circles, *remarks), "")
        return {
            "output_text": tf.where(answered, output, ""),
            "scores": tf.where(answered, results["scores"][:, 0], 0.0),
            "errors": gated.errors,
            "warnings": gate.join(gated.warnings, doubts),
        }

    def answer(self, tokenizers, text):
        source, target = tokenizers
        reading = self.read(source, text)
        if not is_answered(reading):
            return self._outputs("", np.float32(0), reading)
        results, written = self._best(reading.ids)
        most = length_bound(self.settings.rules, self.settings.max_length, len(reading.ids))
        reading = add_doubts(reading, written, most)
        return self._outputs(target.decode([written])[0], results["scores"][0, 0], reading)

    @staticmethod
    def _outputs(text, score, reading):
        return {"output_text": np.array(text), "scores": score, **remarks(reading)}

    def _best(self, ids):
        """The results of the function "tokens" for `ids`, and the ids of its best output."""
        results = self.ask("tokens", **row(ids))
        return results, results["output_ids"][0, 0, : results["output_lengths"][0, 0]].tolist()

    def cases(self, vocabularies):
        names = self.functions.keys() | ({"drive"} if "step" in self.functions else set())
        for name, inputs in self._cases(vocabularies):
            yield from ((each, inputs) for each in (name, over_shortlist(name)) if each in names)

    def _cases(self, vocabularies):
        rng = np.random.default_rng(1)
        for number, source in enumerate(grid(vocabularies[0], most=self.max_ids, few=self.large)):
            batch = len(source["lengths"])
            target = rng.integers(FIRST_WORD, vocabularies[-1], (batch, self.target_time)).astype("int32")
            yield "greedy", source
            yield "encode", source
            yield "drive", {**source, "target_ids": target}
            yield (
                "score",
                self.score_inputs(source, target, rng.integers(0, self.target_time + 1, batch).astype("int32")),
            )
            if number == 0 if self.large else number % 2:
                for name in ("tokens", *self._more_beams()):
                    yield name, source
            if number % 4 == 1 or self.large and number:
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
                yield RULED, {**source, **self._draw_rules(batch, rng, vocabularies[-1])}
            if number == 1 and self.settings.xla:
                yield "tokens_xla", source

    def _draw_rules(self, batch, rng, size):
        """Rules of its own for each row."""
        rules = {
            "no_repeat_ngram_size": rng.integers(0, 4, batch),
            "repetition_penalty": rng.uniform(1, 1.5, batch).astype("float32"),
            "min_length": rng.integers(0, 5, batch),
            "max_length": rng.integers(int(self.large), 9, batch),  # 0 leaves it to the model, which may write long
            "length_ratio": rng.integers(0, 3, batch).astype("float32"),
            "length_extra": rng.integers(0, 4, batch),
            "forced_tokens": rng.integers(FIRST_WORD, size, (batch, 1)),
            "bad_words": rng.integers(FIRST_WORD, size, (batch, 3, 1)),
            "coverage_penalty": rng.uniform(0, 1, batch),
            "n_best": rng.integers(0, 3, batch),
        }
        names = [spec.name for spec in self.functions[RULED].signature.inputs if spec.name in rules]
        return {name: rules[name].astype(DTYPES[name]) for name in names}

    def score_inputs(self, source, target_ids, target_lengths):
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
        models = self.model.members if isinstance(self.model, Ensemble) else [self.model]
        approximates = any(Depth.of(model.decoder).approximate for model in models)
        look = self._step_logits if approximates else self.forced_logits
        return look(token_ids=token_ids, lengths=lengths, target_ids=target_ids)

    def _step_logits(self, token_ids, lengths, target_ids):
        memory = self.model.encode(token_ids, lengths)
        token, state = self.model.start(memory)
        all_logits = []
        for following in [*target_ids.T[:, :, None], None]:
            logits, state = self.model.step(token, state, memory)
            all_logits.append(np.asarray(logits)[:, 0])
            token = following
        return {"logits": np.stack(all_logits, axis=1)}

    def forced_logits(self, token_ids, lengths, target_ids):
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
        settings, graphs = self.settings, {function.graph for function in self.functions.values()}
        generation = {str(beams): graph_name(beams, settings) for beams in sorted({1, *settings.beams})}
        generation = {beams: graph for beams, graph in generation.items() if graph in graphs}
        own = {
            "generation": generation,
            "default_beam": settings.beams[0],
            "max_length": settings.max_length,
            "alpha": settings.alpha,
            "rules": settings.rules,
            **({"search": settings.search} if settings.search else {}),
        }
        if "step" in self.functions:
            step = self.functions["step"].signature
            own["step"] = {side: [spec.name for spec in getattr(step, side)] for side in ("inputs", "outputs")}
        if settings.shortlist is not None:
            own["shortlist"] = {
                "width": settings.shortlist.width,
                "always": len(settings.shortlist.always),
                "generation": {beams: shortlist_name(graph) for beams, graph in generation.items()},
            }
        return super().facts() | own


def with_bos(token_ids):
    return np.pad(token_ids, ((0, 0), (1, 0)), constant_values=BOS)


def graph_name(beams, settings):
    if beams == 1:
        return "greedy.onnx"
    return "model.onnx" if beams == settings.beams[0] else f"model.beam{beams}.onnx"

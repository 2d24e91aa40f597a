"""The signature `serving_default`: texts in, answers out, for every kind of artefact.

Its outputs are those of the SavedModel, so that a client of TensorFlow Serving finds what it knows, and `scores` of a
label besides.
"""

import numpy as np

from serving.runtime.loaded import MAX_SEQUENCES
from serving.runtime.pairs import pair
from serving.runtime.predictors.results import Sampling
from serving.runtime.rules import RULES
from serving.server.asks import Ask, Parameters, named, spec
from serving.server.faults import invalid
from serving.server.tensors import Tensor

NAME = "serving_default"
EMPTY = -1e9  # the score of a place without a hypothesis, as in the signatures of ids
MOST_OUTPUTS, MOST_TOKENS = 128, 4096  # of one text: samples, and tokens that are written
PART = 1 << 15  # characters that are tokenised at once
REMARKS = spec("errors", "BYTES", -1), spec("warnings", "BYTES", -1)
WRITTEN = spec("output_text", "BYTES", -1), spec("scores", "FP32", -1), *REMARKS
LABELLED = spec("label", "BYTES", -1), spec("scores", "FP32", -1), spec("probabilities", "FP32", -1, -1), *REMARKS
TAGGED = (
    spec("tags", "BYTES", -1, -1),
    spec("scores", "FP32", -1, -1),
    *(spec(name, "INT32", -1, -1) for name in ("starts", "ends")),
    spec("word_counts", "INT32", -1),
    *REMARKS,
)
ENCODED = spec("vector", "FP32", -1, -1), *REMARKS
OUTPUTS = {"generate": WRITTEN, "continue": WRITTEN, "classify": LABELLED, "compare": LABELLED, "tag": TAGGED}
OUTPUTS["embed"] = ENCODED
DRAWN = {"temperature": float, "top_k": int, "top_p": float, "seed": int, "first": int}
CHOSEN = {"beam": int, "n_best": int, "length": int}


class Texts:
    """Texts in and out.

    Args:
        runtime: `serving.runtime.Runtime`.
    """

    name = NAME

    def __init__(self, runtime):
        self.runtime, self.kind = runtime, runtime.kind
        self.labels = runtime.manifest.get("labels", [])
        sides = ("first_text", "second_text") if self.kind == "compare" else ("text",)
        self.inputs, self.outputs = tuple(spec(side, "BYTES", -1) for side in sides), OUTPUTS[self.kind]
        self.also = (spec("text", "BYTES", -1),) if self.kind == "compare" else ()  # in the place of both sides
        self.samples = "sample" in runtime.manifest["graphs"]

    def ask(self, tensors, parameters):
        """An `Ask` of the tensors of a request.

        Raises:
            Fault: an input is missing, unknown or of another type, or a parameter has no meaning for this model.
        """
        options, sampling = self._options(Parameters(parameters))
        if self.kind == "compare" and [tensor.name for tensor in tensors] == ["text"]:  # as on the command line
            texts = [_pair(text) for text in _column(tensors[0])]
        else:
            columns = [_column(tensor) for tensor in named(tensors, self.inputs)]
            if len({len(column) for column in columns}) > 1:
                raise invalid(
                    f"the two texts of each pair: received {len(columns[0])} first and {len(columns[1])} second."
                )
            texts = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        costs = [cost for part in parted(texts) for cost in self.runtime.lengths(part)]
        rows, outputs = [(text, None) for text in texts], options.get("n_best", 1)
        key = NAME, tuple(sorted(options.items())), sampling is not None
        if sampling is not None:
            first = sampling.pop("first", 0)  # of a list that comes in several requests
            rows = [(text, Sampling(**sampling, first=first + number)) for number, text in enumerate(texts)]
        several, long, written = self._written_by(options, outputs if sampling is not None else 1)
        if several:  # each output is written by itself
            costs = [(cost + written) * outputs for cost in costs]
        return Ask(self, key, rows, costs, outputs, long, len(rows) * outputs * written)

    def _written_by(self, options, samples):
        """`(whether outputs are computed one by one, whether that is long, tokens of each)` for one text."""
        once = self.runtime.manifest.get("max_length", 0)  # tokens that a run of the graph writes at most
        length = options.get("length", 0)
        return samples > 1 or length > once, length > once or samples > MAX_SEQUENCES, max(length, once)

    def _options(self, given):
        """`(options of Runtime.run, settings of Sampling or None)`."""
        known = [name for name in CHOSEN if name in self.runtime.options]
        if "sampling" in self.runtime.options:
            known += ["sample", *DRAWN]
        known += [name for name in RULES if name in self.runtime.options]
        kinds = CHOSEN | {name: rule.kind for name, rule in RULES.items()}
        options = {
            name: value for name in known if name in kinds and (value := given.take(name, kinds[name])) is not None
        }
        sample = given.take("sample", bool) if "sample" in known else None
        drawn = {name: given.take(name, kind) for name, kind in DRAWN.items()} if "sample" in known else {}
        drawn = {name: value for name, value in drawn.items() if value is not None}
        given.nothing_left(known)
        if drawn and not sample:
            raise invalid(
                f"{', '.join(drawn)} is about sampling: set the parameter sample to true, too, or leave it out."
            )
        if sample and not self.samples:
            raise invalid("this model has no graph that samples; leave out the parameter sample.")
        for name, most in (("n_best", MOST_OUTPUTS), ("length", MOST_TOKENS)):
            if options.get(name, 1) > most:
                raise invalid(f"{name} must be at most {most}; received {options[name]}.")
        if options or sample:
            try:
                checked = {"sampling": Sampling(**drawn)} if sample else {}
                self.runtime.run([], **options, **checked)
            except ValueError as error:
                raise invalid(str(error)) from None
        return options, drawn if sample else None

    def run(self, key, payloads):
        """The results of rows of one key; it runs in a thread."""
        options, drawn = dict(key[1]), key[2]
        sampling = {"sampling": [sampling for _, sampling in payloads]} if drawn else {}
        return self.runtime.run([text for text, _ in payloads], **options, **sampling)

    @staticmethod
    def refused(results):
        """How many texts have an error instead of an answer."""
        return sum(result.error is not None for result in results)

    def tensors(self, ask, results):
        """The outputs of a request."""
        batch = len(results)
        if self.kind == "tag":
            found = self._tagged(results)
        elif self.kind == "embed":
            found = [self._encoded(results)]
        elif self.kind in ("classify", "compare"):
            rows = [[result.probabilities.get(label, 0.0) for label in self.labels] for result in results]
            found = [
                Tensor("label", "BYTES", (batch,), [result.label for result in results]),
                _numbers("scores", [result.probability for result in results]),
                Tensor("probabilities", "FP32", (batch, len(self.labels)), _floats(rows, (batch, len(self.labels)))),
            ]
        else:
            found = self._written(ask.width, results)
        for name in ("error", "warning"):
            said = [getattr(result, name) or "" for result in results]
            found.append(Tensor(f"{name}s", "BYTES", (batch,), said))
        return found

    @staticmethod
    def _written(width, results):
        """`(batch,)` texts and scores, or `(batch, n_best)` of them; a place without a hypothesis is blank."""
        if width == 1:
            texts = [result.text for result in results]
            return [
                Tensor("output_text", "BYTES", (len(texts),), texts),
                _numbers("scores", [r.score for r in results]),
            ]
        texts, scores = [], []
        for result in results:
            held, missing = result.hypotheses[:width], width - len(result.hypotheses[:width])
            texts += [each.text for each in held] + [""] * missing
            scores.append([each.score for each in held] + [EMPTY] * missing)
        shape = len(results), width
        return [Tensor("output_text", "BYTES", shape, texts), Tensor("scores", "FP32", shape, _floats(scores, shape))]

    def _encoded(self, results):
        """`(batch, units)`; a text without a vector has zeros."""
        units = self.runtime.signatures["embed"]["outputs"][0]["shape"][-1]
        rows = [result.vector or [0.0] * units for result in results]
        return Tensor("vector", "FP32", (len(rows), units), _floats(rows, (len(rows), units)))

    @staticmethod
    def _tagged(results):
        """`(batch, words)` of the longest text; places beyond the words of a text are blank."""
        batch, most = len(results), max((len(result.words) for result in results), default=0)
        tags, numbers = [], {"scores": [], "starts": [], "ends": []}
        for result in results:
            missing = most - len(result.words)
            tags += [word.tag for word in result.words] + [""] * missing
            for name, values in numbers.items():
                values.append([getattr(word, name.removesuffix("s")) for word in result.words] + [0] * missing)
        counts = np.array([len(result.words) for result in results], "int32")
        return [
            Tensor("tags", "BYTES", (batch, most), tags),
            Tensor("scores", "FP32", (batch, most), _floats(numbers["scores"], (batch, most))),
            *(
                Tensor(name, "INT32", (batch, most), np.array(numbers[name], "int32").reshape(batch, most))
                for name in ("starts", "ends")
            ),
            Tensor("word_counts", "INT32", (batch,), counts),
        ]


def parted(texts):
    """The texts in parts of a few milliseconds: SentencePiece lets no other thread run while it reads a list."""
    part, size = [], 0
    for text in texts:
        part.append(text)
        size += sum(map(len, text)) if isinstance(text, tuple) else len(text)
        if size > PART:
            yield part
            part, size = [], 0
    if part:
        yield part


def _column(tensor):
    """The texts of a tensor of shape (batch,) or (batch, 1)."""
    if tensor.datatype != "BYTES":
        raise invalid(f"{tensor.name} must be of type BYTES; received {tensor.datatype}.")
    if not (len(tensor.shape) == 1 or len(tensor.shape) == 2 and tensor.shape[1] == 1):
        raise invalid(f"{tensor.name} must have the shape [batch] or [batch, 1]; received {list(tensor.shape)}.")
    return tensor.data


def _pair(text):
    """A pair, or the text as it is: the runtime refuses what is no pair, and that text alone."""
    try:
        return pair(text)
    except ValueError:
        return text


def _floats(rows, shape):
    return np.array(rows, "float32").reshape(shape)


def _numbers(name, values):
    return Tensor(name, "FP32", (len(values),), np.array(values, "float32"))

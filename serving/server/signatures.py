"""The signatures of a model: what a request may ask of each, and what it answers.

`serving_default` takes texts, for every kind of artefact. Its outputs are those of the SavedModel, so that a client of
TensorFlow Serving finds what it knows, and `scores` of a label besides. The others, such as `tokens`, take and give
token ids, by the manifest's own tables.
"""

from dataclasses import dataclass

import numpy as np

from serving.kinds import KINDS
from serving.kinds.base import pair
from serving.kinds.rules import RULES
from serving.runtime import bounds
from serving.runtime.loaded import MAX_SEQUENCES, length_name
from serving.runtime.sampling import Sampling
from serving.server.bodies import Parameters
from serving.server.faults import invalid
from serving.server.tensors import NUMBERS, OF_DTYPE, Tensor, order_tensors, spec

NAME = "serving_default"
MOST_OUTPUTS, MOST_TOKENS = 128, 4096  # of one text: samples, and tokens that are written
PART = 1 << 15  # characters that are tokenised at once
REMARKS = spec("errors", "BYTES", -1), spec("warnings", "BYTES", -1)
DRAWN = {"temperature": float, "top_k": int, "top_p": float, "seed": int, "first": int}
CHOSEN = {"beam": int, "n_best": int, "length": int, "sentences": bool, "words": str}


@dataclass(frozen=True, eq=False)
class Ask:
    """Rows of one request.

    Args:
        signature: who answers them.
        key: rows of different requests share a batch if this is equal.
        rows: what is computed, one for each row.
        costs: the tokens of each row.
        width: what the signature needs to know to put the answer together.
        long: whether rows may take so long that nobody is to wait for them who asks less.
        written: the most tokens that are written, if they are long.
    """

    signature: object
    key: tuple
    rows: list
    costs: list
    width: object = None
    long: bool = False
    written: int = 0


class Texts:
    """Texts in and out.

    Args:
        runtime: `serving.runtime.Runtime`.
    """

    def __init__(self, runtime):
        self.runtime, self.kind, self.padding = runtime, KINDS[runtime.kind], runtime.max_padding
        self.labels = runtime.manifest.get("labels", [])
        sides = self.kind.sides(runtime.manifest)
        self.inputs = tuple(spec(side, "BYTES", -1) for side in sides)
        self.alternatives = (spec("text", "BYTES", -1),) if len(sides) > 1 else ()  # in the place of both sides
        own = (spec(each.name, OF_DTYPE[each.dtype], *[-1] * each.axes) for each in self.kind.outputs)
        self.outputs = (*own, *REMARKS)
        self.samples = "sample" in runtime.manifest["graphs"]

    def ask(self, tensors, parameters):
        """An `Ask` of the tensors of a request.

        Raises:
            Fault: an input is missing, unknown or of another type, or a parameter has no meaning for this model.
        """
        options, sampling = self._options(Parameters(parameters))
        if self.alternatives and [tensor.name for tensor in tensors] == ["text"]:  # as on the command line
            texts = [_split_pair(text) for text in _read_column(tensors[0])]
        else:
            columns = [_read_column(tensor) for tensor in order_tensors(tensors, self.inputs)]
            if len({len(column) for column in columns}) > 1:
                raise invalid(
                    f"the two texts of each pair: received {len(columns[0])} first and {len(columns[1])} second."
                )
            texts = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        cut = self.runtime.sentences(texts) if options.pop("sentences", False) else None
        texts = cut.sentences if cut else texts
        costs = [cost for part in split_texts(texts) for cost in self.runtime.lengths(part)]
        rows, outputs = [(text, None) for text in texts], options.get("n_best", 1)
        key = NAME, tuple(sorted(options.items())), sampling is not None
        if sampling is not None:
            first = sampling.pop("first", 0)  # of a list that comes in several requests
            rows = [(text, Sampling(**sampling, first=first + number)) for number, text in enumerate(texts)]
        several, long, written = self._plan_writing(options, outputs if sampling is not None else 1)
        if several:  # each output is written by itself
            costs = [(cost + written) * outputs for cost in costs]
        return Ask(self, key, rows, costs, (outputs, cut), long, len(rows) * outputs * written)

    def _plan_writing(self, options, samples):
        """`(whether outputs are computed one by one, whether that is long, tokens of each)` for one text."""
        once = self.runtime.manifest.get("max_length", 0)  # tokens that a run of the graph writes at most
        length = options.get("length", 0)
        return samples > 1 or length > once, length > once or samples > MAX_SEQUENCES, max(length, once)

    def _options(self, parameters):
        """`(options of Runtime.run, settings of Sampling or None)`."""
        names = [name for name in CHOSEN if name in (*self.runtime.options, *["sentences"] * self.kind.has_source)]
        if "sampling" in self.runtime.options:
            names += ["sample", *DRAWN]
        names += [name for name in RULES if name in self.runtime.options]
        kinds = CHOSEN | {name: rule.kind for name, rule in RULES.items()}
        options = {
            name: value for name in names if name in kinds and (value := parameters.take(name, kinds[name])) is not None
        }
        sample = parameters.take("sample", bool) if "sample" in names else None
        sampling = {name: parameters.take(name, kind) for name, kind in DRAWN.items()} if "sample" in names else {}
        sampling = {name: value for name, value in sampling.items() if value is not None}
        parameters.check_empty(names)
        if sampling and not sample:
            raise invalid(
                f"{', '.join(sampling)} is about sampling: set the parameter sample to true, too, or leave it out."
            )
        if sample and not self.samples:
            raise invalid("this model has no graph that samples; leave out the parameter sample.")
        for name, most in (("n_best", MOST_OUTPUTS), ("length", MOST_TOKENS)):
            if options.get(name, 1) > most:
                raise invalid(f"{name} must be at most {most}; received {options[name]}.")
        if options or sample:
            try:
                settings = {"sampling": Sampling(**sampling)} if sample else {}
                self.runtime.run([], **options, **settings)
            except ValueError as error:
                raise invalid(str(error)) from None
        return options, sampling if sample else None

    def run(self, key, payloads):
        """The results of rows of one key; it runs in a thread."""
        options, is_sampled = dict(key[1]), key[2]
        sampling = {"sampling": [sampling for _, sampling in payloads]} if is_sampled else {}
        return self.runtime.run([text for text, _ in payloads], **options, **sampling)

    @staticmethod
    def count_remarks(results):
        """How many texts have an error instead of an answer, and how many have a warning."""
        return tuple(sum(getattr(each, name) is not None for each in results) for name in ("error", "warning"))

    def tensors(self, ask, results):
        """The outputs of a request."""
        width, cut = ask.width
        results = cut.join(results) if cut else results
        columns = self.kind.write(results, self.runtime.manifest, width)
        outputs = [_make_tensor(each, *columns[each.name]) for each in self.kind.outputs]
        for name in ("error", "warning"):
            remarks = [getattr(result, name) or "" for result in results]
            outputs.append(Tensor(f"{name}s", "BYTES", (len(results),), remarks))
        return outputs


def _make_tensor(output, shape, values):
    """The `Tensor` of a column: of texts a flat list, of numbers an array."""
    datatype = OF_DTYPE[output.dtype]
    if datatype in NUMBERS:
        return Tensor(output.name, datatype, shape, np.array(values, NUMBERS[datatype]).reshape(shape))
    for _ in shape[1:]:
        values = [value for row in values for value in row]
    return Tensor(output.name, datatype, shape, values)


def split_texts(texts):
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


def _read_column(tensor):
    """The texts of a tensor of shape (batch,) or (batch, 1)."""
    if tensor.datatype != "BYTES":
        raise invalid(f"{tensor.name} must be of type BYTES; received {tensor.datatype}.")
    if not (len(tensor.shape) == 1 or len(tensor.shape) == 2 and tensor.shape[1] == 1):
        raise invalid(f"{tensor.name} must have the shape [batch] or [batch, 1]; received {list(tensor.shape)}.")
    return tensor.data


def _split_pair(text):
    """A pair, or the text as it is: the runtime refuses what is no pair, and that text alone."""
    try:
        return pair(text)
    except ValueError:
        return text


class Rows:
    """One signature of token ids.

    Args:
        runtime: `serving.runtime.Runtime`.
        name: a key of `runtime.signatures`.
    """

    alternatives = ()

    def __init__(self, runtime, name):
        self.runtime, self.name, self.table = runtime, name, runtime.signatures[name]
        self.padding = runtime.max_padding
        self.inputs, self.outputs = (
            tuple(
                spec(
                    each["name"],
                    OF_DTYPE[each["dtype"]],
                    *(axis if type(axis) is int else -1 for axis in each["shape"]),
                )
                for each in self.table[side]
            )
            for side in ("inputs", "outputs")
        )
        self.sides = [each["name"] for each in self.inputs if each["name"].endswith("_ids")]

    def ask(self, tensors, parameters):
        """An `Ask` of the tensors of a request.

        Raises:
            Fault: an input has another name, type or shape; an id is not in the vocabulary, a length not within the
                row, a row longer than the model reads.
        """
        Parameters(parameters).check_empty([])
        arrays = {}
        for tensor, expected in zip(order_tensors(tensors, self.inputs), self.inputs, strict=True):
            arrays[tensor.name] = self._check_array(tensor, expected)
        counts = {len(array) for array in arrays.values()}
        if len(counts) > 1:
            raise invalid(f"all inputs must have one row for each sequence; received {sorted(counts)} rows.")
        if not counts.pop():
            return Ask(self, (self.name,), [], [], {})
        self._check(arrays)
        rows = [self._take_row(arrays, number) for number in range(len(next(iter(arrays.values()))))]
        costs = [max(len(row[name]) for name in self.sides) for row in rows]
        others = {name: value.shape[1:] for name, value in arrays.items() if name in rows[0] and name not in self.sides}
        key = self.name, tuple(sorted(others.items()))
        return Ask(self, key, rows, costs, arrays[self.sides[0]].shape[1])

    def _check_array(self, tensor, expected):
        if tensor.datatype == "BYTES" or np.asarray(tensor.data).dtype.kind != np.dtype(_dtype(expected)).kind:
            raise invalid(f"{tensor.name} must be of type {expected['datatype']}; received {tensor.datatype}.")
        shape = expected["shape"]
        fits = len(tensor.shape) == len(shape) and all(
            size in (-1, received) for size, received in zip(shape, tensor.shape, strict=True)
        )
        if not fits:
            raise invalid(f"{tensor.name} must have the shape {shape} (-1: any size); received {list(tensor.shape)}.")
        if np.asarray(tensor.data).dtype.kind == "i" and tensor.data.size:
            if abs(int(tensor.data.min())) >= 2**31 or int(tensor.data.max()) >= 2**31:
                raise invalid(f"{tensor.name} has a number that {expected['datatype']} cannot hold.")
        return np.asarray(tensor.data, _dtype(expected))

    def _check(self, arrays):
        manifest = self.runtime.manifest
        for name in self.sides:
            longer = manifest.get("max_length") if name == "target_ids" else manifest.get("longest_text")
            most = max(self.runtime.max_input, longer or 0)
            if arrays[name].shape[1] > most:
                raise invalid(f"{name} has too many columns: at most {most} tokens are read.")
        try:
            bounds.check(KINDS[self.runtime.kind], self.name, arrays, manifest["vocabulary"])
        except ValueError as error:
            raise invalid(str(error)) from None

    def _take_row(self, arrays, number):
        row = {name: array[number] for name, array in arrays.items()}
        for name in self.sides:
            length = row.pop(length_name(name))
            row[name] = row[name][:length].tolist()
        return row

    def run(self, key, payloads):
        """The results of rows of one key; it runs in a thread."""
        return self.runtime.run_rows(self.name, payloads)

    @staticmethod
    def count_remarks(results):
        """Rows of ids are refused before they are asked, and have no warnings."""
        return 0, 0

    def tensors(self, ask, results):
        """The outputs of a request: rows of one width. Axes that follow the input have its number of columns."""
        return [
            self._join(output, table, ask, [result[output["name"]] for result in results])
            for output, table in zip(self.outputs, self.table["outputs"], strict=True)
        ]

    @staticmethod
    def _join(output, table, ask, parts):
        axes = table["shape"][1:]
        if not parts:
            shape = (0, *(axis if type(axis) is int else 0 for axis in axes))
            return Tensor(output["name"], output["datatype"], shape, np.zeros(shape, _dtype(output)))
        sizes = [
            ask.width if axis == "time" else max(part.shape[place] for part in parts) for place, axis in enumerate(axes)
        ]
        array = np.zeros((len(parts), *sizes), _dtype(output))
        for row, part in zip(array, parts, strict=True):
            region = tuple(slice(min(size, own)) for size, own in zip(sizes, part.shape, strict=True))
            row[region] = part[region]
        return Tensor(output["name"], output["datatype"], array.shape, array)


def _dtype(spec):
    return NUMBERS[spec["datatype"]]

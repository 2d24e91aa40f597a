"""The other signatures of an artefact, such as `tokens`: token ids in and out, by the manifest's own tables."""

import numpy as np

from serving.kinds import KINDS
from serving.runtime import bounds
from serving.runtime.rows import length_name
from serving.server.asks import Ask, Parameters, order_tensors, spec
from serving.server.faults import invalid
from serving.server.tensors import NUMBERS, OF_DTYPE, Tensor


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
            bounds.check(KINDS[self.runtime.kind], self.name, arrays, self.runtime.manifest["vocabulary"])
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

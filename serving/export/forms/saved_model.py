"""The SavedModel: signatures for strings and for token ids, of any batch size and length, for TensorFlow's servers."""

import gc

from serving.export.forms.base import Form
from serving.lazy import later
from serving.runtime.artefact import SAVED_MODEL

graphs = later("serving.export.graph_tokenizers")
servers = later("serving.export.servers")
tf = later("tensorflow")

PARTS = ("variables/", "assets/")
FORBIDDEN_OPERATIONS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


class SavedModel(Form):
    """The kind's exported functions, and `serving_default`, which takes strings.

    Texts and ids are read up to the kind's bound. A text that is too long, or is not UTF-8, has a blank answer, and the
    outputs `errors` and `warnings` say why; ids with too many columns are refused with an error. No signature has a
    scalar input and every output starts with the batch axis, so a server may batch requests. The models of the
    tokenizers are part of the graph, so there are no separate assets. Loading the SavedModel needs the operations of
    tensorflow_text (TensorFlow Serving has them built in).
    """

    name, title = "saved_model", "SavedModel"
    order = 1
    packages = ("tensorflow", "tensorflow-text")

    def __init__(self, directory, manifest):
        super().__init__(directory, manifest)
        self._functions = self.import_engine().saved_model.load(str(directory)).signatures

    @classmethod
    def import_engine(cls):
        import tensorflow_text  # noqa: F401  registers the tokenizers' operations

        return tf

    @classmethod
    def write(cls, kind, tokenizers, directory, log):
        log("writing the SavedModel")
        _save(kind, tokenizers, directory)
        gc.collect()  # its graphs hold each other, and the weights with them
        servers.compare_servers(directory, kind.settings.serving_version, log)

    @staticmethod
    def files(names):
        if SAVED_MODEL not in names:
            return []
        return sorted(name for name in names if name in (SAVED_MODEL, "fingerprint.pb") or name.startswith(PARTS))

    def signatures(self):
        tables = {}
        for name, function in self._functions.items():
            inputs = function.structured_input_signature[1].values()
            outputs = function.structured_outputs.items()
            tables[name] = {
                "inputs": [(spec.name, spec.dtype.name) for spec in inputs],
                "outputs": [(key, spec.dtype.name) for key, spec in outputs],
            }
        return tables

    @staticmethod
    def declare(spec):
        """Its axes have no names, and it has no input that need not be given."""
        return None if "default" in spec else (spec["name"], spec["dtype"])

    def answer(self, name, inputs):
        constant = self.import_engine().constant
        texts = {key: value.astype(object) if value.dtype.kind == "U" else value for key, value in inputs.items()}
        outputs = self._functions[name](**{key: constant(value) for key, value in texts.items()})
        return {key: value.numpy() for key, value in outputs.items()}

    def faults(self):
        operations = sorted({operator for operator, _ in servers.used_operators(self.directory)} & FORBIDDEN_OPERATIONS)
        return [f"the SavedModel holds Python operations that no server can run: {operations}."] if operations else []

    @classmethod
    def holds(cls, signature, manifest):
        return True

    @classmethod
    def describe_use(cls, name, is_there):
        if is_there:
            return "The folder above is a base path of TensorFlow Serving, with the SavedModel in this folder."
        return (
            "TensorFlow Serving needs a SavedModel, which is made from the published files: "
            f"`seqzoo export $(seqzoo hub fetch {name} --all)`."
        )


def _save(kind, tokenizers, directory):
    module = tf.Module()
    module.model_variables = [variable.value for variable in kind.model.variables]
    module.tokenizers = [graphs.GraphTokenizer(tokenizer.model_bytes) for tokenizer in tokenizers]
    module.functions = {
        name: _add_bounds(function, kind) for name, function in kind.functions.items() if function.saved
    }

    def serving_default(*texts):
        return kind.strings(module.tokenizers, *texts)

    specs = [tf.TensorSpec((None,), "string", spec.name) for spec in kind.table("serving_default").inputs]
    module.functions["serving_default"] = tf.function(serving_default, input_signature=specs, autograph=False)
    tf.saved_model.save(module, str(directory), signatures=dict(module.functions))


def _add_bounds(exported, kind):
    """The graph of an exported function, with a check that ids have no more columns than the model reads."""
    ids = [spec for spec in exported.signature.required if spec.dtype == "int32" and len(spec.shape) == 2]
    most = {spec.name: kind.most_columns(exported.name, spec.name) for spec in ids}

    def function(**inputs):
        checks = [
            tf.debugging.assert_less_equal(
                tf.shape(inputs[name])[1], columns, f"{name} has too many columns: at most {columns} tokens are read."
            )
            for name, columns in most.items()
        ]
        with tf.control_dependencies(checks):
            return exported.traced(**{name: tf.identity(value) for name, value in inputs.items()})

    specs = {spec.name: tf.TensorSpec(spec.static_shape, spec.dtype, spec.name) for spec in exported.signature.required}
    return tf.function(function, autograph=False).get_concrete_function(**specs)


FORM = SavedModel

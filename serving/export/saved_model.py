"""Writes a SavedModel with signatures for strings and for token ids, of any batch size and length."""

import tensorflow as tf

from zoo.text.graph import GraphTokenizer


def write(kind, tokenizers, directory):
    """Write a model as a SavedModel: `serving_default`, from strings, and the kind's exported functions.

    Texts and ids are read up to the kind's bound. A text that is too long, or is not UTF-8, has a blank answer, and the
    outputs `errors` and `warnings` say why; ids with too many columns are refused with an error. No signature has a
    scalar input and every output starts with the batch axis, so a server may batch requests. The models of the
    tokenizers are part of the graph, so there are no separate assets. Loading the SavedModel needs the operations of
    tensorflow_text (TensorFlow Serving has them built in).

    Args:
        kind: `serving.export.kinds.Kind`.
        tokenizers: one `zoo.text.Tokenizer` for each of the kind's sides.
        directory: the directory to write to, which may hold other files.
    """
    module = tf.Module()
    module.model_variables = [variable.value for variable in kind.model.variables]
    module.tokenizers = [GraphTokenizer(tokenizer.model_bytes) for tokenizer in tokenizers]
    module.functions = {name: bounded(function, kind) for name, function in kind.functions.items() if function.saved}

    def serving_default(*texts):
        return kind.strings(module.tokenizers, *texts)

    specs = [tf.TensorSpec((None,), "string", spec.name) for spec in kind.table("serving_default").inputs]
    module.functions["serving_default"] = tf.function(serving_default, input_signature=specs, autograph=False)
    tf.saved_model.save(module, str(directory), signatures=dict(module.functions))


def bounded(exported, kind):
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

"""SavedModel with strings and token ids; every signature is dynamic in batch and time."""

import tensorflow as tf

from zoo.text.graph import GraphTokenizer


def write(kind, tokenizers, directory):
    """Write a model as a SavedModel: `serving_default`, from strings, and the kind's exported functions.

    No signature has a scalar input and every output starts with the batch axis, so the server may batch requests.
    The tokenizers' models are part of the graph: there is no asset to lose. Loading it needs tensorflow_text's
    operations (TensorFlow Serving has them built in).

    Args:
        kind: `serving.kinds.Kind`.
        tokenizers: one `zoo.text.Tokenizer` for each of the kind's sides.
        directory: where to write.
    """
    module = tf.Module()
    module.model_variables = [variable.value for variable in kind.model.variables]
    module.tokenizers = [GraphTokenizer(tokenizer.model_bytes) for tokenizer in tokenizers]
    module.functions = {name: function.traced for name, function in kind.functions.items() if function.saved}

    def serving_default(*texts):
        return kind.strings(module.tokenizers, *texts)

    specs = [tf.TensorSpec((None,), "string", spec.name) for spec in kind.table("serving_default").inputs]
    module.functions["serving_default"] = tf.function(serving_default, input_signature=specs, autograph=False)
    tf.saved_model.save(module, str(directory), signatures=dict(module.functions))

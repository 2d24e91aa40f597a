"""SavedModel with strings, token ids and scores; every signature is dynamic in batch and time."""

import tensorflow as tf

from serving.signatures import find, generation, scoring
from zoo.text.graph import GraphTokenizer


def write(model, tokenizers, directory, *, beams, max_length, alpha):
    """Write `model` as a SavedModel with `serving_default`, `tokens`, `greedy` and `score`.

    No signature has a scalar input and every output starts with the batch axis, so the server may batch requests.
    The tokenizers' models are part of the graph: there is no asset to lose. Loading it needs tensorflow_text's
    operations (TensorFlow Serving has them built in).

    Args:
        model: a generating model of the zoo (step protocol and `signatures()`).
        tokenizers: `(source, target)`, `zoo.text.Tokenizer`.
        directory: where to write.
        beams: hypotheses of `serving_default` and `tokens`.
        max_length: the longest output in tokens.
        alpha: exponent of the length penalty.
    """
    module = tf.Module()
    module.model_variables = [variable.value for variable in model.variables]
    module.source = GraphTokenizer(tokenizers[0].model_bytes)
    module.target = GraphTokenizer(tokenizers[1].model_bytes)
    search, first, log_probs = (
        generation(model, beams, max_length, alpha),
        generation(model, 1, max_length, alpha),
        scoring(model),
    )

    def serving_default(text):
        found = search(*module.source.encode(text))
        best, length = found["output_ids"][:, 0], found["output_lengths"][:, 0]
        return {"output_text": module.target.decode(best, length), "scores": found["scores"][:, 0]}

    def tokens(token_ids, lengths):
        return search(token_ids, lengths)

    def greedy(token_ids, lengths):
        return first(token_ids, lengths)

    def score(source_ids, source_lengths, target_ids, target_lengths):
        return log_probs(source_ids, source_lengths, target_ids, target_lengths)

    table = model.signatures()
    module.functions = {
        function.__name__: tf.function(
            function,
            input_signature=[
                tf.TensorSpec(spec.static_shape, spec.dtype, spec.name)
                for spec in find(table, function.__name__).inputs
            ],
            autograph=False,
        )
        for function in (serving_default, tokens, greedy, score)
    }
    tf.saved_model.save(module, str(directory), signatures=dict(module.functions))

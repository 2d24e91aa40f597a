"""What the models serve, as typed tables: the names are API, the same in SavedModel, ONNX, client and documents."""

from zoo.core.signatures import Signature, TensorSpec


def batched(name, dtype="int32", *axes):
    """A tensor with the batch first, as every tensor of a signature has it."""
    return TensorSpec(name, dtype, ("batch", *axes))


def strings(*outputs):
    """The signature that a server answers when none is named: texts in."""
    return Signature("serving_default", (batched("text", "string"),), outputs)


IDS = (batched("token_ids", "int32", "time"), batched("lengths"))


def found(width):
    return (
        batched("output_ids", "int32", width, "output_time"),
        batched("output_lengths", "int32", width),
        batched("scores", "float32", width),
    )


def _writing(*scored):
    """What writes a sequence; `scored`: the inputs of `score`."""
    randomness = (
        batched("uniforms", "float32", "samples", "output_time"),
        batched("temperature", "float32"),
        batched("top_k", "int32"),
        batched("top_p", "float32"),
    )
    return (
        strings(batched("output_text", "string"), batched("scores", "float32")),
        Signature("tokens", IDS, found("beams")),
        Signature("greedy", IDS, found("beams")),
        Signature("sample", (*IDS, *randomness), found("samples")),
        Signature("score", scored, (batched("log_probs", "float32"),)),
    )


def generating():
    """Of every model that reads one sequence of ids and writes another."""
    return _writing(
        batched("source_ids", "int32", "time"),
        batched("source_lengths"),
        batched("target_ids", "int32", "target_time"),
        batched("target_lengths"),
    )


def language_model():
    """Of a model that goes on with a prompt; `score` is of a whole text, which EOS does not end."""
    return _writing(*IDS)


RATING = batched("rating", "float32")


def classifier(num_labels):
    """Of a model that gives a text one of `num_labels` labels, or where that is 1 a number."""
    if num_labels == 1:
        return strings(RATING, batched("rated")), Signature("rate", IDS, (RATING,))
    probabilities = batched("probabilities", "float32", num_labels)
    return (
        strings(batched("label", "string"), probabilities),
        Signature("classify", IDS, (probabilities,)),
    )


def encoder(units):
    """Of a model that gives a text a vector of so many units."""
    vector = batched("vector", "float32", units)
    return strings(vector), Signature("embed", IDS, (vector,))


def pair_classifier(num_labels):
    """Of a model that gives two texts one of `num_labels` labels, or where that is 1 a number."""
    probabilities = batched("probabilities", "float32", num_labels)
    texts = batched("first_text", "string"), batched("second_text", "string")
    ids = [
        spec
        for side in ("first", "second")
        for spec in (batched(f"{side}_ids", "int32", f"{side}_time"), batched(f"{side}_lengths"))
    ]
    if num_labels == 1:
        return Signature("serving_default", texts, (RATING, batched("rated"))), Signature("rate", tuple(ids), (RATING,))
    return (
        Signature("serving_default", texts, (batched("label", "string"), probabilities)),
        Signature("compare", tuple(ids), (probabilities,)),
    )


def tagger(num_labels):
    """Of a model that gives every word one of `num_labels` tags.

    A word is what white space separates; `starts` and `ends` (exclusive) are its place in the text, in characters. Rows
    with fewer words than others end in "" and 0; `word_counts` says where.
    """
    return (
        strings(
            batched("tags", "string", "words"),
            batched("starts", "int32", "words"),
            batched("ends", "int32", "words"),
            batched("scores", "float32", "words"),
            batched("word_counts"),
        ),
        Signature("tag", IDS, (batched("probabilities", "float32", "time", num_labels),)),
    )

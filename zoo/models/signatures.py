"""What the models serve, as typed tables: the names are API, the same in SavedModel, ONNX, client and documents."""

from zoo.specs import Signature, TensorSpec


def rows(name, dtype="int32", *axes):
    """A tensor with the batch first, as every tensor of a signature has it."""
    return TensorSpec(name, dtype, ("batch", *axes))


def strings(*outputs):
    """The signature that a server answers when none is named: texts in."""
    return Signature("serving_default", (rows("text", "string"),), outputs)


IDS = (rows("token_ids", "int32", "time"), rows("lengths"))


def found(width):
    return (
        rows("output_ids", "int32", width, "output_time"),
        rows("output_lengths", "int32", width),
        rows("scores", "float32", width),
    )


def _writing(*scored):
    """What writes a sequence; `scored`: the inputs of `score`."""
    randomness = (
        rows("uniforms", "float32", "samples", "output_time"),
        rows("temperature", "float32"),
        rows("top_k", "int32"),
        rows("top_p", "float32"),
    )
    return (
        strings(rows("output_text", "string"), rows("scores", "float32")),
        Signature("tokens", IDS, found("beams")),
        Signature("greedy", IDS, found("beams")),
        Signature("sample", (*IDS, *randomness), found("samples")),
        Signature("score", scored, (rows("log_probs", "float32"),)),
    )


def generating():
    """Of every model that reads one sequence of ids and writes another."""
    return _writing(
        rows("source_ids", "int32", "time"),
        rows("source_lengths"),
        rows("target_ids", "int32", "target_time"),
        rows("target_lengths"),
    )


def language_model():
    """Of a model that goes on with a prompt; `score` is of a whole text, which EOS does not end."""
    return _writing(*IDS)


def classifier(num_labels):
    """Of a model that gives a text one of `num_labels` labels."""
    probabilities = rows("probabilities", "float32", num_labels)
    return (
        strings(rows("label", "string"), probabilities),
        Signature("classify", IDS, (probabilities,)),
    )


def pair_classifier(num_labels):
    """Of a model that gives two texts one of `num_labels` labels."""
    probabilities = rows("probabilities", "float32", num_labels)
    texts = rows("first_text", "string"), rows("second_text", "string")
    ids = [
        spec
        for side in ("first", "second")
        for spec in (rows(f"{side}_ids", "int32", f"{side}_time"), rows(f"{side}_lengths"))
    ]
    return (
        Signature("serving_default", texts, (rows("label", "string"), probabilities)),
        Signature("compare", tuple(ids), (probabilities,)),
    )


def tagger(num_labels):
    """Of a model that gives every word one of `num_labels` tags.

    A word is what white space separates; `starts` and `ends` (exclusive) are its place in the text, in characters. Rows
    with fewer words than others end in "" and 0; `word_counts` says where.
    """
    return (
        strings(
            rows("tags", "string", "words"),
            rows("starts", "int32", "words"),
            rows("ends", "int32", "words"),
            rows("scores", "float32", "words"),
            rows("word_counts"),
        ),
        Signature("tag", IDS, (rows("probabilities", "float32", "time", num_labels),)),
    )

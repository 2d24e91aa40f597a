"""What the models serve, as typed tables: the names are API, the same in SavedModel, ONNX, client and documents."""

from zoo.core.signatures import Signature, TensorSpec


def spec(name, dtype="int32", *axes):
    """A tensor with the batch first, as every tensor of a signature has it."""
    return TensorSpec(name, dtype, ("batch", *axes))


TEXT = (spec("text", "string"),)
IDS = (spec("token_ids", "int32", "time"), spec("lengths"))


def strings(*outputs):
    """The signature that a server answers when a request names none; its input is texts."""
    return Signature("serving_default", TEXT, outputs)


def _sequences(width):
    """The outputs of a search or of sampling, `width` sequences for each text."""
    return (
        spec("output_ids", "int32", width, "output_time"),
        spec("output_lengths", "int32", width),
        spec("scores", "float32", width),
    )


def _writer_signatures(*score_inputs):
    """Of every model that writes a sequence; `score_inputs` are those of `score`."""
    randomness = (
        spec("uniforms", "float32", "samples", "output_time"),
        spec("temperature", "float32"),
        spec("top_k", "int32"),
        spec("top_p", "float32"),
    )
    return (
        strings(spec("output_text", "string"), spec("scores", "float32")),
        Signature("tokens", IDS, _sequences("beams")),
        Signature("greedy", IDS, _sequences("beams")),
        Signature("sample", (*IDS, *randomness), _sequences("samples")),
        Signature("score", score_inputs, (spec("log_probs", "float32"),)),
    )


def generation():
    """Of every model that reads one sequence of ids and writes another."""
    return _writer_signatures(
        spec("source_ids", "int32", "time"),
        spec("source_lengths"),
        spec("target_ids", "int32", "target_time"),
        spec("target_lengths"),
    )


def language_model():
    """Of a model that goes on with a prompt; `score` is of a whole text, which EOS does not end."""
    return _writer_signatures(*IDS)


RATING = spec("rating", "float32")


def _label_signatures(name, texts, ids, num_labels):
    """Of every model that gives what it reads, `texts` or `ids`, one of `num_labels` labels, or a number."""
    if num_labels == 1:
        return Signature("serving_default", texts, (RATING, spec("rated"))), Signature("rate", ids, (RATING,))
    probabilities = spec("probabilities", "float32", num_labels)
    labelled = spec("label", "string"), probabilities
    return Signature("serving_default", texts, labelled), Signature(name, ids, (probabilities,))


def classifier(num_labels):
    """Of a model that gives a text one of `num_labels` labels; where that is 1, a number."""
    return _label_signatures("classify", TEXT, IDS, num_labels)


def encoder(units):
    """Of a model that gives a text a vector of so many units."""
    vector = spec("vector", "float32", units)
    return strings(vector), Signature("embed", IDS, (vector,))


def pair_classifier(num_labels):
    """Of a model that gives two texts one of `num_labels` labels; where that is 1, a number."""
    texts = spec("first_text", "string"), spec("second_text", "string")
    ids = [
        each
        for side in ("first", "second")
        for each in (spec(f"{side}_ids", "int32", f"{side}_time"), spec(f"{side}_lengths"))
    ]
    return _label_signatures("compare", texts, tuple(ids), num_labels)


def tagger(num_labels):
    """Of a model that gives every word one of `num_labels` tags.

    A word is what white space separates; `starts` and `ends` (exclusive) are its place in the text, in characters. Rows
    with fewer words than others end in "" and 0; `word_counts` says where.
    """
    return (
        strings(
            spec("tags", "string", "words"),
            spec("starts", "int32", "words"),
            spec("ends", "int32", "words"),
            spec("scores", "float32", "words"),
            spec("word_counts"),
        ),
        Signature("tag", IDS, (spec("probabilities", "float32", "time", num_labels),)),
    )

"""The columns of an answer in a table."""

LABELS = ("classify", "compare")


def columns(kind, n_best=None):
    """The columns of an answer of a model of a kind: name -> `(type, function from a result)`.

    `answer` is a text, a label, or the tags of the words, and `score` its log-probability, its probability, or those of
    the tags; `vector` is a vector, or null where a text has none; `error` and `warning` are those of the result or
    None. The type is str, float or "float32", or a list of one of them.
    With `n_best` there are also all hypotheses and their scores.
    """
    if kind in LABELS:
        found = {"answer": (str, lambda result: result.label), "score": (float, lambda result: result.probability)}
    elif kind == "tag":
        found = {
            "answer": ([str], lambda result: [word.tag for word in result.words]),
            "score": ([float], lambda result: [word.score for word in result.words]),
            "words": ([str], lambda result: [word.text for word in result.words]),
        }
    elif kind == "embed":
        found = {"vector": (["float32"], lambda result: result.vector or None)}
    else:
        found = {"answer": (str, lambda result: result.text), "score": (float, lambda result: result.score)}
        if n_best:
            found["n_best"] = [str], lambda result: [each.text for each in result.hypotheses]
            found["n_best_scores"] = [float], lambda result: [each.score for each in result.hypotheses]
    found["error"] = str, lambda result: result.error
    found["warning"] = str, lambda result: result.warning
    return found

"""One predictor for each kind of artefact. Each has `options`, `modes` and `run`."""


def __getattr__(name):
    """Import the predictors at their first use, so that a client of a server has `results` without ONNX Runtime."""
    if name != "PREDICTORS":
        raise AttributeError(f"module 'serving.runtime.predictors' has no attribute {name!r}")
    from serving.runtime.predictors.encoding import Embed
    from serving.runtime.predictors.labelling import Classify, Compare, Tag
    from serving.runtime.predictors.writing import Continue, Generate

    return {kind.__name__.lower(): kind for kind in (Generate, Continue, Classify, Compare, Tag, Embed)}

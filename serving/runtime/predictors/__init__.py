"""One predictor for each kind of artefact. Each has `options`, `modes` and `run`."""

from serving.runtime.predictors.labelling import Classify, Compare, Tag
from serving.runtime.predictors.writing import Continue, Generate

PREDICTORS = {"generate": Generate, "continue": Continue, "classify": Classify, "compare": Compare, "tag": Tag}

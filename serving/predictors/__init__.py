"""How an opened artefact answers: one class for each kind of model, all with `options`, `modes` and `run`."""

from serving.predictors.labelling import Classify, Compare, Tag
from serving.predictors.writing import Continue, Generate

PREDICTORS = {"generate": Generate, "continue": Continue, "classify": Classify, "compare": Compare, "tag": Tag}

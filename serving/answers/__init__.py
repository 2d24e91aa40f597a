"""How an opened artefact answers: one class for each kind of model, all with `options`, `modes` and `run`."""

from serving.answers.labelling import Classify, Compare, Tag
from serving.answers.writing import Continue, Generate

ANSWERS = {"generate": Generate, "continue": Continue, "classify": Classify, "compare": Compare, "tag": Tag}

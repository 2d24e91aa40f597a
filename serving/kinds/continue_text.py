"""The continuation of a prompt."""

from serving.kinds import rules
from serving.kinds.generate import Generate


class Continue(Generate):
    """The continuation of each prompt, without the prompt itself. A blank prompt begins a new text."""

    name = "continue"
    mark = ""  # a server has the outputs and inputs of what writes an output for a text
    options = ("beam", "n_best", "sampling", *rules.names(prompts=True), "length")
    prompts = True
    has_confidence = False


KIND = Continue()

"""Inference on ONNX Runtime, NumPy and SentencePiece alone: no training framework is needed.

runtime = Runtime("build/demo/dates-gru-additive/1")
runtime.run(["3. März 2021"])[0].text
"""

from serving.errors import UnsupportedError
from serving.loaded import Loaded
from serving.predictors import PREDICTORS
from serving.predictors.attention import attention
from serving.predictors.results import Attention, Hypothesis, Label, Result, Sampling, Tags, Word

__all__ = ["Attention", "Hypothesis", "Label", "Result", "Runtime", "Sampling", "Tags", "Word"]


class Runtime:
    """An artefact, opened for inference. Graphs load at first use and stay loaded.

    Args:
        directory: the artefact, `name/version/`.
        threads: inside one operator; None leaves the choice to ONNX Runtime (physical cores).
        precision: "float32", or "int8" if the artefact holds the quantised graphs.
        verify: compare every file that is opened, the manifest too, with the SHA-256 recorded for it. Files are opened
            when they are first needed; `seqzoo verify` checks all of them at once.
        overlong: what becomes of a text with more tokens than the artefact reads (`max_input` in its manifest):
            "refuse" leaves it unanswered, "truncate" reads a part of it, the last of a prompt and the first of
            everything else. None is as the artefact was exported.

    Raises:
        ValueError: no artefact there, or one without the precision asked for.
        DamagedError: a file is not what was exported. It is a ValueError; so is the next.
        UnsupportedError: this seqzoo or ONNX Runtime is older than the artefact needs.
        TypeError: threads is not an integer.
    """

    def __init__(self, directory, *, threads=None, precision="float32", verify=True, overlong=None):
        loaded = Loaded(directory, threads, precision, verify, overlong)
        self.manifest, self.kind = loaded.manifest, loaded.manifest["kind"]
        if self.kind not in PREDICTORS:
            raise UnsupportedError(
                f"{loaded.directory} is of the kind {self.kind!r}, which this seqzoo does not know; it knows "
                f"{list(PREDICTORS)}. Install a newer seqzoo."
            )
        self.max_input, self.overlong = loaded.bound.max_input, loaded.bound.overlong
        self._predictor = PREDICTORS[self.kind](loaded)

    @property
    def options(self):
        """Names of what `run` takes besides texts."""
        return self._predictor.options

    @property
    def modes(self):
        """Every `Mode` in which it can be asked: one for each graph that answers to texts."""
        return self._predictor.modes

    @property
    def beams(self):
        """The beam widths that the artefact has a graph for, ascending; none where it does not search."""
        return getattr(self._predictor, "beams", ())

    def run(self, texts, **options):
        """One result per text, in their order.

        What comes out depends on the artefact's kind: "generate" gives a `Result`, "continue" a `Result` with how the
        text goes on, "classify" a `Label`, "compare" (of texts "first TAB second") another, "tag" `Tags`. A blank text
        has a blank result, but a blank prompt is the beginning of a text. A text that is too long, or has no UTF-8
        form, has a blank result whose `error` says so; all the others are answered as if it were not there. A text that
        is read in part has a `warning`.

        Args:
            texts: a list of strings.
            **options: "generate" and "continue" take `beam`, a width from `beams`; `n_best`, how many hypotheses or
                samples a result holds; `sampling`, a `Sampling`, to sample instead of searching. "continue" also takes
                `length`, in tokens.

        Raises:
            TypeError: texts is one string, or holds something else than strings.
            ValueError: an option that this kind does not take, no graph for this beam, or a number out of its range.
        """
        wrong = sorted(options.keys() - set(self.options))
        if wrong:
            raise ValueError(
                f"{self.manifest['name']} is an artefact of kind {self.kind!r} and takes "
                f"{', '.join(self.options) or 'no option'}; received {', '.join(wrong)}. Leave out {', '.join(wrong)}."
            )
        return self._predictor.run(texts, **options)

    def score(self, texts):
        """`(log p, number of tokens)` of each text by a language model ("continue"); of a long one, of its beginning.

        Raises:
            TypeError: as of `run`.
            ValueError: another kind.
        """
        if self.kind != "continue":
            raise ValueError(f"{self.manifest['name']} is of kind {self.kind!r}: only 'continue' scores texts.")
        return self._predictor.score(texts)

    def attention(self, text, beam=None):
        """`Attention` of the best output of `text`; see `serving.predictors.attention`."""
        if self.kind != "generate":
            raise ValueError(f"{self.manifest['name']} is of kind {self.kind!r}: only 'generate' has an attention map.")
        return attention(self._predictor, text, beam)

"""An output that is written for a text, such as a translation, and the continuation of a prompt."""

from dataclasses import dataclass, field

from serving.kinds import rules
from serving.kinds.base import Column, Kind, Output, Remarks

EMPTY = -1e9  # the score of a place without a hypothesis, as the decoding graphs write it


@dataclass(frozen=True)
class Hypothesis:
    """An output text and its score, a log-probability (length-normalised in beam search); higher is better."""

    text: str
    score: float


@dataclass(frozen=True)
class Result(Remarks):
    """The output for one text, and all hypotheses (or samples), of which it is the first.

    Its confidence is the geometric mean of the probabilities of its pieces, its end among them. A server does not give
    it, and a continuation has none.
    """

    text: str
    score: float
    hypotheses: tuple[Hypothesis, ...]
    confidence: float | None = field(default=None, compare=False)

    @property
    def answer(self) -> str:
        return self.text


class Generate(Kind):
    """An output for each source. A blank source has a blank output with score 0."""

    name = "generate"
    mark = "output_text"
    outputs = (Output("output_text", "string"), Output("scores", "float32"))
    needs = ("generation", "default_beam", "max_length", "alpha", "rules")
    options = ("beam", "n_best", "sampling", *rules.names(prompts=False))
    # A client takes a model that continues prompts for this kind, too: a server does not tell the two apart.
    remote_options = ("beam", "n_best", "sampling", "length", "sentences", *rules.RULES)
    writes = True
    has_confidence = True

    def check(self, manifest):
        graph_files = set(manifest["graphs"].values())
        searches = {"generation": manifest["generation"]}
        searches["shortlist.generation"] = manifest.get("shortlist", {}).get("generation", {})
        for key, beam, file in ((key, *each) for key, files in searches.items() for each in files.items()):
            if file not in graph_files:
                return f"{key}.{beam}", "a file that `graphs` names", file
        if str(manifest["default_beam"]) not in manifest["generation"]:
            widths = sorted(manifest["generation"], key=int)
            return "default_beam", f"one of the widths in `generation`, {widths}", manifest["default_beam"]
        return None

    def graphs(self, manifest):
        """That of the default search, and that which draws tokens where texts go on."""
        files = {"search": manifest["generation"][str(manifest["default_beam"])]}
        draws = self.prompts and "sample" in manifest["graphs"]
        return files | ({"sample": manifest["graphs"]["sample"]} if draws else {})

    def light_graphs(self, manifest):
        """Those of the default search, and of a language model those that sample and score."""
        default = self.graphs(manifest)["search"]
        more = ("greedy", "tokens", "sample", "score") if self.prompts else ()
        return {name: file for name, file in manifest["graphs"].items() if file == default or name in more}

    def blank(self):
        return Result("", 0.0, (Hypothesis("", 0.0),))

    def line(self, result, escape):
        return result.text

    def lines(self, number, result, escape):
        return [f"{number}\t{each.score:.4f}\t{escape(each.text)}" for each in result.hypotheses]

    def record(self, fields, n_best):
        record = {"output": fields["text"], "score": fields["score"]}
        return record | ({"n_best": fields["hypotheses"]} if n_best else {})

    def columns(self, n_best):
        readers = {"answer": (str, lambda result: result.text), "score": (float, lambda result: result.score)}
        if n_best:
            readers["n_best"] = [str], lambda result: [each.text for each in result.hypotheses]
            readers["n_best_scores"] = [float], lambda result: [each.score for each in result.hypotheses]
        return readers

    def write(self, results, manifest, width):
        """`(batch,)` texts and scores, or `(batch, n_best)` of them; a place without a hypothesis is blank."""
        if width == 1:
            shape, rows = (len(results),), [(each.text, each.score) for each in results]
            return {
                "output_text": Column(shape, [text for text, _ in rows]),
                "scores": Column(shape, [score for _, score in rows]),
            }
        shape, nothing = (len(results), width), Hypothesis("", EMPTY)
        rows = [[*each.hypotheses[:width], *[nothing] * (width - len(each.hypotheses))] for each in results]
        return {
            "output_text": Column(shape, [[each.text for each in row] for row in rows]),
            "scores": Column(shape, [[each.score for each in row] for row in rows]),
        }

    def read(self, texts, columns, labels):
        for outputs, scores in zip(columns["output_text"], columns["scores"], strict=True):
            if isinstance(outputs, str):
                outputs, scores = [outputs], [scores]
            hypotheses = [
                Hypothesis(text, float(score))
                for place, (text, score) in enumerate(zip(outputs, scores, strict=True))
                if place == 0 or score > EMPTY
            ]
            yield Result(hypotheses[0].text, hypotheses[0].score, tuple(hypotheses))


class Continue(Generate):
    """The continuation of each prompt, without the prompt itself. A blank prompt begins a new text."""

    name = "continue"
    mark = ""  # a server has the outputs and inputs of what writes an output for a text
    options = ("beam", "n_best", "sampling", *rules.names(prompts=True), "length")
    prompts = True
    has_confidence = False

"""`Runtime`: an artefact, opened for inference."""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import onnxruntime

from serving.kinds import KINDS
from serving.runtime import doubt
from serving.runtime.loaded import Loaded, row_signatures, run_rows
from serving.runtime.reader import Reader
from serving.runtime.reading import as_list, join_words, texts_or_pairs, unicode_error
from serving.runtime.sampling import Mode, Samplings
from serving.runtime.sentences import Sentences
from serving.runtime.usual import warn_answer
from serving.runtime.writing import Attention, Continuer, Writer, attention


class Runtime:
    """An artefact, opened for inference. A graph is loaded at its first use and stays loaded.

    Args:
        directory: the artefact, `name/version/`, or the name of a model in a hub ("dates", "dates@1"), each file of
            which is downloaded when it is first needed (`zoo.hub`). A folder that exists wins.
        threads: the number of threads of one operator; None is one if all graphs of the artefact have less than
            8 MB, which more would slow down, and else one for each physical core.
        precision: "float32", or "int8" if the artefact has quantised graphs. None is float32 for a folder, unless its
            manifest names int8 (that of a published artefact does where int8 loses nothing); for a model of a hub, int8
            if its index says that it loses nothing.
        verify: compare the manifest and every file that is opened with the SHA-256 recorded for it. Files are opened
            when they are first needed; `seqzoo verify` checks all of them at once.
        overlong: how to treat a text with more tokens than the artefact reads (`max_input` in its manifest): "refuse"
            gives an error instead of an answer; "truncate" reads the end of a prompt, or the beginning of any other
            text. None is the choice that was made at the export.
        shortlist: search among the target ids that a table allows for the source (docs/serving.md), which takes less
            time and may change an answer. The artefact must have been exported with one.

    Raises:
        ValueError: there is no artefact, or it does not have this precision or a shortlist.
        DamagedError: a file was changed since the export. This class and the next are subclasses of ValueError.
        UnsupportedError: this seqzoo or ONNX Runtime is older than the artefact needs.
        TypeError: threads is not an integer.
        zoo.hub.HubError: a file cannot be downloaded, or is not what the index promises.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        threads: int | None = None,
        precision: Literal["float32", "int8"] | None = None,
        verify: bool = True,
        overlong: Literal["refuse", "truncate"] | None = None,
        shortlist: bool = False,
    ) -> None:
        loaded = Loaded(directory, threads, precision, verify, overlong, shortlist)
        self.manifest, self.kind = loaded.manifest, loaded.kind.name
        self.max_input, self.overlong = loaded.bound.max_input, loaded.bound.overlong
        self.max_padding = loaded.max_padding
        predictor: Any = Continuer if loaded.kind.prompts else Writer if loaded.kind.writes else Reader
        self._loaded, self._predictor = loaded, predictor(loaded.kind, loaded)

    @property
    def identity(self) -> dict[str, Any]:
        """What its answers depend on besides the options of `run`, as a dict that JSON holds.

        The SHA-256 of the manifest stands for every file, because the manifest has the hash of each.
        """
        manifest = json.dumps(self.manifest, sort_keys=True).encode()
        return {
            "name": self.manifest["name"],
            "version": self.manifest["version"],
            "manifest": hashlib.sha256(manifest).hexdigest(),
            "onnxruntime": onnxruntime.__version__,
        }

    @property
    def options(self) -> Sequence[str]:
        """The names of the options that `run` takes."""
        return self._predictor.options

    @property
    def modes(self) -> Sequence[Mode]:
        """The `Mode`s in which it can be run, one for each graph that answers texts."""
        return self._predictor.modes

    @property
    def beams(self) -> Sequence[int]:
        """The beam widths for which the artefact has a graph, ascending; empty if it does not search."""
        return self._predictor.beams

    def run(self, texts: Sequence[str] | Sequence[tuple[str, str]], **options: Any) -> list[Any]:
        """A list with one result for each text, in the same order.

        The class of the results depends on the artefact's kind: a `Result` for "generate" and "continue" (there it
        holds the continuation of the text), a `Label` for "classify" and "compare" (there a text is "first TAB
        second"), a `Rating` for "rate", `Tags` for "tag", a `Vector` for "embed". A blank text has a blank result,
        except that "continue" begins a text from a blank prompt. A text that is too long, or that UTF-8 cannot encode,
        has a blank result with an `error`; it does not change the results of the other texts. A text of which only a
        part is read, or pieces are unknown, and an answer that goes in circles or ends at the bound of its length, have
        a `warning`. So have texts and answers that are unlike those that validated the model (`serving.runtime.usual`),
        if its export knew these.

        Args:
            texts: a list of strings; of "compare" and "rate" also of pairs of strings, `(first, second)`.
            **options: "generate" and "continue" take `beam`, a width from `beams`; `n_best`, the number of hypotheses
                or samples in a result; `sampling`, a `Sampling`, to sample instead of searching, or a list with one for
                each text; and rules of the search, such as `no_repeat_ngram_size` or `bad_words`
                (`serving.kinds.rules`), which go before those that the artefact was exported with. "continue" also
                takes `length`, the number of tokens to write. "generate" takes `sentences`: each sentence of a text is
                run by itself, and line breaks and mark-up between them stay (`serving.runtime.sentences`). With
                "page" for it, a text is a page of Markdown or HTML, in which a sentence may go on over a line break;
                one that has no answer stays as it is, with a warning. All that have a `confidence` take
                `min_confidence`: an answer of less is an error. "tag" takes `words`, the rule that cuts texts into
                words (`zoo.text.words`) in the place of the artefact's; a text may also be the list of its words,
                whose places are those in the words joined by a space.

        Raises:
            TypeError: `texts` is a single string, or holds a value that is not a string; or an option is of another
                type.
            ValueError: this kind does not take an option, there is no graph for the beam width, or a number is out of
                its range.
        """
        by_sentence = options.pop("sentences", False) if self._loaded.kind.has_source else False
        if by_sentence not in (True, False, None, "page"):
            raise ValueError(f"sentences must be True, False or 'page'; received {by_sentence!r}.")
        if by_sentence:
            return self._run_by_sentence(texts, options, by_sentence == "page")
        least = options.pop("min_confidence", None)
        if least is not None:
            doubt.check_least(least, self._loaded.kind, self.manifest["name"])
            return doubt.refuse_unsure(self._loaded.kind, self.run(texts, **options), least)
        wrong = sorted(options.keys() - set(self.options))
        if wrong:
            raise ValueError(
                f"{self.manifest['name']} is an artefact of kind {self.kind!r} and takes "
                f"{', '.join(self.options) or 'no option'}; received {', '.join(wrong)}. Leave out {', '.join(wrong)}."
            )
        each = options.get("sampling")
        if isinstance(each, list | tuple):
            texts = as_list(texts)
            if len(each) != len(texts):
                raise ValueError(f"expected one Sampling for each of {len(texts)} texts; received {len(each)}.")
            options["sampling"] = Samplings(tuple(each))
        results, usual = self._predictor.run(texts, **options), self.manifest.get("usual")
        return [warn_answer(result, usual) for result in results] if usual and each is None else results

    def _run_by_sentence(self, texts, options, page):
        if options.get("sampling") is not None or (options.get("n_best") or 1) > 1:
            raise ValueError(
                "a text whose sentences are run by themselves has one answer: n_best above 1 and sampling are for "
                "whole texts. Leave out sentences, or those."
            )
        cut = self.sentences(texts, page)
        return cut.join(self.run(cut.sentences, **options))

    def sentences(self, texts: Sequence[str], page: bool = False) -> Sentences:
        """The texts, cut into the sentences of the language that the model reads; `page` as of `parts_of` there."""
        return Sentences(as_list(texts), self.manifest.get("task", "").partition(" ")[2].partition("-")[0], page)

    @property
    def signatures(self) -> dict[str, Any]:
        """The signatures of token ids that `run_rows` answers: the manifest's tables by name."""
        return row_signatures(self.manifest)

    def run_rows(self, signature: str, rows: Iterable[Any]) -> Any:
        """The outputs of a signature of token ids for each of `rows`; see `serving.runtime.loaded.run_rows`."""
        return run_rows(self._loaded, self.signatures[signature], rows)

    def preload(self) -> None:
        """Open every graph that `run` and `run_rows` may need, so that no later call reads a file."""
        names = {mode.graph for mode in self.modes} | {self.manifest["graphs"][name] for name in self.signatures}
        names |= {graph for name, graph in self.manifest["graphs"].items() if name == "sample"}
        for name in sorted(names):
            self._loaded.graphs.open(name)

    def lengths(self, texts: Sequence[str] | Sequence[tuple[str, str]]) -> list[int]:
        """The number of tokens that are read of each text (of a pair: of its longer side); 0 if it is refused.

        Raises:
            TypeError: as of `run`.
        """
        kind, bound = self._loaded.kind, self._loaded.bound
        if len(kind.sides(self.manifest)) > 1:  # a text of many TABs, which `run` refuses, has two parts
            sides = [text if isinstance(text, tuple) else tuple(text.split("\t", 1)) for text in texts_or_pairs(texts)]
        else:
            sides = [(text,) for text in (join_words(texts)[0] if kind.by_words else as_list(texts))]
        parts = iter([bound.clip(side) for both in sides for side in both])
        clipped = [[next(parts) for _ in both] for both in sides]
        counts = iter(self._loaded.ids([part.text for both in clipped for part in both]))
        return [min(bound.max_input, max(len(next(counts)) for _ in both)) for both in clipped]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each whole text, as a list, without an end of sentence.

        Raises:
            TypeError: as of `run`.
            ValueError: UTF-8 cannot encode a text.
        """
        texts = as_list(texts)
        for position, error in enumerate(map(unicode_error, texts)):
            if error:
                raise ValueError(f"the text at position {position} has no tokens, for it is {error}.")
        return self._loaded.ids(texts)

    def score(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        """`(log p, number of tokens)` of each text under a language model ("continue").

        Of a text that is too long, only the beginning is scored.

        Raises:
            TypeError: as of `run`.
            ValueError: the artefact is of another kind.
        """
        self._check_can("prompts", "scores texts")
        return self._predictor.score(texts)

    def attention(self, text: str, beam: int | None = None) -> Attention:
        """The `Attention` of the best output for `text`; see `serving.runtime.writing`."""
        self._check_can("has_source", "has an attention map")
        return attention(self._predictor, text, beam)

    def _check_can(self, trait: str, does: str) -> None:
        kinds = [name for name, kind in KINDS.items() if getattr(kind, trait)]
        if self.kind not in kinds:
            only = " or ".join(map(repr, kinds))
            raise ValueError(f"{self.manifest['name']} is of kind {self.kind!r}: only {only} {does}.")

"""From a list of texts to requests, and from the columns of their answers to the results that a `Runtime` gives."""

import dataclasses
from itertools import zip_longest
from numbers import Integral, Real

from serving.client.errors import AnswerError
from serving.kinds import KINDS, find_kind
from serving.kinds.base import PLACES, pair
from serving.kinds.rules import RULES, checked
from serving.runtime import doubt
from serving.runtime.reading import is_blank, unicode_error

MOST_CHARACTERS = 1 << 20  # of the texts of a request: 6 MiB at most, where `seqzoo serve` takes 8


def kind_of(description, where):
    """The kind of a model, by its outputs and inputs, and its sides. A model that continues texts looks like one that
    writes an output for a text.

    Raises:
        AnswerError: the model is of no kind that answers texts.
    """
    kind = find_kind(description.inputs, description.outputs)
    if kind is None:
        marks = dict.fromkeys(each.mark for each in KINDS.values() if each.mark)
        raise AnswerError(
            f"{where} has no model of texts there: expected one of the outputs {', '.join(marks)}, it has "
            f"{', '.join(description.outputs) or 'none'}."
        )
    return kind


def results_of(kind, texts, columns, labels):
    """A result for each text.

    Args:
        kind: a `serving.kinds.base.Kind`.
        texts: the texts that were asked.
        columns: the outputs, lists by name with a row for each text.
        labels: the names of the labels in the order of their ids, if they are known.

    Raises:
        ValueError, KeyError, TypeError: the columns do not fit the kind or the texts.
    """
    count = len(texts)
    counts = {name: len(values) for name, values in columns.items() if len(values) != count}
    if counts:
        raise ValueError(f"{count} texts were asked, and {counts} rows came back")
    remarks = zip(*(columns.get(name, [""] * count) for name in ("errors", "warnings")), strict=True)
    return [
        dataclasses.replace(result, error=error or None, warning=warning or None)
        for result, (error, warning) in zip(kind.read(texts, columns, labels), remarks, strict=True)
    ]


class Work:
    """The requests for a list of texts, and how their results become one list.

    A text that cannot be sent, because it is longer than a request, UTF-8 cannot encode it or it is no pair, is refused
    here, in the words of `Runtime`. The first request of a list sends as many texts as the others, in their order.

    Args:
        client: the `Client`.
        texts: strings.
        cut: of each text the places of its words, if it was the list of them.
        options: of `run`, without `min_confidence`.
        least: that one, or None.
    """

    def __init__(self, client, texts, cut, options, least):
        self._least = least
        self._kind, sides = client._kind_and_sides
        self._cut, self._takes_rule = cut, "words" in client.options
        self.count = len(texts)
        self.refused = {place: error for place, text in enumerate(texts) if (error := _find_error(sides, text))}
        self.places = [place for place in range(self.count) if place not in self.refused]
        self.requests = []
        for group, parameters in self._group(texts, client.batch, options):
            chosen_texts, places = ([each[place] for place in group] for each in (texts, cut))
            self.requests.append((chosen_texts, places, _columns(sides, chosen_texts), parameters))

    def _group(self, texts, most, options):
        """`(places, parameters)` of each request."""
        groups, size = [], 0
        for place in self.places:
            size += len(texts[place])
            if (
                not groups
                or len(groups[-1]) == most
                or size > MOST_CHARACTERS
                or self._begins_request(groups[-1][-1], place, options)
            ):
                groups.append([])
                size = len(texts[place])
            groups[-1].append(place)
        return [(group, _parameters(options | self._rule(group[0]), group[0])) for group in groups]

    def _begins_request(self, before, place, options):
        """Whether the text behind another one begins a new request.

        Samples are numbered by the texts of a request, which therefore has no gap, and its parameters hold for all.
        """
        return "sampling" in options and before != place - 1 or self._rule(before) != self._rule(place)

    def _rule(self, place):
        """The parameter by which the server cuts the words of a list, joined by spaces, as they were."""
        return {"words": "spaces"} if self._takes_rule and self._cut[place] is not None else {}

    def join(self, results_of_groups):
        """The results in the order of the texts."""
        results = [None] * self.count
        for place, error in self.refused.items():
            results[place] = dataclasses.replace(self._kind.blank(), error=error)
        answers = [result for group in results_of_groups for result in group]
        if self._least is not None:
            answers = doubt.refuse_unsure(self._kind, answers, self._least)
        for place, result in zip(self.places, answers, strict=True):
            results[place] = result
        return results


def check_words(kind, result, text, places):
    """The result, or a blank one with an error where a server has other words than the list that was given."""
    if places is None or result.error:
        return result
    words = [(word.start, word.end) for word in result.words]
    if words == (places[: len(words)] if result.warning else places):  # a long text is cut, with a warning
        return result
    both = zip_longest(words, places, fillvalue=(0, 0))
    one, other = next((text[slice(*one)], text[slice(*other)]) for one, other in both if one != other)
    error = (
        f"the server has the word {one!r} where the list has {other!r}: it cuts a text into words itself, where white "
        "space is, or by the rule of the model. Ask a Runtime, or give words that it finds"
    )
    return dataclasses.replace(kind.blank(), error=error)


def _find_error(sides, text):
    """Why a text cannot be sent, or None."""
    if len(text) > MOST_CHARACTERS:  # a server refuses the whole request
        return f"{len(text)} characters, at most {MOST_CHARACTERS}"
    if len(sides) == 1 or is_blank(text):
        return unicode_error(text)
    try:
        both = pair(text)
    except ValueError as error:
        return str(error)
    for place, side in zip(PLACES, both, strict=True):
        if reason := unicode_error(side):
            return place + reason
    return None


def _columns(sides, texts):
    if len(sides) == 1:
        return {sides[0]: texts}
    pairs = [pair(text) if not is_blank(text) else ("", "") for text in texts]
    return {side: [both[place] for both in pairs] for place, side in enumerate(sides)}


def _parameters(options, first):
    """The parameters of a request whose first text has this number."""
    others = {name: value for name, value in options.items() if name != "sampling" and name not in RULES}
    parameters = {name: _as_json(value) for name, value in others.items() if value is not None}
    for name, value in checked({name: value for name, value in options.items() if name in RULES}).items():
        parameters[name] = "\n".join(value) if RULES[name].kind is list else value
    sampling = options.get("sampling")
    if sampling is None:
        return parameters
    if isinstance(sampling, type) or not dataclasses.is_dataclass(sampling):
        raise TypeError(f"sampling must be a serving.runtime.Sampling, such as Sampling(); received {sampling!r}.")
    sampling_fields = {name: _as_json(value) for name, value in dataclasses.asdict(sampling).items()}
    sampling_fields["first"] += first
    if not sampling_fields["first"]:  # which a server that knows no such parameter draws, too
        del sampling_fields["first"]
    return parameters | {"sample": True} | sampling_fields


def _as_json(value):
    """A number as JSON has them: a `Runtime` takes one of NumPy, too, such as a seed that was drawn."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)

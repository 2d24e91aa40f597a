"""The rules of a search that a caller may give: their names, what they mean, and the inputs that graphs have for them.

The command line, the parameters of both protocols, the settings of an export and the checks are made of this table;
`zoo.decoding.rules` says what each rule computes. It needs only the standard library.
"""

from dataclasses import dataclass
from numbers import Integral, Real

from serving.lazy import later

np = later("numpy")

MOST = 1_000_000
MOST_CHARACTERS = 10_000  # of all texts of a rule
MOST_CELLS = 100_000  # of the table that a graph compares each step with: a row for each text, as wide as the longest


@dataclass(frozen=True)
class Rule:
    """One rule.

    Args:
        meaning: what it does.
        kind: of its value: int, float, str, or list for several strings.
        off: the value of a search without it.
        least, most: the range of a number.
        input: the input of the graph, if it has another name.
        prompts: whether a model that continues a prompt takes it, too.
        ranks: whether it ranks the hypotheses of a beam search, so that greedy decoding and sampling have no use for
            it. Graphs compute it where their export has a value for it, and take others then.
    """

    meaning: str
    kind: type
    off: object
    least: float = 0
    most: float = MOST
    prompts: bool = True
    ranks: bool = False

    def check(self, name, value):
        """The value as its kind.

        Raises:
            ValueError: it has another type, or is out of its range.
        """
        if self.kind in (str, list):
            texts = [value] if self.kind is str else value
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise ValueError(
                    f"{name} must be {'a string' if self.kind is str else 'a list of strings'}; received {value!r}."
                )
            if sum(map(len, texts)) > MOST_CHARACTERS:
                raise ValueError(f"{name} may have {MOST_CHARACTERS:,} characters; received {sum(map(len, texts)):,}.")
            longest = max(map(len, texts), default=0)
            if len(texts) * longest > MOST_CELLS:
                raise ValueError(
                    f"{name} may have {MOST_CELLS:,} characters if each text is filled to the length of the longest; "
                    f"received {len(texts):,} texts, the longest of {longest:,}. Shorten the longest, or give fewer."
                )
            return value if self.kind is str else tuple(texts)
        is_whole = self.kind is int
        is_number = isinstance(value, Integral if is_whole else Real) and not isinstance(value, bool)
        if not is_number or not self.least <= value <= self.most:
            raise ValueError(
                f"{name} must be {'a whole number' if is_whole else 'a number'} from {self.least:,} to {self.most:,}; "
                f"received {value!r}."
            )
        return self.kind(value)


RULES = {
    "no_repeat_ngram_size": Rule("no N pieces in a row are written a second time; 0 allows it", int, 0, most=16),
    "repetition_penalty": Rule(
        "a piece that is there already costs X times as much, by its log-probability; 1 is none", float, 1.0, 0.01, 100
    ),
    "min_length": Rule("the least number of pieces of an answer", int, 0),
    "max_length": Rule("the largest number of pieces of an answer; 0 leaves it to the model", int, 0, prompts=False),
    "length_ratio": Rule(
        "an answer has at most this many times the pieces of the text, its end counted; 0 leaves it to the model",
        float,
        0.0,
        prompts=False,
    ),
    "length_extra": Rule("with length_ratio, so many pieces more", int, 0, prompts=False),
    "prefix": Rule("every answer begins with this text", str, "", prompts=False),
    "bad_words": Rule("words that no answer holds, piece by piece as the tokenizer cuts them", list, ()),
    "coverage_penalty": Rule(
        "an answer that leaves parts of the text out ranks lower, by GNMT's beta (0.2, for example); 0 ranks none",
        float,
        0.0,
        most=100,
        prompts=False,
        ranks=True,
    ),
}
INPUTS = {"prefix": "forced_tokens"}  # what a graph calls a rule, where it has another name
GRAPH_INPUTS = {INPUTS.get(name, name) for name in RULES}


def checked(rules):
    """Rules by name, checked; those that are None are left out.

    Raises:
        ValueError: there is no such rule, or a value is wrong.
    """
    wrong = sorted(rules.keys() - RULES.keys())
    if wrong:
        raise ValueError(f"a search has no rule {', '.join(wrong)}; it has {', '.join(RULES)}.")
    return {name: RULES[name].check(name, value) for name, value in rules.items() if value is not None}


def names(prompts):
    """The names of the rules; with `prompts`, only of those that a model takes that continues prompts."""
    return [name for name, rule in RULES.items() if rule.prompts or not prompts]


def length_bound(rules, most, source_length):
    """The largest number of pieces of an answer, in float32 as a graph computes it.

    Args:
        rules: values by name.
        most: what a run of the graph writes at most.
        source_length: the number of ids of the text, its end included.
    """
    bound = rules.get("max_length") or most
    if rules.get("length_ratio"):
        ratio, extra = np.float32(rules["length_ratio"]), np.float32(rules.get("length_extra", 0))
        bound = min(bound, int(np.floor(ratio * np.float32(source_length) + extra)))
    return min(most, max(bound, rules.get("min_length", 0), 1))


def inputs(rules, encode):
    """The inputs of a graph for checked rules, arrays for one row.

    Args:
        rules: values by name.
        encode: a function from a text to its pieces.
    """
    arrays = {}
    for name, value in rules.items():
        if RULES[name].kind is str:
            values = [encode(value) or [-1]]
        elif RULES[name].kind is list:
            words = [pieces for word in value if (pieces := encode(word))] or [[-1]]
            most = max(map(len, words))
            values = [[[-1] * (most - len(pieces)) + pieces for pieces in words]]
        else:
            values = [value]
        arrays[INPUTS.get(name, name)] = np.array(values, "float32" if RULES[name].kind is float else "int32")
    return arrays

"""Rules of a search: what may not be written, or costs more, given what is written already.

Each rule but the coverage penalty changes the scores of the next token, as the logits processors of transformers do,
whose names they have.
"""

from copy import copy

from keras import ops

from zoo.core.searching import NOTHING
from zoo.decoding.loop import EOS, own_rows
from zoo.decoding.written import BARRED, Written, at_most, barred, highest, places_of, scattered

MOST_NGRAM = 16  # the longest n-gram where n is a tensor
ENDLESS = 1 << 30
OFF = {
    "no_repeat_ngram_size": 0,
    "repetition_penalty": 1.0,
    "min_length": 0,
    "max_length": 0,
    "length_ratio": 0.0,
    "length_extra": 0,
    "forced_tokens": -1,
    "bad_words": -1,
    "coverage_penalty": 0.0,
    "n_best": 0,
}
RANKING = ("coverage_penalty", "n_best")  # what is about several hypotheses, and so means nothing where there is one
LISTS = {"forced_tokens": "(batch or 1, places)", "bad_words": "(batch or 1, words, pieces)"}
DTYPES = {name: "float32" if isinstance(value, float) else "int32" for name, value in OFF.items()}


class Rules:
    """What changes the scores of the next token: each rule is a number, or a tensor with a value for each row, or one.

    - `no_repeat_ngram_size`: no n-gram of this size is written twice; 0 allows it.
    - `repetition_penalty`: the score s of a token that is there already is `s * p` if it is negative, else `s / p`
      (CTRL, https://arxiv.org/abs/1909.05858); 1 does nothing. In a beam search scores are log-probabilities, which are
      not normalised again; greedy decoding and sampling change logits, which are.
    - `min_length`: EOS cannot be written before this many tokens.
    - `max_length`, and `length_ratio * source + length_extra` where `length_ratio` is not 0: behind this many tokens
      nothing but EOS can be written. The source counts all of its ids, and the result is rounded down. At least one
      token, and `min_length` of them, may always be written.
    - `forced_tokens (batch or 1, places)`: at the first places these tokens must be written, whatever other rules say;
      -1 is no rule.
    - `bad_words (batch or 1, words, pieces)`: sequences of tokens that may not be written; -1 fills on the left.
    - `coverage_penalty`: beta of `zoo.decoding.beam`, which a beam search adds to the score of a hypothesis; 0 adds
      nothing. No token's score depends on it.
    - `n_best`: so many hypotheses of a beam search are wanted, which may end as soon as it has them; 0 wants as many as
      there are without this rule, all, or one where `Ranking.stop` is "next".

    Args:
        source_lengths: `(batch,)`, for `length_ratio`.
        before: `(token_ids, lengths)` of prompts, whose tokens count as written; None where there are none.
        conditional: spend nothing on the rules in a run in which all are off. It is for graphs of TensorFlow and ONNX,
            not for XLA.
        fixed: the `Fixed` rules of the model.
        **given: rules by name.

    Raises:
        ValueError: there is no such rule, an n-gram is longer than 16, the coverage penalty is negative, that of
            repetitions is not positive, a list has another number of axes, or `length_ratio` has no source lengths.
    """

    def __init__(self, source_lengths=None, before=None, conditional=False, fixed=NOTHING, **given):
        wrong = sorted(given.keys() - OFF.keys())
        if wrong:
            raise ValueError(f"A search has no rule {', '.join(wrong)}: expected some of {', '.join(OFF)}.")
        n = given.get("no_repeat_ngram_size", 0)
        if isinstance(n, int) and not 0 <= n <= MOST_NGRAM:
            raise ValueError(f"no_repeat_ngram_size must lie between 0 and {MOST_NGRAM}. Received: {n}.")
        beta = given.get("coverage_penalty", 0.0)
        if isinstance(beta, int | float) and not beta >= 0:
            raise ValueError(f"coverage_penalty must be a number >= 0. Received: {beta}.")
        penalty = given.get("repetition_penalty", 1.0)
        if isinstance(penalty, int | float) and not penalty > 0:
            raise ValueError(f"repetition_penalty must be a number > 0. Received: {penalty}.")
        on = {name: value for name, value in given.items() if not isinstance(value, int | float) or value != OFF[name]}
        self.on = {name: ops.convert_to_tensor(value, DTYPES[name]) for name, value in on.items()}
        for name, axes in LISTS.items():
            if name in self.on and len(self.on[name].shape) != axes.count(",") + 1:
                raise ValueError(f"{name} must be {axes}. Received the shape {tuple(self.on[name].shape)}.")
        if "length_ratio" in self.on and source_lengths is None:
            raise ValueError("length_ratio needs the lengths of the sources. Received: source_lengths=None.")
        self.source_lengths, self.before, self.conditional = source_lengths, before, conditional
        self.always, self.renormalize = _tensors(fixed), fixed.renormalize
        self.most_ngram = n if isinstance(n, int) else MOST_NGRAM
        if conditional and "no_repeat_ngram_size" in self.on:
            self.most_ngram = ops.maximum(ops.max(self.on["no_repeat_ngram_size"]), 2)
        self.rows = {name: ops.reshape(value, (-1, 1, 1)) for name, value in self.on.items() if name not in LISTS}
        beta, wanted = (self.on.pop(name, None) for name in RANKING)
        self.coverage = None if beta is None else ops.reshape(beta, (-1, 1))
        self.n_best = None if wanted is None else ops.reshape(wanted, (-1, 1))
        self.only_at = self._longest() if self.on.keys() & {"max_length", "length_ratio"} else None
        asked = {name: value for name, value in self.on.items() if name != "length_extra"}
        self.asked = _any_on(asked)
        self.asked_more = _any_on({name: value for name, value in asked.items() if name != "no_repeat_ngram_size"})

    def __bool__(self):
        """Whether any changes the scores of tokens."""
        return bool(self.on or self.always)

    def among(self, candidates):
        """The same rules where tokens are places in `candidates`, ascending ids; see `zoo.decoding.shortlist`."""
        rules = copy(self)
        named = self.on.keys() & set(LISTS)
        rules.on = self.on | {name: places_of(self.on[name], candidates) for name in named}
        rules.always = {name: places_of(ids, candidates) for name, ids in self.always.items()}
        return rules

    def rows_of(self):
        """The tensors that may have a value for each row, by place."""
        return own_rows(dict(self._by_row()))

    def with_rows(self, rows):
        """The same rules for some rows, whose values are given as of `rows_of`."""
        rules = copy(self)
        held = dict(self._by_row()) | rows
        rules.on = {name: held.get(f"on.{name}", value) for name, value in self.on.items()}
        rules.rows = {name: held[f"rows.{name}"] for name in self.rows}
        rules.only_at, rules.coverage, rules.n_best = (held[name] for name in ("only_at", "coverage", "n_best"))
        rules.before = None if self.before is None else (held["before.ids"], held["before.lengths"])
        return rules

    def _by_row(self):
        yield from ((f"on.{name}", value) for name, value in self.on.items() if len(value.shape))
        yield from ((f"rows.{name}", value) for name, value in self.rows.items())
        yield from (("only_at", self.only_at), ("coverage", self.coverage), ("n_best", self.n_best))
        if self.before is not None:
            yield from zip(("before.ids", "before.lengths"), self.before, strict=True)

    def allowed(self, logits):
        """The logits, with those of tokens that are never written at minus infinity, nearly."""
        if "barred_tokens" not in self.always:
            return logits
        return logits + _never(self.always["barred_tokens"][:, None], logits)

    def __call__(self, position, scores, tokens):
        """What is added to the scores of the next token.

        Args:
            position: how many tokens are written.
            scores: `(batch, beams, vocabulary)` float32.
            tokens: `(batch, beams, max_length)`, the first `position` of them written.

        Returns: what has the shape of `scores` when it is added to them.
        """

        def added():
            return self._added(position, scores, tokens)

        if self.always.keys() & set(LISTS):
            return self._settled(position, scores, tokens, self._where(self.asked, added))
        return self._where(self.asked, lambda: self._settled(position, scores, tokens, added()))

    def best(self, position, scores, tokens, count, free_end=False):
        """The next tokens of each hypothesis with the highest changed scores, `count` or a few more, if there are.

        Where no rule changes a score, `conditional` rules cost no pass over the vocabulary.

        Args:
            position, scores, tokens: as of `__call__`.
            count: how many are looked for.
            free_end: whether the EOS that `max_length` and `length_ratio` ask for costs nothing.

        Returns: `(scores, ids)`, each `(batch, beams, some)`.
        """
        never = self._never_alone()
        count = at_most(count + (0 if never is None else never.shape[-1]), scores)

        def changed():
            left = scores + self(position, scores, tokens)
            if free_end and self.only_at is not None:
                left = ops.where(position < self.only_at, left, ops.where(_ids(scores) == EOS, 0.0, BARRED))
            return highest(left, count)

        def unchanged():
            values, ids = highest(scores, count)
            if never is None:
                return values, ids
            return ops.where(ops.any(ids[..., None] == never, axis=-1), BARRED, values), ids

        def asked():
            if "no_repeat_ngram_size" not in self.on:
                return changed()
            repeats = ops.any(self._repeating(Written(position, tokens, self.before)))
            more = repeats if self.asked_more is None else ops.logical_or(self.asked_more, repeats)
            return ops.cond(more, changed, unchanged)

        if self.always.keys() & set(LISTS) and never is None:
            return changed()
        if self.asked is None:
            return unchanged()
        return ops.cond(self.asked, asked, unchanged) if self.conditional else changed()

    def _never_alone(self):
        """`(1, 1, 1, n)` tokens that are never written, where no other fixed rule changes a score; otherwise None."""
        words = self.always.get("bad_words")
        if words is None or words.shape[-1] > 1 or self.renormalize or "forced_tokens" in self.always:
            return None
        return words[:, None, None, :, 0]

    def _settled(self, position, scores, tokens, changes):
        """The changes, and those of the fixed rules."""
        if "bad_words" in self.always:
            changes = changes + self._words(Written(position, tokens, self.before), scores, self.always["bad_words"])
        if "forced_tokens" in self.always:
            only, ids = _place(self.always["forced_tokens"], position), _ids(scores)
            changes = ops.where(only < 0, changes, ops.where(ids == only, -scores, BARRED))
        if not self.renormalize:
            return changes
        left = scores + changes
        return ops.where(left > BARRED / 2, ops.log_softmax(left, axis=-1) - scores, changes)

    def _where(self, asked, compute, otherwise=0.0):
        """What is computed, in a graph only where `asked` is true."""
        if not self.conditional:
            return compute()
        nothing = ops.zeros((1, 1, 1)) + otherwise
        return nothing if asked is None else ops.cond(asked, compute, lambda: nothing)

    def _added(self, position, scores, tokens):
        written = Written(position, tokens, self.before)
        ngrams = self._ngrams(written, scores) if "no_repeat_ngram_size" in self.on else 0.0
        return self._where(self.asked_more, lambda: self._more(written, position, scores, ngrams), ngrams)

    def _more(self, written, position, scores, changes):
        if "repetition_penalty" in self.on:
            changes = changes + self._penalties(written, scores)
        if "bad_words" in self.on:
            changes = changes + self._words(written, scores, self.on["bad_words"])
        return self._by_place(position, scores, changes)

    def _penalties(self, written, scores):
        ids = ops.where(written.there, written.tokens, 0)
        own, penalty = ops.take_along_axis(scores, ids, axis=2), self.rows["repetition_penalty"]
        own = ops.maximum(own, BARRED)  # a difference of two infinities is no number
        change = ops.where(own < 0, own * penalty, own / penalty) - own
        return scattered(scores, written.there, ids, change)

    def _ngrams(self, written, scores):
        again = self._repeating(written)
        return self._where(ops.any(again), lambda: barred(scores, again, written.tokens))

    def _repeating(self, written):
        return written.repeating(self.rows["no_repeat_ngram_size"], self.most_ngram)

    @staticmethod
    def _words(written, scores, words):
        end = words[:, None, :, -1]
        if words.shape[-1] == 1 and words.shape[0] == 1:
            return _never(end, scores)
        whole = ops.logical_and(written.ends_with(words[:, None, :, :-1]), end >= 0)
        return barred(scores, whole, ops.broadcast_to(end, ops.shape(whole)))

    def _by_place(self, position, scores, changes):
        """The changes, and those of the rules that depend on how many tokens are written."""
        ids = _ids(scores)
        if "min_length" in self.on:
            early = ops.logical_and(ids == EOS, position < self.rows["min_length"])
            changes = changes + ops.where(early, BARRED, 0.0)
        only = self._only(position)
        if only is None:
            return changes
        return ops.where(only < 0, changes, ops.where(ids == only, 0.0, BARRED))

    def _only(self, position):
        """The one token that may be written, `(batch or 1, 1, 1)`, or -1 where there are more; None if no rule says."""
        only = None
        if self.only_at is not None:
            only = ops.where(position >= self.only_at, EOS, -1)
        if "forced_tokens" in self.on:
            before = self.always["forced_tokens"].shape[1] if "forced_tokens" in self.always else 0
            here = _place(self.on["forced_tokens"], position - before)
            only = here if only is None else ops.where(here >= 0, here, only)
        return only

    def _longest(self):
        most = ops.full((1, 1, 1), ENDLESS, dtype="int32")
        if "max_length" in self.on:
            most = ops.where(self.rows["max_length"] > 0, self.rows["max_length"], most)
        if "length_ratio" in self.on:
            ratio = self.rows["length_ratio"]
            source = ops.cast(ops.reshape(self.source_lengths, (-1, 1, 1)), "float32")
            extra = ops.cast(self.rows["length_extra"], "float32") if "length_extra" in self.on else 0.0
            follows = ops.cast(ops.floor(ratio * source + extra), "int32")
            most = ops.where(ratio > 0, ops.minimum(follows, most), most)
        least = self.rows["min_length"] if "min_length" in self.on else 1
        return ops.maximum(most, ops.maximum(least, 1))


def _tensors(fixed):
    """Those of the fixed rules that there are, as tensors of ids."""
    most = max(map(len, fixed.bad_words), default=0)
    words = tuple((-1,) * (most - len(word)) + tuple(word) for word in fixed.bad_words)
    lists = {"forced_tokens": fixed.forced_tokens, "barred_tokens": fixed.barred_tokens, "bad_words": words}
    return {name: ops.convert_to_tensor([ids], "int32") for name, ids in lists.items() if ids}


def _never(ids, scores):
    """BARRED at ids that are barred whatever is written, `(1, 1, n)`, for all rows: `(1, 1, vocabulary)`."""
    return barred(ops.zeros((1, 1, ops.shape(scores)[-1])), ids >= 0, ids)


def _ids(scores):
    """All ids, against scores."""
    return ops.arange(ops.shape(scores)[-1], dtype="int32")[None, None]


def _place(forced, position):
    """What must be written there, `(batch or 1, 1, 1)`; -1 where nothing must. At places before 0 nothing matters."""
    places = ops.shape(forced)[1]
    here = ops.take(forced, ops.clip(position, 0, places - 1), axis=1)
    return ops.reshape(ops.where(position < places, here, -1), (-1, 1, 1))


def _any_on(rules):
    """Whether any number of the rules differs from the one that does nothing, a scalar; None if there is no rule."""
    off = [ops.reshape(value == OFF[name], (-1,)) for name, value in rules.items()]
    return ops.logical_not(ops.all(ops.concatenate(off))) if off else None

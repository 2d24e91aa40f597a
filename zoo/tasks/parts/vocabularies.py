"""From texts to token ids: vocabularies, noise, and the settings of batches."""

import unicodedata
from collections import Counter

from zoo.core.protocols import Embedding
from zoo.text import SubwordNoise, Tokenizer, sentence_ends, spelling_features


def learn(vocabulary, text, texts, verbatim=False):
    """A `zoo.text.Tokenizer`, learnt from training texts alone.

    Args:
        vocabulary: the table of its size, pieces and normalization.
        text: the table of what both sides share.
        texts: list of strings.
        verbatim: whether texts are kept as they are, white space too.
    """
    return Tokenizer.train(
        texts,
        vocabulary.vocab_size,
        model_type=vocabulary.pieces,
        normalization=vocabulary.normalization,
        character_coverage=text.character_coverage,
        byte_fallback=text.byte_fallback,
        verbatim=verbatim,
    )


def bucket_plan(recipe, training):
    """The arguments of `zoo.data.epochs.Bucketed`. Validation keeps every example, however long."""
    settings = recipe.training
    plan = {"batch_size": settings.batch_size, "seed": settings.seed, "shuffle": training}
    if training:
        return plan | {"num_buckets": settings.num_buckets, "max_length": settings.max_length or None}
    return plan | {"num_buckets": max(1, settings.num_buckets // 2)}


def cut_texts(encoded, most):
    """(texts as lists of words of token ids, each cut after `most` ids; how many texts were cut)."""
    texts = [first_tokens(words, most) for words in encoded]
    return texts, sum(one is not other for one, other in zip(texts, encoded, strict=True))


def first_tokens(words, most):
    """The first `most` token ids of a text, word by word; all of them if `most` is 0."""
    if not most or sum(map(len, words)) <= most:
        return words
    first, room = [], most
    for word in words:
        if room <= 0:
            break
        first.append(word[:room])
        room -= len(word)
    return first


def make_noise(text, tokenizer, texts):
    """The `zoo.text.SubwordNoise` of a table of settings; None if training reads texts as they are."""
    settings = text.noise
    if settings.candidates == 1 and not settings.dropout:
        return None
    counts = Counter(word for each in texts for word in each.split())
    return SubwordNoise(
        tokenizer,
        [word for word, count in counts.items() if count <= (settings.rare or count)],
        candidates=settings.candidates,
        alpha=settings.alpha,
        dropout=settings.dropout,
    )


def tell_embedding(embedding, tokenizer):
    """Tell an embedding what it must know about the pieces: their spelling, or which of them end a sentence."""
    traits = Embedding.of(embedding)
    if traits.spells:
        embedding.set_features(*spelling_features(tokenizer.pieces, embedding.buckets))
    if traits.reads_sentences:
        embedding.mark(sentence_ends(tokenizer.pieces))


def encode_verbatim(tokenizer, text):
    """Token ids of a long text, line by line, which a verbatim tokenizer encodes as the whole."""
    lines = text.split("\n")
    encoded = tokenizer.encode([f"{line}\n" for line in lines[:-1]] + lines[-1:])
    return [token for line in encoded for token in line]


def join_pieces(texts, joiner):
    """Texts without the joiners of their pieces: "viel@@ er" becomes "vieler", also in lists of right answers."""
    if not joiner:
        return texts
    return [
        join_pieces(text, joiner) if isinstance(text, list) else f"{text} ".replace(joiner, "").removesuffix(" ")
        for text in texts
    ]


def right_answers(inputs, answers):
    """`{input: its answers}`, each of them once, in their order."""
    by_input = {}
    for text, answer in zip(inputs, answers, strict=True):
        by_input.setdefault(text, {})[answer] = True
    return by_input


def decompose(text):
    """A text as a vocabulary with the normal form "nfd" reads it: accents and syllables are separate characters."""
    return unicodedata.normalize("NFD", text)


def usual_length(texts, cut):
    """The length that 99 % of the texts do not exceed, in units of what `cut` cuts them into."""
    lengths = sorted(len(cut(text)) for text in texts)
    return lengths[min(len(lengths) - 1, len(lengths) * 99 // 100)]

"""From texts to token ids: vocabularies, noise, and what batches are made with."""

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
    """What `zoo.data.epochs.Bucketed` is told. Validation keeps every example, however long."""
    own = recipe.training
    plan = {"batch_size": own.batch_size, "seed": own.seed, "shuffle": training}
    if training:
        return plan | {"num_buckets": own.num_buckets, "max_length": own.max_length or None}
    return plan | {"num_buckets": max(1, own.num_buckets // 2)}


def encode_words(encoded, most):
    """(texts as lists of words of token ids, cut behind `most` of them; how many texts were)."""
    read = [first_tokens(words, most) for words in encoded]
    return read, sum(one is not other for one, other in zip(read, encoded, strict=True))


def first_tokens(words, most):
    """The first `most` token ids of a text, word by word; all of them if `most` is 0."""
    if not most or sum(map(len, words)) <= most:
        return words
    kept, room = [], most
    for word in words:
        if room <= 0:
            break
        kept.append(word[:room])
        room -= len(word)
    return kept


def noise(text, tokenizer, texts):
    """The `zoo.text.SubwordNoise` of a table of settings; None where training reads texts as they are."""
    own = text.noise
    if own.candidates == 1 and not own.dropout:
        return None
    counts = Counter(word for each in texts for word in each.split())
    return SubwordNoise(
        tokenizer,
        [word for word, count in counts.items() if count <= (own.rare or count)],
        candidates=own.candidates,
        alpha=own.alpha,
        dropout=own.dropout,
    )


def tell_embedding(embedding, tokenizer):
    """Tell an embedding what it has to know of the pieces: their spelling, or where sentences end."""
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


def joined(texts, joiner):
    """Texts without the joiners of their pieces: "viel@@ er" is "vieler"; of several right answers each."""
    if not joiner:
        return texts
    return [
        joined(text, joiner) if isinstance(text, list) else f"{text} ".replace(joiner, "").removesuffix(" ")
        for text in texts
    ]


def right_answers(inputs, answers):
    """`{input: its answers}`, each of them once, in their order."""
    by_input = {}
    for one, answer in zip(inputs, answers, strict=True):
        by_input.setdefault(one, {})[answer] = True
    return by_input


def decomposed(text):
    """A text as a vocabulary with the normal form "nfd" reads it: accents and syllables taken apart."""
    return unicodedata.normalize("NFD", text)


def longest(texts, cut):
    """The length that all but one in a hundred texts keep to, in what `cut` cuts them into."""
    lengths = sorted(len(cut(text)) for text in texts)
    return lengths[min(len(lengths) - 1, len(lengths) * 99 // 100)]

"""From a recipe to what its training sees: tokenizers, labels and batches."""

import dataclasses
from collections import Counter

from zoo.data import Batches, Completions, LabelledBatches, TaggedBatches, Windows
from zoo.data.epochs import Bucketed
from zoo.recipes import corpora
from zoo.text import SubwordNoise, Tokenizer


@dataclasses.dataclass(frozen=True)
class Data:
    """What the training sees. `digest` names the training corpus by its sha256.

    `tokenizers` is (source, target), or the only one; `labels` are the names of a classifier's or tagger's classes.
    """

    tokenizers: tuple[Tokenizer, ...]
    labels: tuple[str, ...]
    train: Bucketed | Windows
    valid: Bucketed | Windows
    digest: str

    @property
    def sizes(self):
        """What `zoo.recipes.models.make_model` needs to know of the data."""
        labels = (len(self.labels),) if self.labels else ()
        return tuple(tokenizer.vocab_size for tokenizer in self.tokenizers) + labels


def make_data(recipe, directory=None):
    """Read the corpus, learn vocabularies and labels from its training split, make the batches.

    Validation keeps every example, however long, and adds no noise.
    """
    texts = corpora.read(recipe, "train", directory)
    tokenizers = make_tokenizers(recipe, *texts)
    labels = make_labels(recipe, texts[1])
    train = make_batches(recipe, tokenizers, labels, texts, training=True)
    valid = make_batches(recipe, tokenizers, labels, corpora.read(recipe, "valid", directory))
    return Data(tokenizers, labels, train, valid, corpora.digest(*texts))


def make_tokenizers(recipe, inputs, answers):
    """(source, target) tokenizers, or the only one, learnt from the training texts alone.

    A shared vocabulary is one tokenizer on both sides.
    """

    def learn(side, texts):
        return Tokenizer.train(
            texts,
            getattr(recipe, f"{side}_vocab_size"),
            model_type=getattr(recipe, f"{side}_pieces"),
            normalization=getattr(recipe, f"{side}_normalization"),
            character_coverage=recipe.character_coverage,
            byte_fallback=recipe.byte_fallback,
            verbatim=recipe.model == "language_model",
        )

    if recipe.model not in ("seq2seq", "transformer"):
        return (learn("source", inputs),)
    if recipe.shared_vocabulary:
        return (learn("source", inputs + answers),) * 2
    return learn("source", inputs), learn("target", answers)


def make_labels(recipe, answers):
    """The names of a classifier's or tagger's classes, sorted; the index is the id. Empty for other models."""
    if recipe.model == "classifier":
        return tuple(sorted(set(answers)))
    return tuple(sorted({tag for tags in answers for tag in tags.split(" ")})) if recipe.model == "tagger" else ()


def make_batches(recipe, tokenizers, labels, texts, training=False):
    """The batches of (inputs, answers), for training or in the order of shapes and corpus.

    Raises:
        ValueError: a label that the training did not have.
    """
    plan = {"batch_size": recipe.batch_size, "seed": recipe.seed, "shuffle": training}
    if recipe.data == "text":
        return Windows(encode_verbatim(tokenizers[0], texts[0][0]), context=recipe.context, **plan)
    if training:
        plan |= {"num_buckets": recipe.num_buckets, "max_length": recipe.max_length or None}
    else:
        plan["num_buckets"] = max(1, recipe.num_buckets // 2)
    if recipe.model == "language_model":
        return Completions(*(tokenizers[0].encode(side) for side in texts), **plan)
    if not labels:
        return Batches(*(each.encode(side) for each, side in zip(tokenizers, texts, strict=True)), **plan)
    if training:
        plan["noise"] = _noise(recipe, tokenizers[0], texts[0])
    return _labelled(recipe, tokenizers[0], labels, texts, plan)


def _labelled(recipe, tokenizer, labels, texts, plan):
    numbers = {name: number for number, name in enumerate(labels)}
    unknown = sorted({name for answer in texts[1] for name in answer.split(" ")} - set(labels))
    if unknown:
        raise ValueError(f"The label {unknown[0]!r} is not among those of the training split: {', '.join(labels)}.")
    sentences, cut = encode_sentences(recipe, tokenizer, texts[0])
    if recipe.model == "classifier":
        batches = LabelledBatches(sentences, [numbers[label] for label in texts[1]], **plan)
    else:
        pairs = zip(sentences, texts[1], strict=True)
        tags = [[numbers[tag] for tag in tags.split(" ")][: len(sentence)] for sentence, tags in pairs]
        batches = TaggedBatches(sentences, tags, **plan)
    batches.cut = cut
    return batches


def encode_sentences(recipe, tokenizer, texts):
    """The token ids of each word of each text, cut behind `recipe.max_input_length` of them, and how many texts were.

    A tagger's words have at least one each, whatever the word.
    """
    if recipe.model == "tagger":
        encoded = [tokenizer.encode_words(text.split(" ")) for text in texts]
    else:
        encoded = [tokenizer.encode(text.split()) for text in texts]
    read = [first_tokens(words, recipe.max_input_length) for words in encoded]
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


def _noise(recipe, tokenizer, texts):
    if recipe.subword_candidates == 1 and not recipe.token_dropout:
        return None
    counts = Counter(word for text in texts for word in text.split())
    return SubwordNoise(
        tokenizer,
        [word for word, count in counts.items() if count <= (recipe.subword_rare or count)],
        candidates=recipe.subword_candidates,
        alpha=recipe.subword_alpha,
        dropout=recipe.token_dropout,
    )


def encode_verbatim(tokenizer, text):
    """Token ids of a long text, line by line, which a verbatim tokenizer encodes as the whole."""
    lines = text.split("\n")
    encoded = tokenizer.encode([f"{line}\n" for line in lines[:-1]] + lines[-1:])
    return [token for line in encoded for token in line]

"""SentencePiece subwords (Kudo and Richardson, 2018, arXiv:1808.06226), with our special ids."""

import io
import os
from collections.abc import Iterable
from pathlib import Path

import sentencepiece

from zoo.text.charsmaps import NAMES as NORMALIZATIONS, Normalization
from zoo.text.special import BOS, EOS, PAD, UNK

MODEL_TYPES = ("unigram", "bpe", "char", "word")
_SPECIAL = {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS}
_VERBATIM = {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "user_defined_symbols": ["\n"]}
_LONGEST_SENTENCE = 1 << 20  # bytes; the library drops longer sentences without an error


class Tokenizer:
    """Turns sentences into token ids and back.

    The model file is the whole state: the same bytes give the same ids here, in a TensorFlow graph
    (`zoo.text.graph.GraphTokenizer`) and beside an ONNX model. Text is normalised first (by default
    to NFKC; runs of spaces become one, and marks without a width go), so `decode(encode(text))` is the
    normalised text.

    Args:
        model_bytes: a serialised SentencePiece model with PAD=0, UNK=1, BOS=2, EOS=3.

    Raises:
        ValueError: if the bytes are no SentencePiece model or its special ids are others.

    Example:
        >>> from zoo.text import Tokenizer
        >>> tokenizer = Tokenizer.train(["a cat", "a hat"], vocab_size=20)
        >>> tokenizer.decode(tokenizer.encode(["a hat"]))
        ['a hat']
    """

    def __init__(self, model_bytes: bytes):
        self.model_bytes = bytes(model_bytes)
        self._processor = _load(self.model_bytes)

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocab_size: int,
        *,
        model_type: str = "unigram",
        normalization: str = "nmt_nfkc",
        character_coverage: float = 1.0,
        byte_fallback: bool = False,
        verbatim: bool = False,
    ) -> "Tokenizer":
        """Learns a vocabulary from sentences; the same sentences always give the same bytes.

        Args:
            sentences: iterable of strings; blank ones are skipped.
            vocab_size: upper bound of the number of pieces, special ones included; a corpus that
                supports fewer gives fewer.
            model_type: "unigram", "bpe", "char" or "word".
            normalization: "nmt_nfkc", "nfkc", either with "_cf" (case folded), "nfd", or "identity". NFKC
                turns the Chinese "，？！" into ",?!", which costs a Chinese target its score: give
                "identity" there. NFD takes accents and Hangul syllables apart, each character by
                itself: letters of a word to pronounce. All of them remove what has no width and no
                meaning, such as soft hyphens, see `zoo.text.charsmap_rules`.
            character_coverage: share of character occurrences that get a piece of their own.
            byte_fallback: spell characters without a piece as UTF-8 bytes instead of UNK.
            verbatim: keep text as it is, for a language model: every space and line break counts, and
                `decode(encode(text)) == text` if its characters have pieces. A line break is a piece of
                its own, no space is put in front, and the normalisation is "identity" whatever is given.

        Raises:
            ValueError: if no sentence holds a character, the model type or normalisation is
                unknown, or vocab_size is too small for the characters.
        """
        _check_choice("model_type", model_type, MODEL_TYPES)
        _check_choice("normalization", normalization, NORMALIZATIONS)
        if isinstance(sentences, str):
            raise TypeError("sentences must be an iterable of strings; received one string.")
        own = None if verbatim else Normalization(normalization)
        sentences = (
            (line for text in sentences for line in text.split("\n")) if verbatim else map(own.normalize, sentences)
        )
        sentences = [sentence for sentence in sentences if sentence.strip()]
        if not sentences:
            raise ValueError(
                "A vocabulary cannot be learnt from an empty corpus: "
                "expected at least one sentence that is not blank; received none."
            )
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                vocab_size=vocab_size,
                model_type=model_type,
                normalization_rule_name="identity",  # they are normalised already
                character_coverage=character_coverage,
                byte_fallback=byte_fallback,
                split_digits=True,  # but in whole words ("word")
                hard_vocab_limit=False,
                max_sentence_length=_LONGEST_SENTENCE,
                num_threads=1,  # sums in one order: the same bytes on every machine
                minloglevel=2,
                **{f"{name}_id": number for name, number in _SPECIAL.items()},
                **(_VERBATIM if verbatim else {}),
            )
        except (RuntimeError, OSError) as error:
            raise ValueError(
                f"SentencePiece cannot learn {vocab_size} {model_type} pieces from "
                f"{len(sentences)} sentences. If the vocabulary is too small for the characters, "
                f"raise vocab_size or lower character_coverage (now {character_coverage}). "
                f"The library says: {error}"
            ) from error
        return cls(own.within(model.getvalue()) if own else model.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Tokenizer":
        """Reads a model file; `ValueError` if it is missing or no SentencePiece model."""
        path = Path(path)
        if not path.is_file():
            raise ValueError(f"No SentencePiece model at {path}: there is no such file.")
        try:
            return cls(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file; a crash leaves the old file or the new one, never a part."""
        path = Path(path)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_bytes(self.model_bytes)
        os.replace(part, path)

    @property
    def vocab_size(self) -> int:
        """Number of pieces, the four special ones included."""
        return self._processor.vocab_size()

    @property
    def pieces(self) -> list[str]:
        """The pieces in the order of their ids; "▁" is the space before a word."""
        return [self._processor.id_to_piece(token) for token in range(self.vocab_size)]

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Token ids of each text, without BOS or EOS."""
        if isinstance(texts, str):
            raise TypeError(f"encode expects a list of strings; received the string {texts!r}.")
        return self._processor.encode(list(texts), out_type=int)

    def encode_words(self, words: list[str]) -> list[list[int]]:
        """Token ids of each word by itself, as a tagger reads it: at least one, UNK where it has no piece."""
        return [ids or [UNK] for ids in self.encode(words)]

    def segmentations(self, word: str, count: int) -> list[tuple[list[int], float]]:
        """At most `count` ways to spell a word, the most probable first, as (token ids, log-probability).

        Only the "unigram" model knows other ways; of the others there is one, of log-probability 0.
        """
        try:
            found = self._processor.nbest_encode(word, nbest_size=count, out_type=int)
        except RuntimeError:  # the library has no n best of this kind of model
            return [(self._processor.encode(word, out_type=int), 0.0)]
        return [(ids, sum(self._processor.get_score(token) for token in ids)) for ids in found]

    def decode(self, token_ids: list[list[int]]) -> list[str]:
        """Text of each sequence; PAD, BOS and EOS are dropped, UNK shows as the sign ⁇."""
        rows = [[int(token) for token in sequence] for sequence in token_ids]
        try:
            return [self._processor.decode(row) for row in rows]
        except IndexError as error:
            wrong = next(token for row in rows for token in row if not 0 <= token < self.vocab_size)
            raise ValueError(
                f"Token ids must lie in [0, {self.vocab_size}), the size of the vocabulary; received {wrong}."
            ) from error


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}; received {value!r}.")


def _load(model_bytes: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model_bytes)
    except RuntimeError as error:
        raise ValueError(
            f"The {len(model_bytes)} bytes are not a SentencePiece model; expected the content of "
            f"a file that SentencePiece or Tokenizer.save wrote. The library says: {error}"
        ) from error
    found = {name: getattr(processor, f"{name}_id")() for name in _SPECIAL}
    if found != _SPECIAL:
        raise ValueError(
            f"The SentencePiece model has the special ids {found}; the zoo expects {_SPECIAL}. "
            "Train it with pad_id=0, unk_id=1, bos_id=2, eos_id=3, or with Tokenizer.train."
        )
    return processor

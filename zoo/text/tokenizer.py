"""SentencePiece subwords (Kudo and Richardson, 2018, arXiv:1808.06226), with our special ids and normalisations.

A model keeps its normalisation inside, so that every program that reads the model normalises alike.
`maintenance/charsmap_rules.py` defines ours. It wrote the files of the folder `charsmaps`, compressed tries over UTF-8.
"""

import functools
import io
import json
import lzma
import math
from collections.abc import Iterable
from pathlib import Path

import sentencepiece

from zoo.text.base import AROUND, BOS, EOS, PAD, UNK, Around, BaseTokenizer, check_texts, range_error
from zoo.text.protobuf import field, fields

MODEL_TYPES = ("unigram", "bpe", "char", "word")
_SPECIAL = {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS}
_VERBATIM = {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "user_defined_symbols": ["\n"]}
_LONGEST_SENTENCE = 1 << 20  # bytes; the library drops longer sentences without an error
_UNKNOWN_PENALTY = 10.0  # how far the log-probability of UNK is below that of the rarest piece
_FEW = 16  # fewer texts than these are encoded one by one: for a list, the library starts a pool of threads
_AROUND = 200  # a field for extensions, which the library passes over; it is the first one of a model that has it
NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "nfd", "identity")
CHARSMAPS = Path(__file__).with_name("charsmaps")
_NORMALIZER = 3  # the field of SentencePiece's ModelProto; of its NormalizerSpec:
_NAME, _CHARSMAP = 1, 2


class Tokenizer(BaseTokenizer):
    """Turns sentences into token ids and back.

    The model file is the whole state: the same bytes give the same ids here, in a TensorFlow graph
    (`serving.export.graph_tokenizers.GraphTokenizer`) and beside an ONNX model. Text is normalised first (by default
    to NFKC; runs of spaces become one, and marks without a width go), so `decode(encode(text))` is the
    normalised text.

    Args:
        model_bytes: a serialised SentencePiece model with PAD=0, UNK=1, BOS=2, EOS=3; its first field may hold, as
            JSON, the ids that stand around every text.

    Raises:
        ValueError: if the bytes are no SentencePiece model or its special ids are others.

    Example:
        >>> from zoo.text import Tokenizer
        >>> tokenizer = Tokenizer.train(["a cat", "a hat"], vocab_size=20)
        >>> tokenizer.decode(tokenizer.encode(["a hat"]))
        ['a hat']
    """

    def __init__(self, model_bytes: bytes):
        self._processor = _load(bytes(model_bytes))
        super().__init__(model_bytes, Around(*(tuple(ids) for ids in _around(model_bytes)[0])))

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
                meaning, such as soft hyphens, see `maintenance/charsmap_rules.py`.
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
        normalizer = None if verbatim else Normalization(normalization)
        sentences = (
            (line for text in sentences for line in text.split("\n"))
            if verbatim
            else map(normalizer.normalize, sentences)
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
        return cls(normalizer.put_into(model.getvalue()) if normalizer else model.getvalue())

    def with_around(self, before=(), after=(EOS,)):
        """The same tokenizer with other ids around its texts."""
        around, (_, rest) = (tuple(before), tuple(after)), _around(self.model_bytes)
        own = b"" if around == AROUND else field(_AROUND, json.dumps(around).encode())
        return Tokenizer(own + rest)

    @property
    def vocab_size(self) -> int:
        """Number of pieces, the four special ones included."""
        return self._processor.vocab_size()

    @property
    def pieces(self) -> list[str]:
        """The pieces in the order of their ids; "▁" is the space before a word."""
        return [self._processor.id_to_piece(token) for token in range(self.vocab_size)]

    @functools.cached_property
    def log_probabilities(self) -> list[float]:
        """How common each piece is where the pieces were learnt: log p, up to a constant.

        The scores of a model of merges (BPE) are ranks, of which Zipf's law makes probabilities. A byte is as rare as
        the rarest piece, and an unknown piece is rarer by as much as SentencePiece's own search for pieces takes.
        """
        ids, processor = range(self.vocab_size), self._processor
        logarithms = [processor.get_score(token) for token in ids]
        learnt = [token for token in ids if not (processor.is_control(token) or processor.is_byte(token))]
        learnt = [token for token in learnt if token != UNK]
        if [logarithms[token] for token in learnt] == [-float(rank) for rank in range(len(learnt))]:
            for rank, token in enumerate(learnt, 1):
                logarithms[token] = -math.log(rank)
        rarest = min((logarithms[token] for token in learnt), default=0.0)
        for token in ids:
            if processor.is_byte(token):
                logarithms[token] = rarest
        logarithms[UNK] = rarest - _UNKNOWN_PENALTY
        return logarithms

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Token ids of each text, without what stands around it."""
        texts = check_texts(texts)
        if len(texts) < _FEW:
            return [self._processor.encode(text, out_type=int) for text in texts]
        return self._processor.encode(texts, out_type=int)

    def words(self, text: str) -> list[list[int]]:
        """The token ids of each word of a text; together they are those of the text.

        Of adjacent unknown tokens SentencePiece makes one, also of those of several words; later words lose theirs.
        """
        result, last = [], None
        for ids in self.encode(text.split()):
            result.append(ids[1:] if last == UNK and ids[:1] == [UNK] else ids)
            last = ids[-1] if ids else last
        return result

    def segmentations(self, word: str, count: int) -> list[tuple[list[int], float]]:
        """At most `count` ways to spell a word, the most probable first, as (token ids, log-probability).

        Only the "unigram" model knows other ways; of the others there is one, of log-probability 0.
        """
        try:
            spellings = self._processor.nbest_encode(word, nbest_size=count, out_type=int)
        except RuntimeError:  # the library has no n best of this kind of model
            return [(self._processor.encode(word, out_type=int), 0.0)]
        return [(ids, sum(self._processor.get_score(token) for token in ids)) for ids in spellings]

    def decode(self, token_ids: list[list[int]]) -> list[str]:
        """Text of each sequence; PAD, BOS and EOS are dropped, UNK shows as the sign ⁇."""
        rows = [[int(token) for token in sequence] for sequence in token_ids]
        try:
            return [self._processor.decode(row) for row in rows]
        except IndexError as error:
            raise range_error(rows, self.vocab_size) from error


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
    special_ids = {name: getattr(processor, f"{name}_id")() for name in _SPECIAL}
    if special_ids != _SPECIAL:
        raise ValueError(
            f"The SentencePiece model has the special ids {special_ids}; the zoo expects {_SPECIAL}. "
            "Train it with pad_id=0, unk_id=1, bos_id=2, eos_id=3, or with Tokenizer.train."
        )
    return processor


def _around(model_bytes):
    """(the ids before and behind every text, the rest of the model)."""
    if not model_bytes.startswith(field(_AROUND, b"")[:-1]):
        return AROUND, model_bytes
    _, whole, content = next(fields(model_bytes))
    try:
        before, after = json.loads(content)
        assert all(type(token) is int for token in [*before, *after])
    except (ValueError, TypeError, AssertionError) as error:
        raise ValueError(
            f"Field {_AROUND} of a SentencePiece model holds the ids before and behind every text, [[2], [3]]; "
            f"received {content[:80]!r}."
        ) from error
    return (before, after), model_bytes[len(whole) :]


class Normalization:
    """One of `NORMALIZATIONS`: `normalize(text)` is the text as a model with it normalises it before cutting it."""

    def __init__(self, name):
        self.name, self._charsmap = name, lzma.decompress((CHARSMAPS / f"{name}.xz").read_bytes())
        spec = field(_NAME, name.encode()) + field(_CHARSMAP, self._charsmap)
        self._normalizer = sentencepiece.SentencePieceNormalizer(
            model_proto=field(_NORMALIZER, spec),
            add_dummy_prefix=False,
            escape_whitespaces=False,
            remove_extra_whitespaces=False,
        )

    def normalize(self, text):
        """The text in this normal form; its white space stays."""
        return self._normalizer.Normalize(text)

    def put_into(self, model_bytes):
        """A SentencePiece model with this normalisation instead of the one that it has."""
        return with_charsmap(model_bytes, self.name, self._charsmap)


def with_charsmap(model_bytes, name, charsmap):
    """A SentencePiece model with another table of characters, of that name; its settings of white space stay."""
    parts = []
    for number, whole, body in fields(model_bytes):
        if number == _NORMALIZER:
            others = (one for number, one, _ in fields(body) if number not in (_NAME, _CHARSMAP))
            whole = field(_NORMALIZER, field(_NAME, name.encode()) + field(_CHARSMAP, charsmap) + b"".join(others))
        parts.append(whole)
    return b"".join(parts)


def charsmap_of(spec):
    """The table of a serialised NormalizerSpec; b"" where it has none."""
    return next((body for number, _, body in fields(spec) if number == _CHARSMAP), b"")


def rules_of(model_bytes):
    """`{text: its replacement}` of the table inside a SentencePiece model; {} where it has none."""
    specs = [body for number, _, body in fields(model_bytes) if number == _NORMALIZER]
    if not any(map(charsmap_of, specs)):
        return {}
    return dict(sentencepiece.SentencePieceNormalizer(model_proto=model_bytes).Decompile())

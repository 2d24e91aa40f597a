"""Tokenizers from files: our own, whose content decides the kind, and those that Hugging Face's libraries write.

The latter are WordPiece and byte-level BPE: `tokenizer.json` is read where it is there; else `vocab.txt`, or
`vocab.json` and `merges.txt`, with `tokenizer_config.json`. Settings that they do not support are refused by name.
"""

import os
import re
from pathlib import Path

from zoo.core.documents import parse
from zoo.text.base import BOS, EOS, Around, BaseTokenizer, read_tokenizer
from zoo.text.json_tokenizers import BytePairs, WordPiece, read_settings
from zoo.text.tokenizer import Tokenizer

KINDS = {kind.kind: kind for kind in (WordPiece, BytePairs)}
NAMES = ("pad", "unk", "bos", "eos")  # the order of our ids
BERT = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
GPT2 = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")
BART = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "mask_token": "<mask>"}
BART["cls_token"] = "<s>"
BERTS = {
    "tokenizer_class": (None, *(f"{name}Tokenizer{fast}" for name in ("Bert", "DistilBert") for fast in ("", "Fast")))
}
LETTERS = {"lowercase": "do_lower_case", "handle_chinese_chars": "tokenize_chinese_chars"}
LETTERS["strip_accents"] = "strip_accents"
GENERIC = {"PreTrainedTokenizerFast", "TokenizersBackend"}  # classes that read tokenizer.json alone
ROBERTA = {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer"}  # <s> before and </s> behind


def load_tokenizer(source: str | os.PathLike | bytes) -> BaseTokenizer:
    """The tokenizer of a file, or of its content: a `Tokenizer`, `WordPiece` or `BytePairs`, whatever its name ends in.

    Raises:
        ValueError: there is no such file, or its content is no tokenizer.
    """
    return _from_bytes(source) if isinstance(source, bytes) else read_tokenizer(source, _from_bytes)


def _from_bytes(content):
    if not content.startswith(b"{"):  # which begins no SentencePiece model
        return Tokenizer(content)
    kind = read_settings(content)["tokenizer"]
    if kind not in KINDS:
        raise ValueError(f"This seqzoo knows no tokenizer of the kind {kind!r}; it knows {sorted(KINDS)}.")
    try:
        return KINDS[kind](content)
    except (TypeError, LookupError, AttributeError, OverflowError, re.error) as error:
        raise ValueError(f"The tokenizer is damaged: {error!r}. Copy or import it again.") from error


def read_wordpiece(folder, locate=Path, network_class=None) -> tuple[WordPiece, list[int]]:
    """The `WordPiece` of a folder, and for each id here the id there, -1 where the folder has none.

    Args:
        folder: the folder with its files.
        locate: called with the path of each file before it is read; it returns the path to read.
        network_class: the tokenizer's class by the network's files, where its own files name none.

    Raises:
        ValueError: a file is missing or damaged, or has a setting that `WordPiece` does not support.
    """
    document, config = _read_files(folder, locate, "vocab.txt")
    if document:
        model, normalizer = document["model"], document.get("normalizer") or {}
        require(model, type="WordPiece", continuing_subword_prefix="##")
        require(normalizer, type="BertNormalizer")
        require(document.get("pre_tokenizer") or {}, type="BertPreTokenizer")
        vocabulary, longest = _in_order(model["vocab"]), model.get("max_input_chars_per_word", 100)
        letters = _override({LETTERS[name]: normalizer[name] for name in LETTERS}, config)
    else:
        require(
            {"tokenizer_class": network_class} | config, do_basic_tokenize=(True, None), never_split=([], None), **BERTS
        )
        vocabulary = locate(Path(folder) / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
        longest, normalizer, letters = 100, {}, config
    options = {"clean": normalizer.get("clean_text", True), "ideographs": letters.get("tokenize_chinese_chars", True)}
    options |= {"lowercase": letters.get("do_lower_case", True), "strip_accents": letters.get("strip_accents")}
    names = BERT | config
    added = _added_pieces(folder, locate, document, config)
    tokens = [names[f"{name}_token"] for name in ("pad", "unk", "cls", "sep")]
    pieces, ids, special = _reorder(vocabulary, added, tokens)
    return WordPiece.make(pieces, special=special, longest=longest, **options), ids


def read_byte_pairs(folder, ids=None, locate=Path) -> tuple[BytePairs, list[int]]:
    """The `BytePairs` of a folder, and for each id here the id there, -1 where the folder has none.

    Args:
        folder: the folder with its files.
        ids: the id there of each id here, where a network has such a list; the last one starts the decoder and is no
            piece of a text.
        locate: called with the path of each file before it is read; it returns the path to read.

    Raises:
        ValueError: a file is missing or damaged, or has a setting that `BytePairs` does not support.
    """
    document, config = _read_files(folder, locate, "vocab.json", "merges.txt")
    if document:
        model, pre_tokenizer = document["model"], document.get("pre_tokenizer") or {}
        unset = dict.fromkeys(("dropout", "continuing_subword_prefix", "end_of_word_suffix"), (None, ""))
        require(model, type="BPE", byte_fallback=(False, None), ignore_merges=(False, None), **unset)
        require(pre_tokenizer, type="ByteLevel", use_regex=(True, None))
        require(document, normalizer=None)
        vocabulary, merges = _in_order(model["vocab"]), model["merges"]
        prefix = _override({"add_prefix_space": pre_tokenizer["add_prefix_space"]}, config)["add_prefix_space"]
    else:
        vocabulary = _in_order(_read(locate(Path(folder) / "vocab.json")))
        lines = locate(Path(folder) / "merges.txt").read_text(encoding="utf-8").split("\n")
        merges = [line for line in lines if line and not line.startswith("#version")]
        prefix = config.get("add_prefix_space", False)
    kind = config.get("tokenizer_class")
    if kind in ROBERTA or "eos_token" not in config:  # the oldest folders name no special piece; all have GPT-2's
        config = (BART if {*BART.values()} <= {*vocabulary} else GPT2) | config
    post_processor = (document or {}).get("post_processor") or {}
    has_around = (
        kind in ROBERTA
        or post_processor.get("type") == "RobertaProcessing"
        or len(post_processor.get("single", ())) == 3
    )
    has_around = has_around or not document and not kind and "cls_token" in config  # which GPT-2's have not
    tokens = [config.get(f"{name}_token") for name in NAMES]
    if has_around:
        require(config, cls_token=(None, tokens[2]), sep_token=(None, tokens[3]))
    tokens[1] = None if tokens[1] in tokens[2:] else tokens[1]  # of GPT-2, whose only special piece is all of them
    added = _added_pieces(folder, locate, document, config)
    pieces, ids, special = _reorder(vocabulary, added, tokens, ids, [*tokens, config.get("mask_token")])
    pairs = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in merges]
    if wrong := [pair for pair in pairs if len(pair) != 2]:
        raise ValueError(f"The merge {' '.join(map(str, wrong[0]))[:100]!r} is not of two pieces.")
    first = pieces.index(tokens[2]) if tokens[2] in pieces else BOS
    around = Around((first,), (EOS,)) if has_around else Around((), ())
    return BytePairs.make(pieces, pairs, prefix_space=bool(prefix), special=special, around=around), ids


def _override(settings, config):
    """Settings of `tokenizer.json`, which `tokenizer_config.json` overrides unless its class reads only the former."""
    return settings if config.get("tokenizer_class") in GENERIC else settings | config


def _read_files(folder, locate, *required):
    """(`tokenizer.json` or None, the settings of the other files, names of special pieces among them)."""
    folder = Path(folder)
    config = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        config |= _read(locate(folder / name)) if (folder / name).is_file() else {}
    config = {
        key: value["content"] if isinstance(value, dict) and "content" in value else value
        for key, value in config.items()
    }
    if (folder / "tokenizer.json").is_file():
        return _read(locate(folder / "tokenizer.json")), config
    missing = [name for name in required if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"{folder} has no tokenizer: expected tokenizer.json, or {' and '.join(required)}.")
    return None, config


def _read(path):
    try:
        return parse(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None


def require(settings, where="The tokenizer", **expected):
    """Refuse settings that are not as expected; a tuple lists several right values."""
    for key, value in expected.items():
        right = value if isinstance(value, tuple) else (value,)
        if settings.get(key) not in right:
            raise ValueError(
                f"{where} asks for {key} = {settings.get(key)!r}; expected {' or '.join(map(repr, right))}, "
                "which is all that this kind of tokenizer does here."
            )


def _in_order(places):
    """The pieces of `{piece: id}` in the order of their ids, which must be 0, 1, 2 and so on."""
    pieces = sorted(places, key=places.get)
    hole = next((place for place, piece in enumerate(pieces) if places[piece] != place), None)
    if hole is not None:
        raise ValueError(f"The vocabulary has no piece, or two, for the id {hole}; expected one for each.")
    return pieces


def _added_pieces(folder, locate, document, config):
    """{"id", "content", "special"} of each piece that was added to the vocabulary, by their ids."""
    if document:
        pieces = document.get("added_tokens", ())
    else:
        path = Path(folder) / "added_tokens.json"
        special = [
            *config.get("additional_special_tokens", ()),
            *(config[key] for key in config if key.endswith("_token")),
        ]
        pieces = [{"id": int(at)} | each for at, each in config.get("added_tokens_decoder", {}).items()]
        pieces = pieces or [
            {"id": at, "content": piece, "special": piece in special}
            for piece, at in (_read(locate(path)) if path.is_file() else {}).items()
        ]
    return sorted(pieces, key=lambda each: each["id"])


def _reorder(vocabulary, added, tokens, ids=None, special=()):
    """(pieces in the order of our ids, the id there of each, the ids of more special pieces)."""
    pieces, special = list(vocabulary), list(special)
    for each in added:
        if not each["special"]:
            raise ValueError(f"The tokenizer looks for the piece {each['content']!r} in texts, which is not done here.")
        if each["id"] == len(pieces):
            pieces.append(each["content"])
        special.append(each["content"])
    places = {piece: token for token, piece in enumerate(pieces)}
    missing = [token for token in tokens if token is not None and token not in places]
    if missing:
        raise ValueError(f"The vocabulary does not have its own special pieces {missing}.")
    special_ids = [-1 if token is None else places[token] for token in tokens]
    if ids is not None:
        ids = [int(token) for token in ids]
        if [ids[at] for at in (0, 1, 3)] != [special_ids[at] for at in (0, 1, 3)]:
            raise ValueError(
                f"The network has PAD, UNK and EOS at {[ids[at] for at in (0, 1, 3)]}, and the tokenizer at "
                f"{[special_ids[at] for at in (0, 1, 3)]}; expected the same."
            )
        size = max(ids)  # what the decoder starts with
        if missing := [piece for piece in pieces[size:] if piece not in special]:
            raise ValueError(f"The tokenizer has pieces that the network does not know: {missing[:6]}.")
        unused = [f"<unused {token}>" for token in range(len(pieces), size)]
        pieces, special, special_ids = pieces[:size] + unused + ["<start>"], special + unused, ids[: len(NAMES)]
    special_names = [
        pieces[token] if token >= 0 and token not in special_ids[:place] else f"<|{name}|>"
        for place, (name, token) in enumerate(zip(NAMES, special_ids, strict=True))
    ]
    ids = ids or special_ids + [token for token in range(len(pieces)) if token not in special_ids]
    ours = special_names + [pieces[token] for token in ids[len(NAMES) :]]
    return ours, ids, tuple(place for place, piece in enumerate(ours) if piece in special and place >= len(NAMES))

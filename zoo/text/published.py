"""WordPiece and byte-level BPE from the files that Hugging Face's libraries write beside a network.

`tokenizer.json` is read where it is there; else `vocab.txt`, or `vocab.json` and `merges.txt`, with
`tokenizer_config.json`. What they ask for and these tokenizers do not do is refused by name.
"""

from pathlib import Path

from zoo.core.documents import parse
from zoo.text.byte_pairs import BytePairs
from zoo.text.special import BOS, EOS, Around
from zoo.text.wordpiece import WordPiece

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


def read_wordpiece(folder, opened=Path, named=None) -> tuple[WordPiece, list[int]]:
    """The `WordPiece` of a folder, and the id there of each id here; -1 is one that it does not have.

    Args:
        folder: with its files.
        opened: gives back the path of each file before it is read.
        named: the class that the network names, where the tokenizer's files name none.

    Raises:
        ValueError: a file is missing or damaged, or asks for what `WordPiece` does not do.
    """
    whole, config = _files(folder, opened, "vocab.txt")
    if whole:
        model, own = whole["model"], whole.get("normalizer") or {}
        demand(model, type="WordPiece", continuing_subword_prefix="##")
        demand(own, type="BertNormalizer")
        demand(whole.get("pre_tokenizer") or {}, type="BertPreTokenizer")
        vocabulary, longest = _listed(model["vocab"]), model.get("max_input_chars_per_word", 100)
        said = _beside({LETTERS[name]: own[name] for name in LETTERS}, config)
    else:
        demand({"tokenizer_class": named} | config, do_basic_tokenize=(True, None), never_split=([], None), **BERTS)
        vocabulary, longest = (
            opened(Path(folder) / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n"),
            100,
        )
        own, said = {}, config
    chosen = {"clean": own.get("clean_text", True), "ideographs": said.get("tokenize_chinese_chars", True)}
    chosen |= {"lowercase": said.get("do_lower_case", True), "strip_accents": said.get("strip_accents")}
    told = BERT | config
    added = _added(folder, opened, whole, config)
    pieces, ids, special = _ours(vocabulary, added, [told[f"{name}_token"] for name in ("pad", "unk", "cls", "sep")])
    return WordPiece.make(pieces, special=special, longest=longest, **chosen), ids


def read_byte_pairs(folder, ids=None, opened=Path) -> tuple[BytePairs, list[int]]:
    """The `BytePairs` of a folder, and the id there of each id here; -1 is one that it does not have.

    Args:
        folder: with its files.
        ids: the id there of each id here, where a network says which; its last one is what the decoder starts with,
            and no piece of a text.
        opened: gives back the path of each file before it is read.

    Raises:
        ValueError: a file is missing or damaged, or asks for what `BytePairs` does not do.
    """
    whole, config = _files(folder, opened, "vocab.json", "merges.txt")
    if whole:
        model, cut = whole["model"], whole.get("pre_tokenizer") or {}
        off = dict.fromkeys(("dropout", "continuing_subword_prefix", "end_of_word_suffix"), (None, ""))
        demand(model, type="BPE", byte_fallback=(False, None), ignore_merges=(False, None), **off)
        demand(cut, type="ByteLevel", use_regex=(True, None))
        demand(whole, normalizer=None)
        vocabulary, merges = _listed(model["vocab"]), model["merges"]
        prefix = _beside({"add_prefix_space": cut["add_prefix_space"]}, config)["add_prefix_space"]
    else:
        vocabulary = _listed(_read(opened(Path(folder) / "vocab.json")))
        lines = opened(Path(folder) / "merges.txt").read_text(encoding="utf-8").split("\n")
        merges = [line for line in lines if line and not line.startswith("#version")]
        prefix = config.get("add_prefix_space", False)
    kind = config.get("tokenizer_class")
    if kind in ROBERTA or "eos_token" not in config:  # the oldest folders name no special piece; all have GPT-2's
        config = (BART if {*BART.values()} <= {*vocabulary} else GPT2) | config
    behind = (whole or {}).get("post_processor") or {}
    surrounded = kind in ROBERTA or behind.get("type") == "RobertaProcessing" or len(behind.get("single", ())) == 3
    surrounded = surrounded or not whole and not kind and "cls_token" in config  # which GPT-2's have not
    tokens = [config.get(f"{name}_token") for name in NAMES]
    if surrounded:
        demand(config, cls_token=(None, tokens[2]), sep_token=(None, tokens[3]))
    tokens[1] = None if tokens[1] in tokens[2:] else tokens[1]  # of GPT-2, whose only special piece is all of them
    added = _added(folder, opened, whole, config)
    pieces, ids, special = _ours(vocabulary, added, tokens, ids, [*tokens, config.get("mask_token")])
    pairs = [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in merges]
    begin = pieces.index(tokens[2]) if tokens[2] in pieces else BOS
    around = Around((begin,), (EOS,)) if surrounded else Around((), ())
    return BytePairs.make(pieces, pairs, prefix_space=bool(prefix), special=special, around=around), ids


def _beside(inside, config):
    """Settings of `tokenizer.json`; those of `tokenizer_config.json` take their place, as in classes that have them."""
    return inside if config.get("tokenizer_class") in GENERIC else inside | config


def _files(folder, opened, *needed):
    """(`tokenizer.json` or None, the names of special pieces and what else is configured)."""
    folder = Path(folder)
    config = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        config |= _read(opened(folder / name)) if (folder / name).is_file() else {}
    config = {
        key: value["content"] if isinstance(value, dict) and "content" in value else value
        for key, value in config.items()
    }
    if (folder / "tokenizer.json").is_file():
        return _read(opened(folder / "tokenizer.json")), config
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"{folder} has no tokenizer: expected tokenizer.json, or {' and '.join(needed)}.")
    return None, config


def _read(path):
    try:
        return parse(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None


def demand(settings, where="The tokenizer", **expected):
    """Refuse settings that are not as expected; a tuple has several right values."""
    for key, value in expected.items():
        right = value if isinstance(value, tuple) else (value,)
        if settings.get(key) not in right:
            raise ValueError(
                f"{where} asks for {key} = {settings.get(key)!r}; expected {' or '.join(map(repr, right))}, "
                "which is all that this kind of tokenizer does here."
            )


def _listed(places):
    """The pieces of `{piece: id}`, in the order of their ids, which have no hole."""
    pieces = sorted(places, key=places.get)
    hole = next((place for place, piece in enumerate(pieces) if places[piece] != place), None)
    if hole is not None:
        raise ValueError(f"The vocabulary has no piece, or two, for the id {hole}; expected one for each.")
    return pieces


def _added(folder, opened, whole, config):
    """{"id", "content", "special"} of each piece that was added to the vocabulary, by their ids."""
    if whole:
        found = whole.get("added_tokens", ())
    else:
        path = Path(folder) / "added_tokens.json"
        named = [
            *config.get("additional_special_tokens", ()),
            *(config[key] for key in config if key.endswith("_token")),
        ]
        found = [{"id": int(at)} | each for at, each in config.get("added_tokens_decoder", {}).items()]
        found = found or [
            {"id": at, "content": piece, "special": piece in named}
            for piece, at in (_read(opened(path)) if path.is_file() else {}).items()
        ]
    return sorted(found, key=lambda each: each["id"])


def _ours(vocabulary, added, tokens, ids=None, special=()):
    """(pieces in the order of our ids, the id there of each, the ids of more special pieces)."""
    pieces, special = list(vocabulary), list(special)
    for each in added:
        if not each["special"]:
            raise ValueError(f"The tokenizer looks for the piece {each['content']!r} in texts, which is not done here.")
        if each["id"] == len(pieces):
            pieces.append(each["content"])
        special.append(each["content"])
    places = {piece: token for token, piece in enumerate(pieces)}
    lost = [token for token in tokens if token is not None and token not in places]
    if lost:
        raise ValueError(f"The vocabulary does not have its own special pieces {lost}.")
    first = [-1 if token is None else places[token] for token in tokens]
    if ids is not None:
        ids = [int(token) for token in ids]
        if [ids[at] for at in (0, 1, 3)] != [first[at] for at in (0, 1, 3)]:
            raise ValueError(
                f"The network has PAD, UNK and EOS at {[ids[at] for at in (0, 1, 3)]}, and the tokenizer at "
                f"{[first[at] for at in (0, 1, 3)]}; expected the same."
            )
        size = max(ids)  # what the decoder starts with
        if lost := [piece for piece in pieces[size:] if piece not in special]:
            raise ValueError(f"The tokenizer has pieces that the network does not know: {lost[:6]}.")
        unused = [f"<unused {token}>" for token in range(len(pieces), size)]
        pieces, special, first = pieces[:size] + unused + ["<start>"], special + unused, ids[: len(NAMES)]
    named = [
        pieces[token] if token >= 0 and token not in first[:place] else f"<|{name}|>"
        for place, (name, token) in enumerate(zip(NAMES, first, strict=True))
    ]
    ids = ids or first + [token for token in range(len(pieces)) if token not in first]
    ours = named + [pieces[token] for token in ids[len(NAMES) :]]
    return ours, ids, tuple(place for place, piece in enumerate(ours) if piece in special and place >= len(NAMES))

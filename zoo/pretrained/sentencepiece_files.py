"""SentencePiece as folders have it: the model itself, or a `tokenizer.json`, all that transformers 5 saves of it.

That file has the pieces of the model that it was made of, with scores or merges, and the table by which texts are
normalised, so the model is written again. What else it asks for is refused by name.
"""

import base64
import binascii

from zoo.pretrained.reading import read_json
from zoo.pretrained.vocabulary import CONTROL, NORMAL, UNKNOWN, encode_model, names_by_id, our_ids, pieces_of, renumber
from zoo.text import Tokenizer
from zoo.text.base import BOS, EOS, UNK
from zoo.text.tokenizer_files import GENERIC, require

FAIRSEQ = "sentencepiece.bpe.model"
SPACES = ({"Regex": " {2,}"}, " "), ({"Regex": " {2,}"}, "▁")  # several become one, which SentencePiece does, too


def read_sentencepiece(source, file, besides=()):
    """(a serialised model, the pieces by their ids or None where these are the model's, the path).

    Args:
        source: the `Source`.
        file: the name of the model; where it is not there, `tokenizer.json` is read.
        besides: normalizers of that file that the caller sees to.

    Raises:
        ValueError: neither is there, or the latter asks for what SentencePiece does not do.
    """
    if source.has(file):
        return source.path(file).read_bytes(), None, source.path(file)
    if not source.has("tokenizer.json"):
        raise ValueError(f"{source.address} lacks {file}, or a tokenizer.json, which a network of this family needs.")
    other = source.path("tokenizer.json")
    try:
        return *_rebuild_model(read_json(other), other, besides), other
    except (LookupError, TypeError, AttributeError, binascii.Error) as error:
        raise ValueError(f"{other} is no tokenizer of SentencePiece's kind: {error!r}") from error


def demand_settings(source, unknown="<unk>", end="</s>", **expected):
    """Refuse settings of a tokenizer that change its ids: pieces drawn by chance, and special pieces of other names.

    Args:
        source: the `Source`.
        unknown, end: what its unknown piece is called, and its end of sentence.
        **expected: as of `require`.
    """
    settings = source.json("special_tokens_map.json") | source.json("tokenizer_config.json")
    settings = {key: each.get("content", each) if isinstance(each, dict) else each for key, each in settings.items()}
    require(settings.get("sp_model_kwargs") or {}, f"{source.address}: sp_model_kwargs", enable_sampling=(None, False))
    require(settings, source.address, unk_token=(None, unknown), eos_token=(None, end), **expected)


def tokenizer_of(source, ids, classes, around=((), (EOS,)), change=lambda model: model, besides=()):
    """The tokenizer of a SentencePiece model whose ids are those of the network; further rows stand for no text.

    Args:
        source: with `spiece.model`, or `tokenizer.json`.
        ids: as of `our_ids`.
        classes: what its class may be called, without "Tokenizer".
        around: ids that stand before and behind a text.
        change: a function that changes the model first.
        besides: as of `read_sentencepiece`.
    """
    model, names, path = read_sentencepiece(source, "spiece.model", besides)
    names = names or [piece for piece, _, _ in pieces_of(model, path)]
    others = [f"<unused {number}>" for number in range(len(names), max(ids) + 1)]
    tokenizer = Tokenizer(renumber(change(model), names + others, ids, others, path))
    allowed = (None, *(f"{name}Tokenizer{fast}" for name in classes for fast in ("", "Fast")), *GENERIC)
    flags = dict.fromkeys(("add_bos_token", "add_eos_token"), None if any(around) else (None, False))
    unknown, end = (names[ids[each]] if ids[each] < len(names) else None for each in (UNK, EOS))
    demand_settings(source, unknown, end, tokenizer_class=allowed, **flags)
    return tokenizer.with_around(*around)


def unknown_of(source):
    """The id of the unknown piece of `tokenizer_of`'s model; None where it has none."""
    pieces = pieces_of(read_sentencepiece(source, "spiece.model")[0])
    return next((place for place, (_, _, kind) in enumerate(pieces) if kind == UNKNOWN), None)


def _rebuild_model(document, where, besides):
    model, added = document["model"], {each["id"]: each for each in document.get("added_tokens", ())}
    merges = model.get("type") == "BPE"
    if merges:
        require(model, where, fuse_unk=True, dropout=None)
        names, unknown = names_by_id(model["vocab"], len(model["vocab"]), where), model["unk_token"]
        scores = _compute_scores(names, model["merges"], {each["content"] for each in added.values()}, where)
    else:
        require(model, where, type="Unigram")
        names, scores = [piece for piece, _ in model["vocab"]], [score for _, score in model["vocab"]]
        unknown = names[model["unk_id"]]
    require(model, where, byte_fallback=(False, None))
    for at in sorted(added):
        if not added[at]["special"]:
            raise ValueError(f"{where} looks for the piece {added[at]['content']!r} in texts, which is not done here.")
        names += [added[at]["content"]] * (at == len(names))
        if names[at] != added[at]["content"]:
            raise ValueError(f"{where} has {names[at]!r} and {added[at]['content']!r} for the id {at}.")
    scores += [0.0] * (len(names) - len(scores))
    kinds = [CONTROL if at in added else NORMAL for at in range(len(names))]
    kinds[names.index(unknown)] = UNKNOWN
    return encode_model(zip(names, scores, kinds, strict=True), merges, _read_charsmap(document, where, besides)), names


def _compute_scores(names, merges, special, where):
    """The scores of pieces, minus the place of the merge that makes each: SentencePiece merges to the best piece."""
    places, pairs = {}, set()
    for at, pair in enumerate(merges):
        pair = tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair)
        pairs.add(pair)
        first, last = places.get("".join(pair), (at, at - 1))
        places["".join(pair)] = first, at
        if last != at - 1:
            raise ValueError(f"{where}: merges of {''.join(pair)!r} stand apart, so they are not SentencePiece's.")
    pieces = {*names} - special
    for piece in pieces:
        for cut in range(1, len(piece)):
            if piece[:cut] in pieces and piece[cut:] in pieces and (piece[:cut], piece[cut:]) not in pairs:
                raise ValueError(f"{where} does not merge {piece[:cut]!r} and {piece[cut:]!r}, as SentencePiece would.")
    return [-float(places.get(piece, (len(merges),))[0]) for piece in names]


def _read_charsmap(document, where, besides):
    """The table of the normalisation, empty where there is none."""
    parts, charsmap = _list_parts(document.get("normalizer"), "normalizers"), b""
    for each in parts:
        if each in besides:
            continue
        if each["type"] == "Precompiled" and not charsmap:
            charsmap = base64.b64decode(each["precompiled_charsmap"])
        elif each["type"] == "Strip":
            require(each, where, strip_right=True)
        elif each["type"] != "Replace" or (each["pattern"], each["content"]) not in SPACES:
            raise ValueError(f"{where} normalises texts by {each['type']}, which SentencePiece does not have.")
    splitters = _list_parts(document.get("pre_tokenizer"), "pretokenizers")
    for each in splitters:
        require(each, where, type=("Metaspace", "WhitespaceSplit"))
        if each["type"] == "Metaspace":
            require(each, where, replacement="▁", prepend_scheme=("always", None), add_prefix_space=(True, None))
    if "Metaspace" not in [each["type"] for each in splitters]:
        raise ValueError(f"{where} does not begin words with ▁, as SentencePiece does.")
    return charsmap


def _list_parts(part, name):
    return part[name] if part and part["type"] == "Sequence" else [part] if part else []


def read_fairseq(source):
    """(tokenizer, ids) of XLM-R: its SentencePiece model has ids one below those of the network, as fairseq's have."""
    return _read_shifted(source, ["<s>", "<pad>", "</s>", "<unk>"], 3)


def read_camembert(source):
    """(tokenizer, ids) of CamemBERT, whose ids are four below: special pieces were added to those of the model."""
    return _read_shifted(source, ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"], 1)


def _read_shifted(source, first, skipped):
    model, names, path = read_sentencepiece(source, FAIRSEQ)
    demand_settings(source, add_prefix_space=(True, None))
    names = names or [*first, *(piece for piece, _, _ in pieces_of(model, path)[skipped:]), "<mask>"]
    missing = [piece for piece in ("<pad>", "<unk>", "<s>", "</s>") if piece not in names]
    if missing:
        raise ValueError(f"{path} does not have the pieces {missing}.")
    ids = our_ids(len(names), *map(names.index, ("<pad>", "<unk>", "<s>", "</s>")))
    return Tokenizer(renumber(model, names, ids, [*first, names[-1]], path)).with_around((BOS,), (EOS,)), ids

"""Networks for many languages: their vocabulary over our ids, and the ids around a text of each language.

The ids are fairseq's: `<s>`, `<pad>`, `</s>`, `<unk>`, then the pieces, then the languages. The rules are those of the
tokenizers of transformers 5.23 and of their papers: mBART-25 (arXiv:2001.08210) has the source language behind a text,
and its decoder starts with the target language; the others have it before a text, and force it as the first token.
"""

import dataclasses
import re
from functools import partial

import numpy as np

from zoo.pretrained import generation
from zoo.pretrained.parts import refuse_tokenizers
from zoo.pretrained.sentencepiece_files import FAIRSEQ, demand_settings, read_sentencepiece
from zoo.pretrained.vocabulary import (
    CONTROL,
    UNKNOWN as UNKNOWN_KIND,
    names_by_id,
    pieces_of,
    renumber,
    with_start,
)
from zoo.text import Tokenizer
from zoo.text.base import BOS, EOS

UNKNOWN = 3
MBART = "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP "
MBART += "nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
MBART50 = "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE "
MBART50 += "ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
M2M100 = {
    "m2m100": "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps "
    "pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu",
    "wmt21": "en ha is ja cs ru zh de",
}


@dataclasses.dataclass(frozen=True)
class Manner:
    """What a class of tokenizers does with languages.

    Attributes:
        codes: the languages that it knows by itself, in the order of their ids.
        written: a pattern of their pieces, whose group is the code.
        before: whether a language stands before a text, or behind its end.
        starts: whether the decoder starts with the target language, which else is its first token.
    """

    codes: str = ""
    written: str = "([a-z]{2}_[A-Z]{2})"
    before: bool = True
    starts: bool = False


MANNERS = {
    "MBartTokenizer": Manner(MBART, before=False, starts=True),
    "MBart50Tokenizer": Manner(f"{MBART} {MBART50}"),
    "NllbTokenizer": Manner(written="([a-z]{3}_[A-Z][a-z]{3})"),  # its files name its languages
    "M2M100Tokenizer": Manner(written="__([a-z]{2,3})__"),
}


def read_vocabulary(source, size, first):
    """The arguments of a `Network` about words: `ids`, `barred`, `tokenizers`, `generation` and `languages`.

    Without the files of its tokenizers a network has the same ids, and an error comes when the tokenizers are made.

    Args:
        source: the `Source`; its `languages` are those that the user asks for.
        size: how many ids the network knows.
        first: the id that its decoder starts with, where no language is chosen.

    Raises:
        ValueError: the user asks for languages that the network does not have.
    """
    pad, eos = (source.config.get(f"{name}_token_id", usual) for name, usual in (("pad", 1), ("eos", 2)))
    try:
        manner = manner_of(source)
        model, path, names, count, unlisted = names_of(source, size, manner)
        languages = {match[1]: at for at, name in enumerate(names) if (match := re.fullmatch(manner.written, name))}
        chosen = languages_of(source, languages, manner)
    except (ValueError, OSError, LookupError, TypeError, AttributeError) as error:
        if any(source.languages):
            raise
        ids, _ = with_start(size, pad, UNKNOWN, first, eos)
        return {"ids": ids, "barred": (BOS,), "tokenizers": partial(refuse_tokenizers, error), "generation": {}}
    target, search = languages.get(chosen[1]), {}
    if target is not None:
        forced = generation.settings_of(source).get("forced_bos_token_id")
        if manner.starts:
            first = search["decoder_start_token_id"] = target
        if not manner.starts or forced in languages.values():
            search["forced_bos_token_id"] = target
    ids, order = with_start(size, pad, UNKNOWN, first, eos, len(unlisted))

    def tokenizers():
        if "" in chosen:
            sides = [side for side, code in zip(("source", "target"), chosen, strict=True) if not code]
            raise ValueError(
                f"{source.address} is for many languages, and does not say which is its {' and '.join(sides)}. Choose "
                "with --source-language and --target-language (in Python source_language and target_language) from "
                f"{_join_codes(languages)}."
            )
        pieces = ["<cls>", *names[1:], "<start>", *unlisted]  # `<s>` is what our BOS is called
        tokenizer = Tokenizer(renumber(model, pieces, order, (pieces[0], *names[count:]), path))
        reads, writes = (int(np.flatnonzero(order == languages[code])[0]) for code in chosen)
        around = ((reads,), (EOS,)) if manner.before else ((), (EOS, reads))
        return tokenizer.with_around(*around), tokenizer.with_around(() if manner.starts else (writes,), (EOS,))

    return {
        "ids": ids,
        "barred": (BOS, *range(len(ids) - len(unlisted), len(ids))),
        "tokenizers": tokenizers,
        "generation": search,
        "languages": chosen,
    }


def marian_targets(names):
    """`{language: its piece}` of a Marian network for many targets, whose texts begin with one, as `>>fra<<`."""
    return {name[2:-2]: name for name in names if re.fullmatch(r">>[^<>\s]+<<", name)}


def make_marian_reader(source, model, names, ids, path):
    """The tokenizer of what a Marian network reads.

    Args:
        source: the `Source`; its `languages` are those that the user asks for.
        model, names, ids, path: as of `zoo.pretrained.vocabulary.renumber`.

    Raises:
        ValueError: the network writes many languages, and the target is none of them or is not chosen.
    """
    targets, (reads, target) = marian_targets(names), source.languages
    tokenizer = Tokenizer(renumber(model, names, ids, targets.values(), path))
    if not targets:
        return tokenizer
    if reads or target not in targets:
        unknown = reads or target
        problem = f"has no language {unknown!r} to choose" if unknown else "is for many languages"
        raise ValueError(
            f"{source.address} {problem}. It reads any, and writes one that --target-language chooses (in Python "
            f"target_language): {_join_codes(targets)}."
        )
    return tokenizer.with_around((int(np.flatnonzero(ids == names.index(targets[target]))[0]),), (EOS,))


def manner_of(source):
    """The `Manner` of the class that its files name, or else of what its files are."""
    config = source.json("tokenizer_config.json")
    fallback = "MBartTokenizer" if source.config.get("model_type") == "mbart" else "NllbTokenizer"
    fallback = "M2M100Tokenizer" if source.has("vocab.json") else fallback
    name = config.get("tokenizer_class") or source.config.get("tokenizer_class") or fallback
    if name.removesuffix("Fast") not in MANNERS:
        raise ValueError(f"{source.address}: the tokenizer is a {name}; known here are {', '.join(MANNERS)}.")
    manner = MANNERS[name.removesuffix("Fast")]
    legacy = name.startswith("Nllb") and config.get("legacy_behaviour")
    return dataclasses.replace(manner, before=False) if legacy else manner


def names_of(source, size, manner):
    """(model, its path, the pieces by their ids there, how many of them it has, those that have no id)."""
    demand_settings(source)
    model, base, path = read_sentencepiece(source, FAIRSEQ)
    pieces, codes, config = pieces_of(model, path), [], source.json("tokenizer_config.json")
    if base is None and source.has("vocab.json"):
        vocabulary = source.json("vocab.json")
        base = names_by_id(vocabulary, len(vocabulary), source.path("vocab.json"))
        if (kind := config.get("language_codes", "m2m100")) not in M2M100:
            raise ValueError(f"{source.address}: language_codes is {kind!r}; expected {' or '.join(M2M100)}.")
        codes = [f"__{code}__" for code in M2M100[kind].split()]
    elif base is None:
        base = ["<s>", "<pad>", "</s>", "<unk>", *(piece for piece, _, _ in pieces[3:])]
        listed = config | source.json("special_tokens_map.json")
        listed = listed.get("extra_special_tokens") or listed.get("additional_special_tokens") or []
        codes = [name for name in listed if isinstance(name, str) and re.fullmatch(manner.written, name)]
        codes = [*(codes or manner.codes.split()), "<mask>"]
    added = [(each["id"], each) for each in source.json("tokenizer.json").get("added_tokens", ())]
    added += [(int(at), each) for at, each in config.get("added_tokens_decoder", {}).items()]
    stated = {at: each["content"] for at, each in added}
    if sought := [each["content"] for at, each in added if at >= len(base) and not each["special"]]:
        raise ValueError(f"{source.address} looks for the piece {sought[0]!r} in texts, which is not done here.")
    for at, name in stated.items():
        if at < len(base) and base[at] != name:
            raise ValueError(f"{source.address}: the piece {at} is {name!r}; {FAIRSEQ} makes it {base[at]!r}.")
    if len(base) > size:
        raise ValueError(f"{source.address}: the network knows {size:,} ids; {FAIRSEQ} makes it {len(base):,}.")
    behind = dict(enumerate((name for name in codes if name not in stated.values()), len(base))) | stated
    names = base + [behind.get(at, f"<unused {at}>") for at in range(len(base), size)]
    unlisted = {piece: None for piece, _, kind in pieces if kind not in (CONTROL, UNKNOWN_KIND)}
    for name in names:
        unlisted.pop(name, None)
    return model, path, names, len(base), list(unlisted)


def languages_of(source, languages, manner):
    """(source, target): those that the user asks for, or else those that the files state; "" where neither does.

    Raises:
        ValueError: the user asks for a language that the network does not have.
    """
    unknown = [code for code in source.languages if code and code not in languages]
    if unknown:
        raise ValueError(f"{source.address} knows no language {unknown[0]!r}; it knows {_join_codes(languages)}.")
    config, search = source.json("tokenizer_config.json"), generation.settings_of(source)
    start = search.get("decoder_start_token_id", source.config.get("decoder_start_token_id"))
    forced = start if manner.starts else search.get("forced_bos_token_id")
    named = {at: code for code, at in languages.items()}
    stated = config.get("src_lang"), named.get(forced) or config.get("tgt_lang")
    stated = (code if code in languages else "" for code in stated)
    return tuple(asked or code for asked, code in zip(source.languages, stated, strict=True))


def _join_codes(languages):
    return ", ".join(sorted(languages)) or "none"

"""Networks for many languages: their vocabulary over our ids, and what stands around a text of each language.

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
from zoo.pretrained.vocabulary import CONTROL, UNKNOWN as UNKNOWN_KIND, names_by_id, pieces_of, rewritten, with_start
from zoo.text import Tokenizer
from zoo.text.special import BOS, EOS

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


def vocabulary(source, size, first):
    """What a `Network` says of words: `ids`, `barred`, `generation`, `languages`, `data` and `tokenizers`.

    Without the files of its tokenizers a network has the same ids, and the tokenizers are refused when they are made.

    Args:
        source: the `Source`; its `languages` are those that the user asks for.
        size: how many ids the network knows.
        first: the id that its decoder starts with, where no language is chosen.

    Raises:
        ValueError: the user asks for languages, and there are no such.
    """
    pad, eos = (source.config.get(f"{name}_token_id", usual) for name, usual in (("pad", 1), ("eos", 2)))
    try:
        manner = manner_of(source)
        model, path, names, count, lost = names_of(source, size, manner)
        known = {found[1]: at for at, name in enumerate(names) if (found := re.fullmatch(manner.written, name))}
        chosen = languages_of(source, known, manner)
    except (ValueError, OSError, LookupError, TypeError, AttributeError) as error:
        if any(source.languages):
            raise
        ids, _ = with_start(size, pad, UNKNOWN, first, eos)
        return {"ids": ids, "barred": (BOS,), "tokenizers": partial(refuse_tokenizers, error), "generation": {}}
    target, asked = known.get(chosen[1]), {}
    if target is not None:
        forced = generation.given_by(source).get("forced_bos_token_id")
        if manner.starts:
            first = asked["decoder_start_token_id"] = target
        if not manner.starts or forced in known.values():
            asked["forced_bos_token_id"] = target
    ids, order = with_start(size, pad, UNKNOWN, first, eos, len(lost))

    def tokenizers():
        if "" in chosen:
            sides = [side for side, code in zip(("source", "target"), chosen, strict=True) if not code]
            raise ValueError(
                f"{source.address} is for many languages, and does not say which is its {' and '.join(sides)}. Choose "
                "with --source-language and --target-language (in Python source_language and target_language) from "
                f"{_listed(known)}."
            )
        whole = ["<cls>", *names[1:], "<start>", *lost]  # `<s>` is what our BOS is called
        made = Tokenizer(rewritten(model, whole, order, (whole[0], *names[count:]), path))
        reads, writes = (int(np.flatnonzero(order == known[code])[0]) for code in chosen)
        around = ((reads,), (EOS,)) if manner.before else ((), (EOS, reads))
        return made.with_around(*around), made.with_around(() if manner.starts else (writes,), (EOS,))

    return {
        "ids": ids,
        "barred": (BOS, *range(len(ids) - len(lost), len(ids))),
        "tokenizers": tokenizers,
        "generation": asked,
        "languages": chosen,
    }


def marian_targets(names):
    """`{language: its piece}` of a Marian network for many targets, whose texts begin with one, as `>>fra<<`."""
    return {name[2:-2]: name for name in names if re.fullmatch(r">>[^<>\s]+<<", name)}


def marian_reader(source, model, names, ids, path):
    """The tokenizer of what a Marian network reads.

    Args:
        source: the `Source`; its `languages` are those that the user asks for.
        model, names, ids, path: as of `zoo.pretrained.vocabulary.rewritten`.

    Raises:
        ValueError: the target is one of many, and it is not chosen or there is no such.
    """
    known, (reads, target) = marian_targets(names), source.languages
    made = Tokenizer(rewritten(model, names, ids, known.values(), path))
    if not known:
        return made
    if reads or target not in known:
        wrong = reads or target
        problem = f"has no language {wrong!r} to choose" if wrong else "is for many languages"
        raise ValueError(
            f"{source.address} {problem}. It reads any, and writes one that --target-language chooses (in Python "
            f"target_language): {_listed(known)}."
        )
    return made.with_around((int(np.flatnonzero(ids == names.index(known[target]))[0]),), (EOS,))


def manner_of(source):
    """The `Manner` of the class that its files name, or else of what its files are."""
    config = source.json("tokenizer_config.json")
    fallback = "MBartTokenizer" if source.config.get("model_type") == "mbart" else "NllbTokenizer"
    fallback = "M2M100Tokenizer" if source.has("vocab.json") else fallback
    name = config.get("tokenizer_class") or source.config.get("tokenizer_class") or fallback
    if name.removesuffix("Fast") not in MANNERS:
        raise ValueError(f"{source.address}: the tokenizer is a {name}; known here are {', '.join(MANNERS)}.")
    found = MANNERS[name.removesuffix("Fast")]
    legacy = name.startswith("Nllb") and config.get("legacy_behaviour")
    return dataclasses.replace(found, before=False) if legacy else found


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
    wrong = [at for at, name in stated.items() if at < len(base) and base[at] != name]
    if wrong or len(base) > size:
        problem = f"the piece {wrong[0]} is {stated[wrong[0]]!r}" if wrong else f"the network knows {size:,} ids"
        expected = f"{base[wrong[0]]!r}" if wrong else f"{len(base):,}"
        raise ValueError(f"{source.address}: {problem}; {FAIRSEQ} makes it {expected}.")
    behind = dict(enumerate((name for name in codes if name not in stated.values()), len(base))) | stated
    names = base + [behind.get(at, f"<unused {at}>") for at in range(len(base), size)]
    lost = {piece: None for piece, _, kind in pieces if kind not in (CONTROL, UNKNOWN_KIND)}
    for name in names:
        lost.pop(name, None)
    return model, path, names, len(base), list(lost)


def languages_of(source, known, manner):
    """(source, target): those that the user asks for, or else those that the files state; "" where none does.

    Raises:
        ValueError: the user asks for one that there is not.
    """
    wrong = [code for code in source.languages if code and code not in known]
    if wrong:
        raise ValueError(f"{source.address} knows no language {wrong[0]!r}; it knows {_listed(known)}.")
    config, given = source.json("tokenizer_config.json"), generation.given_by(source)
    start = given.get("decoder_start_token_id", source.config.get("decoder_start_token_id"))
    forced = start if manner.starts else given.get("forced_bos_token_id")
    named = {at: code for code, at in known.items()}
    stated = config.get("src_lang"), named.get(forced) or config.get("tgt_lang")
    return tuple(asked or (code if code in known else "") for asked, code in zip(source.languages, stated, strict=True))


def _listed(known):
    return ", ".join(sorted(known)) or "none"

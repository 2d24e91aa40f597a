"""Plain: a text is cut into sentences and what stands between them, so that a translator of sentences can read a page.

The borders follow the rule of Unicode's Standard Annex 29 (a terminator, closing marks, a space, and no small letter
behind it), with what the annex leaves to each language: abbreviations, initials and ordinal numbers end no sentence.
Lines, mark-up, code and whatever holds no letter are borders, and stay as they are. In a page of Markdown or HTML a
sentence may go on over a line break, which is a space there unless the lines are a heading, a list, a quote or a table,
or end with two spaces or a backslash. Nothing is lost: the parts joined are the text. The time is linear in the length
of the text, whatever it holds.
"""

import html
import itertools
import re
from dataclasses import dataclass, replace

from serving.kinds.generate import Hypothesis, Result

# White space is looked at once, from its beginning.
LINES = re.compile(r"((?<!\s)\s*(?:\r\n|[\n\r\v\f\x85\u2028\u2029])\s*)")
TAG = r"""<[/!?]?[A-Za-z](?:(?:[^<>"']|"[^"<]{0,999}"|'[^'<]{0,999}'){0,999}|[^<>]{0,999})>"""
REFERENCE = re.compile(r"&#?\w{1,31};")
MARKUP = re.compile(rf"({TAG}|{REFERENCE.pattern}|https?://[^\s<>]{{1,2000}}|[*_`~]{{2,}}|[`|])")
FRONT = re.compile(  # settings of a page that stand before it, as static sites have them
    r"(---|\+\+\+)[ \t]*\r?\n(?=[\w\"'][^\n:=]*[:=]|#)(?:[^\n]*\n)*?\1[ \t]*(?=\r?\n|\Z)"
)
CODE = re.compile(  # how code begins: a fence, an element, a comment; and a span of code as a whole
    r"(?im)^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
    r"|<(?P<element>code|pre|script|style|textarea)(?=[\s>])[^<>]{0,999}>|<!(?P<comment>--)"
    r"|(?P<span>(?<!`)(?P<ticks>`+)(?!`)(?:[^\n]|\n(?![ \t]{0,99}\r?\n)){1,1000}?(?<!`)(?P=ticks)(?!`))"
)
ENDS = {  # of code: what ends with a group that begins as it began
    "fence": re.compile(r"(?m)^[ \t>]*(`{3,}|~{3,})[ \t\r]*$"),
    "element": re.compile(r"(?i)</(code|pre|script|style|textarea)\s*>"),
    "comment": re.compile("(--)>"),
}
SOFT = re.compile(r"[ \t]?\r?\n[ \t]*")  # a line break that may stand within a sentence
UNDERLINE = re.compile(r"(?m)[-=]+[ \t\r]*$")  # of a heading
RULE = re.compile(r"[ \t>]*([-=*_])(?:[ \t]*\1)*[ \t]*")  # a line across the page, or below a heading
ROW = re.compile(r"[^\n|]*\|")  # of a table
HEADING = re.compile(r"[ \t>]*#{1,6}\s")
LIST_MARK = re.compile(r"\s*(?:#{1,6}|>+|[-*+•–]|\d{1,3}(?P<dot>[.)])|[A-Za-z][)])\s+")
STOPS = ".!?…‼⁇⁈⁉؟۔܀։჻।॥၊။።፧፨‽"
WIDE_STOPS = "。！？｡．"
CLOSING = "\"'”’»›)]}」』）】〕》〉“"
CLOSES = re.escape(CLOSING)
HAN_AND_KANA = "\u3040-\u30ff\u3400-\u9fff"  # which need no space behind a stop
OPENING = "\"'“‘„‚«‹([{¿¡「『（【〔《〈”"
_BORDER = re.compile(  # a run of stops is looked at once, from its beginning
    rf"(?<![{STOPS}{WIDE_STOPS}])"
    rf"(?:[{WIDE_STOPS}]+[{CLOSES}]*\s*(?=\S)"
    rf"|[{STOPS}]+(?:[ \u00a0\u202f]?»)?[{CLOSES}]*\s+(?=\S)"
    rf"|[!?]+(?=[{HAN_AND_KANA}]))"
)
SOFT_WITHOUT_SPACE = re.compile(rf"(?<=[{HAN_AND_KANA}，。、]){SOFT.pattern}(?=[{HAN_AND_KANA}])")
_SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that is not UTF-8
_WORD = re.compile(r"[\w.&'’-]{1,40}\Z")

ORDINALS = {"cs", "da", "de", "et", "fi", "hr", "hu", "is", "lv", "nb", "nn", "no", "pl", "sk", "sl", "sr", "tr"}
ABBREVIATIONS = {
    "cs": "atd apod např popř resp tj tzv str č čís kap obr tab sv mj prof dr ing mgr bc ph",
    "da": "bl ca dvs eks el evt f fx hr inkl jf kl nr osv pga s stk tlf vedr",
    "de": "abb abs allg art aufl bd betr bsp bspw bzgl bzw ca d dgl dr ebd einschl etc evtl exkl fa ff frl fr gem ggf "
    "hl hr hrsg inh inkl jh jhd kap lat lt max mio min mrd mwst nr o od pfd pl prof rd s sog st std str tel u ua "
    "usw v vgl vorm vs z zb zit zt zzgl",
    "en": "adm al apr aug ave blvd brig capt cf cmdr co col corp dec dept dr ed eds est etc feb fig figs gen "
    "gov hon inc jan jr jul jun lt ltd maj mar messrs mr mrs ms mt nov oct op pp ph prof rep rev sen sep sept sgt "
    "sr st vol vols vs viz",
    "es": "ap apdo art av avda cap cía d dr dra ej etc fig gral ing lic núm p pág págs prof ptas s sr sra sres srta ss "
    "ud uds vol",
    "fr": "al apr art av bd cf chap dr éd env etc ex fig hab janv juil m mgr mlle mlles mm mme mmes n no p pp prof "
    "sept st ste vol",
    "hu": "dr ifj id kb stb pl ún ill vö",
    "it": "a art avv c cap cfr dott ecc ed es fig ing n on pag pagg prof rag s sig sigg sig.ra spett tel vol",
    "nl": "a.u.b bijv blz bv ca dhr dr drs enz etc evt fig i.p.v ing ir jl mevr mgr mr mw nl nr o.a prof resp st tel "
    "vgl vlg zgn",
    "pl": "bp dr godz im inż itd itp ks lek m.in mgr np nr ok p pl pn prof ps pt r ś św tel tj tys tzn tzw ul ww zob",
    "pt": "art av cap dr dra eng etc ex fig n núm p pág págs prof profa r sr sra srta vol",
    "ru": "г гг д др им кв млн млрд н напр обл пл пр р рис рр руб с св см соц ст стр т тел тт тыс ул ч",
    "sv": "bl ca dr dvs e.d el etc ev f.n fr inkl kap kl m.fl m.m nr o.d osv p.g.a resp s.k st t.ex tel",
}  # fmt: skip
KNOWN = {name: frozenset(words.split()) for name, words in ABBREVIATIONS.items()}
# Of a language that is not known: what is long enough to be no word elsewhere.
ANY = frozenset().union(*({word for word in words if len(word) > 2} for words in KNOWN.values())) | KNOWN["en"]
ANY -= {"art", "bis", "est", "max", "min", "mar", "rep", "fig", "tab", "str", "kap", "lat", "col", "gem", "bsp"}


@dataclass(frozen=True)
class Part:
    """A piece of a text: a sentence, or what stands between two of them and stays as it is."""

    text: str
    is_sentence: bool


def parts_of(text, language="", page=False):
    """The parts of a text, whose texts joined are the text.

    Args:
        text: of any length; a line break ends a sentence.
        language: its code, such as "de", "deu_Latn" or "de_DE", for its abbreviations; "" is one that is not known.
        page: whether a sentence may go on over a line break, as in Markdown and HTML.

    Returns:
        A list of `Part`; sentences have at least one letter, and no white space at their ends.
    """
    front = page and FRONT.match(text)
    begin = front.end() if front else 0
    pieces, parts, code = [(text[:begin], False)], [], _language_code(language)
    for start, end, is_code in _cut_code(text, begin):
        if is_code:
            pieces.append((text[start:end], False))
            continue
        begins = start == begin
        for gap in LINES.finditer(text, start, end):
            if not (page and _is_soft(text, gap)):
                pieces += [*_split_line(text[start : gap.start()], code, begins), (gap[0], False)]
                start, begins = gap.end(), True
        pieces += _split_line(text[start:end], code, begins)
    for is_sentence, group in itertools.groupby(pieces, lambda piece: piece[1]):
        texts = [piece[0] for piece in group]
        parts += [Part(each, True) for each in texts] if is_sentence else [Part("".join(texts), False)]
    return [part for part in parts if part.text]


def _cut_code(text, place):
    """`(start, end, whether it is code)` of the pieces of a text from a place on; code without an end goes on to that
    of the text."""
    while begin := CODE.search(text, place):
        kind, end = begin.lastgroup, begin
        if kind != "span":
            name, ends = begin[kind].lower(), ENDS[kind].finditer(text, begin.end())
            end = next((each for each in ends if each[1].lower().startswith(name)), None)
        yield place, begin.start(), False
        place = end.end() if end else len(text)
        yield begin.start(), place, True
    yield place, len(text), False


def _is_soft(text, gap):
    """Whether a sentence of a page may go on over what breaks two lines."""
    if not SOFT.fullmatch(gap[0]) or LIST_MARK.match(text, gap.end()) or UNDERLINE.match(text, gap.end()):
        return False
    before = text[text.rfind("\n", 0, gap.start()) + 1 : gap.start()]
    after = ROW.match(text, gap.end())
    return not (HEADING.match(before) or RULE.fullmatch(before) or before.endswith("\\") or "|" in before or after)


class Sentences:
    """Texts whose sentences are run by themselves. A text is run as it is if it is one sentence, blank, or not UTF-8;
    another one that holds no sentence stays as it is.

    Args:
        texts: a list.
        language: of the texts, as of `parts_of`.
        page: as of `parts_of`; then a sentence that has an error stays as it is, and has a warning that says so.

    Attributes:
        sentences: the texts that are run, those of each text behind each other.
    """

    def __init__(self, texts, language="", page=False):
        self._texts, self._parts, self._page = texts, [parts_of(text, language, page) for text in texts], page
        own = [[_unwrap(part.text) for part in parts if part.is_sentence] for parts in self._parts]
        whole = [
            sentences == [text] or not text.strip() or not text.isascii() and _SURROGATE.search(text)
            for text, sentences in zip(texts, own, strict=True)
        ]
        self._runs = [[text] if alone else cut for text, alone, cut in zip(texts, whole, own, strict=True)]
        self.sentences = [sentence for sentences in self._runs for sentence in sentences]

    def join(self, results):
        """A `Result` for each text, from one for each of `sentences`, in its order: sentences stand where they stood.

        The score of a text is the sum of its sentences', its confidence the least of theirs, its warning names those
        that have one, and a text of which a sentence has an error has none but that.
        """
        remaining = iter(results)
        answers = [[next(remaining) for _ in sentences] for sentences in self._runs]
        if self._page:
            answers = [
                [_keep(*each) for each in zip(run, own, strict=True)]
                for run, own in zip(self._runs, answers, strict=True)
            ]
        return [
            own[0] if run == [text] else _join(parts, own)
            for text, parts, run, own in zip(self._texts, self._parts, self._runs, answers, strict=True)
        ]


def _unwrap(sentence):
    """A sentence in one line, with the letters that it refers to."""
    sentence = SOFT.sub(" ", SOFT_WITHOUT_SPACE.sub("", sentence))
    return REFERENCE.sub(lambda each: html.unescape(each[0]) if _is_letter(each[0]) else each[0], sentence)


def _is_letter(markup):
    """Whether mark-up is a reference to what stands within words or between them, such as &auml; and &nbsp;."""
    letter = html.unescape(markup) if markup[0] == "&" else ""
    return letter.isalpha() or letter in ("'", "’", "\u00a0", "\u00ad")


def _keep(sentence, answer):
    """The answer; or, where there is none, the sentence as it is."""
    if answer.error is None or _SURROGATE.search(sentence):
        return answer
    return replace(answer, text=sentence, error=None, warning=f"it stays as it is: {answer.error}")


def _join(parts, answers):
    """The `Result` of a text from those of its sentences."""
    remarks = {
        name: "; ".join(
            f"sentence {number}: {remark}" for number, each in enumerate(answers, 1) if (remark := getattr(each, name))
        )
        or None
        for name in ("error", "warning")
    }
    if remarks["error"]:
        return Result("", 0.0, (Hypothesis("", 0.0),), **remarks)
    text = _join_texts(parts, [each.text for each in answers])
    score = sum(each.score for each in answers)
    confidence = min((each.confidence for each in answers if each.confidence is not None), default=None)
    return Result(text, score, (Hypothesis(text, score),), confidence, warning=remarks["warning"])


def _join_texts(parts, answers):
    """The answers where their sentences stood. Two that only a space or nothing sets apart have a space between them,
    and none behind a wide stop, as in Chinese and Japanese."""
    ends = (0, len(parts) - 1)
    parts = [part for place, part in enumerate(parts) if part.text != " " or place in ends]
    remaining, texts = iter(answers), []
    for before, part in zip([None, *parts], parts, strict=False):
        if part.is_sentence and before and before.is_sentence:
            texts.append("" if texts[-1].rstrip(CLOSING).endswith(tuple(WIDE_STOPS)) else " ")
        texts.append(next(remaining) if part.is_sentence else part.text)
    return "".join(texts)


def _split_line(line, code, begins):
    """(text, whether it is a sentence) of the pieces of a line, or of the rest of one that does not begin here."""
    mark = LIST_MARK.match(line) if begins else None
    if mark and mark["dot"] == "." and code in ORDINALS:
        mark = None  # "3. Oktober" is no place in a list
    if mark:
        yield mark[0], False
    for piece, is_markup in _cut_markup(line[mark.end() if mark else 0 :]):
        for sentence in [piece] if is_markup else _split_sentences(piece, code):
            inner = "" if is_markup else sentence.strip()
            start = sentence.index(inner)
            ends = (sentence[:start], False), (sentence[start + len(inner) :], False)
            yield from (ends[0], (inner, any(map(str.isalpha, inner))), ends[1])


def _cut_markup(line):
    """`(piece, whether it is mark-up)` of the pieces of a line; a reference to a letter is none."""
    text = []
    for place, piece in enumerate(MARKUP.split(line)):
        if place % 2 and not _is_letter(piece):
            yield "".join(text), False
            yield piece, True
            text.clear()
        else:
            text.append(piece)
    yield "".join(text), False


def _split_sentences(text, code):
    """A line without mark-up, cut behind the white space that follows each sentence."""
    start = 0
    for border in _BORDER.finditer(text):
        begin, end = border.span()
        if _ends_sentence(text[max(start, begin - 40) : begin], border[0], text[end : end + 4], code):
            yield text[start:end]
            start = end
    yield text[start:]


def _ends_sentence(before, stop, after, code):
    """Whether a sentence ends with this stop and white space."""
    first = after.lstrip(OPENING)[:1]
    if stop[0] in WIDE_STOPS:
        return True
    if first.islower():
        return False
    if stop.rstrip()[:1] != "." or stop.startswith(".."):
        return True
    last = _WORD.search(before)
    word = last[0].lstrip("'’-") if last else ""
    if not word:
        return True
    if word.isdigit():
        return len(word) > 2 or code not in ORDINALS
    if len(word) == 1 and word.isalpha() and word.isupper():
        return False  # an initial
    if "." in word and max(map(len, word.split("."))) <= 2:
        return False  # z.B., e.g., U.S.
    return word.casefold() not in KNOWN.get(code, ANY)


def _language_code(language):
    """Two letters of a language's code where it is among those that have abbreviations here, else the code."""
    first = re.split(r"[-_]", language)[0].lower()
    return THREE_LETTERS.get(first, first)


THREE_LETTERS = {
    "ces": "cs", "dan": "da", "deu": "de", "ger": "de", "eng": "en", "est": "et", "fin": "fi", "fra": "fr", "fre": "fr",
    "hrv": "hr", "hun": "hu", "isl": "is", "ita": "it", "lvs": "lv", "nld": "nl", "nno": "nn", "nob": "nb", "pol": "pl",
    "por": "pt", "rus": "ru", "slk": "sk", "slv": "sl", "spa": "es", "srp": "sr", "swe": "sv", "tur": "tr",
}  # fmt: skip

"""How a plain text is cut into words for a model that reads words.

    spaces       what white space separates
    punctuation  marks and symbols are words of their own, too: "zoo?" is "zoo" and "?". An apostrophe or a full stop
                 between letters joins them ("don't", "a.b"), a comma or a colon does between digits ("3,000"), and
                 "...", "?!", "--", addresses, @names and #tags are one word
    treebank     the rules of the Penn Treebank for English, as NLTK's `TreebankWordTokenizer` has them: "don't" is "do"
                 and "n't", "5%" is "5" and "%", "well-known" is one word, and a full stop is a word at the end of the
                 text alone. Typographic quotes, dashes and dots are read as their plain forms are

A rule is a list of replacements, one after another, that put spaces into a text; words are what these separate. The
patterns look neither ahead nor behind and name no class of Unicode, so that Python, RE2 (TensorFlow) and JavaScript
find the same words.
"""

import functools
import itertools
import re

from zoo.text.characters import tables

WHITE_SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # the property of Unicode
_WORD = re.compile(f"[^{WHITE_SPACE}]+")
_BLANK = f"[{WHITE_SPACE}]", " "
_CLOSING = re.compile("[.,;:!?%)\\]}\u2026\u201d\u2019\xbb]+|''|n?['\u2019][A-Za-z]+")
_OPENING = re.compile("[(\\[{\u201c\u2018\xab$\xbf\xa1\u201e]+|``")
_INSIDE = ("-", "/")
_TRIED = 1_000  # sentences from which a rule is chosen


def _marks():
    """The inside of a class of all marks and symbols but "_", which is a letter, and the letters of flags."""
    bounds = tables()["punctuation"]
    ranges = [(chr(first), chr(end - 1)) for first, end in zip(bounds[::2], bounds[1::2], strict=True)]
    marks = "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges if not first <= "_" <= last)
    symbols = "\xa2-\xa9\xac\xae-\xb1\xb4\xb8\xd7\xf7\u2044\u2052\u207a-\u207e\u208a-\u208e\u20a0-\u20cf\u2190-\u2bff"
    return r"\[-\^`" + marks + symbols + "\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"


def _punctuation():
    marks = _marks()
    letters, modifiers = f"[^ {marks}]+", "[\ufe0f\U0001f3fb-\U0001f3ff]*"  # an emoji in its colours
    word = f"(?:[0-9]+(?:[.,:][0-9]+)+(?:{letters})?|{letters})(?:[.'\u2019\xb7]{letters})*"
    mark = f"[!?]+|[.]+|[-]+|[=]+|[*]+|[{marks}]{modifiers}(?:\u200d[{marks}]{modifiers})*"
    whole = f"https?://[^ ]*[^ {marks}]/?|[@#]{letters}|{letters}(?:[.]{letters})*@{letters}(?:[.-]{letters})+"
    return (_BLANK, (f"({whole}|{word}|{mark})", r" \1 "))


def _contraction(first, second):
    """Two words that are written as one, in small letters or large ones."""
    either = ["".join(f"[{each}{each.upper()}]" for each in part) for part in (first, second)]
    return "({})({})".format(*(part.replace("[''", "['\u2019") for part in either))


def _treebank():
    contractions = ("can not", "d 'ye", "gim me", "gon na", "got ta", "lem me", "more 'n")
    return (
        _BLANK,
        ('^"', ' " '),
        ("(``)", r" \1 "),
        ("[\u201c\u201d\u201e\xab\xbb\u2018\u2026\u2013\u2014]", r" \0 "),
        (r"""([ (\[{<])("|'')""", r"\1 \2 "),
        ("([:,])([^0-9])", r" \1 \2"),
        ("([:,])$", r" \1 "),
        ("[.][.][.]", " ... "),
        ("[;@#$%&]", r" \0 "),
        ("([^.])([.])([\\])}>\"'\u2019]*) *$", r"\1 \2\3 "),
        ("[?!]", r" \0 "),
        ("([^'\u2019])(['\u2019]) ", r"\1 \2 "),
        (r"[\]\[(){}<>]", r" \0 "),
        ("--", " -- "),
        ("^(.*)$", r" \1 "),
        ("''", " '' "),
        ('"', ' " '),
        ("([^'\u2019 ])(['\u2019][sSmMdD]|['\u2019]) ", r"\1 \2 "),
        ("([^'\u2019 ])(['\u2019](?:ll|LL|re|RE|ve|VE)|n['\u2019]t|N['\u2019]T) ", r"\1 \2 "),
        *((rf"\b{_contraction(*each.split())}\b", r" \1 \2 ") for each in contractions),
        (rf"\b{_contraction('wan', 'na')} ", r" \1 \2 "),
        *((rf" {_contraction(*each)}\b", r" \1 \2 ") for each in (("'t", "is"), ("'t", "was"))),
    )


RULES = {"spaces": tuple, "punctuation": _punctuation, "treebank": _treebank}


@functools.cache
def steps(rule):
    """The replacements of a rule: pairs of a pattern and its replacement, in which \\0 is the whole match."""
    return RULES[rule]()


@functools.cache
def _compiled(rule):
    return [(re.compile(pattern, re.ASCII), new.replace(r"\0", r"\g<0>")) for pattern, new in steps(rule)]


def find_words(text, rule="spaces"):
    """The places of the words of a text.

    Args:
        text: a string.
        rule: one of `RULES`.

    Returns:
        A list of (start, end) in characters; the end is exclusive.

    Example:
        >>> from zoo.text.words import find_words
        >>> [text[start:end] for text in ["Don't stop!"] for start, end in find_words(text, "treebank")]
        ['Do', "n't", 'stop', '!']
    """
    if not steps(rule):
        return [each.span() for each in _WORD.finditer(text)]
    places = [at for each in _WORD.finditer(text) for at in range(*each.span())]  # of what is no space, in order
    for pattern, new in _compiled(rule):
        text = pattern.sub(new, text)
    bounds, position = [], 0
    for word in text.split(" "):
        if word:
            bounds.append((places[position], places[position + len(word) - 1] + 1))
            position += len(word)
    return bounds


def places_of_joined(words):
    """The places of words in a text that joins them by one space."""
    ends = itertools.accumulate(words, lambda end, word: end + 1 + len(word), initial=-1)
    return [(end + 1, end + 1 + len(word)) for end, word in zip(ends, words, strict=False) if word]


def write_words(words):
    """(a text, the places of the words in it): words as people write them, marks beside the words that they belong to.

    Example:
        >>> from zoo.text.words import write_words
        >>> write_words(["Do", "n't", "(", "yet", ")", "stop", "!"])[0]
        "Don't (yet) stop!"
    """
    text, places, is_glued, is_quoted = "", [], True, False
    for word in words:
        quote = word == '"'
        if not (is_glued or _CLOSING.fullmatch(word) or word in _INSIDE or quote and is_quoted):
            text += " "
        places.append((len(text), len(text) + len(word)))
        text += word
        is_quoted ^= quote
        is_glued = word in _INSIDE or quote and is_quoted or bool(_OPENING.fullmatch(word))
    return text, places


def choose_rule(sentences):
    """(the rule that finds most words of sentences again, `{rule: the share that it finds}`).

    The sentences, lists of words, are joined as people write them. Of equally good rules it is the first.
    """
    hits, words = dict.fromkeys(RULES, 0), 0
    for sentence in sentences[:: max(1, len(sentences) // _TRIED)]:
        text, places = write_words(sentence)
        words += len(places)
        for rule in RULES:
            hits[rule] += len(set(places) & set(find_words(text, rule)))
    return max(hits, key=hits.get), {rule: count / max(1, words) for rule, count in hits.items()}

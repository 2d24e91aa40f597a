"""The blocks of the pages, as a reader sees them, and what their comments claim.

A page is parsed by a Markdown library. Python is executed statement by statement, and the blocks of a page share one
namespace. Each comment that names a shape is compared with the value of its statement, and each comment beside a
`print` with what was printed.
"""

import ast
import contextlib
import functools
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

import keras
from markdown_it import MarkdownIt

from tests.house_rules import ROOT

PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
PROGRAMS = ("seqzoo", ".venv/bin/", ".ci/run", "make ", "pip ", "python ")  # what a line of a shell begins with
KINDS = {"sh": "shell", "text": "formula"}  # of a fence that is marked so
SHAPE = re.compile(r"(\S*)\s*\((\d+(?: \+ \d+)?(?:, \d+(?: \+ \d+)?)+,?|\d+,)\)")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int  # of the page, counted from 1
    kind: str  # python, toml, shell, json, formula, tree
    text: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self):
        """The lines of a shell block, without their comments."""
        lines = (re.sub(r"\s+# .*", "", line).strip() for line in self.text.splitlines())
        return [line for line in lines if line]


def blocks(page, kind=None):
    """The fenced and the indented blocks of a page, in their order, but for what it quotes, as the text of an issue."""
    return [block for block in _all_blocks(page) if kind in (None, block.kind)]


@functools.cache
def _all_blocks(page):
    return [
        Block(page, token.map[0] + 1, KINDS.get(token.info, token.info) or _kind(token.content), token.content)
        for token in _flat(MarkdownIt().parse(page.read_text(encoding="utf-8")))
        if token.type in ("fence", "code_block")
    ]


def _flat(tokens):
    quotes = 0
    for token in tokens:
        quotes += token.nesting if token.type.startswith("blockquote") else 0
        if not quotes:
            yield token
            yield from _flat(token.children or ())


def _kind(text):
    if text.startswith(PROGRAMS):
        return "shell"
    return "json" if text.startswith("{") else "formula"


def execute(block, names):
    """Run a Python block in `names`; returns how many claims of its comments were compared.

    Raises:
        AssertionError: a statement came to something else than its comment says.
    """
    comments, compared = _comments(block.text), 0
    for statement in ast.parse(block.text).body:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _run(statement, names, str(block))
        claim = comments.get(statement.end_lineno, "")
        if printed.getvalue() and claim:
            said = printed.getvalue().strip()
            assert re.match(re.escape(said) + r"($|[:,;])", claim), f"{block} prints {said!r} where it says {claim!r}"
            compared += 1
            continue
        for node in ast.walk(statement):
            claim = comments.get(getattr(node, "end_lineno", None), "")
            if isinstance(node, ast.Assign) and SHAPE.search(claim):
                compare(claim, _run(ast.Expr(_loaded(node.targets[0])), names, str(block)), names, block)
                compared += 1
            elif node is statement and isinstance(node, ast.Expr) and SHAPE.search(claim):
                compare(claim, value, names, block)
                compared += 1
    return compared


def compare(claim, value, names, block):
    """A shape in a comment is that of the value, of an entry of it ("key" before the shape), or of an expression."""
    plain = []
    for name, text in SHAPE.findall(claim):
        shape = tuple(eval(part) for part in text.split(",") if part.strip())
        if re.fullmatch(r'"\w+"', name):
            found = tuple(value[name.strip('"')].shape)
        elif "[" in name:
            found = tuple(eval(name, names).shape)
        else:
            plain.append(shape)
            continue
        assert found == shape, f"{block} says {name} {shape}; it is {found}"
    if plain:
        found = [tuple(leaf.shape) for leaf in keras.tree.flatten(value)]
        assert found == plain, f"{block} says {claim!r}; the shapes are {found}"


def _comments(text):
    """Line -> the comment at its end."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}


def _run(statement, names, where):
    """Execute a statement; an expression's value."""
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), where, "eval"), names)
    exec(compile(ast.Module([statement], []), where, "exec"), names)


def _loaded(target):
    """The expression that reads what a statement has assigned."""
    return ast.parse(ast.unparse(target), mode="eval").body

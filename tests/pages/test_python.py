"""What a reader pastes runs as it stands: docstrings in an empty interpreter, blocks of pages in an empty folder."""

import doctest
import importlib

import pytest

from tests.house_rules import ROOT, SOURCES
from tests.pages.blocks import PAGES, Block, blocks, execute

WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
# The commands of these come first: test_walks.py
WITH_PYTHON = [page for page in WITH_PYTHON if page.parent.name != "tasks" and page.name != "firefox.md"]


HEAVY = ("zoo/blocks/", "zoo/depth/", "zoo/models/")  # rooms whose examples build whole networks


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.startswith(HEAVY) else [])
        for path in SOURCES
        if ">>> " in (ROOT / path).read_text("utf-8")
    ],
)
def test_docstring_examples(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    failed, attempted, said = 0, 0, []
    for test in doctest.DocTestFinder().find(module):
        test.globs = {}  # whatever an example needs, it imports
        results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
        failed, attempted = failed + results.failed, attempted + results.attempted
    assert attempted and not failed, "".join(said)


# They train, or export, or compile much.
SLOW = {"product-key-memory.md", "star-transformer.md", "transformer.md", "universal-transformer.md"}
RELEASE = {"depth-adaptive.md", "inside-keras.md", "python.md"}


def cost(page):
    return [pytest.mark.slow] * (page.name in SLOW) + [pytest.mark.release] * (page.name in RELEASE)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=cost(page)) for page in WITH_PYTHON],
    ids=lambda page: page.name,
)
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    compared = sum(execute(block, names) for block in blocks(page, "python"))
    assert compared or page.name in ("seq2seq.md", "product-key-memory.md")  # these claim no shape and no output


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("import numpy as np\nx = np.ones((2, 3))  # (2, 3): ones\n", True),
        ("import numpy as np\nx = np.ones((2, 3))  # (2, 4): ones\n", False),
        ("import numpy as np\nx, y = np.ones((2, 3)), np.ones((4, 1))  # (2, 3), (4, 1)\n", True),
        ("import numpy as np\nx, y = np.ones((2, 3)), np.ones((4, 1))  # (2, 3), (1, 4)\n", False),
        ("import numpy as np\nwith np.errstate():\n    x = np.ones((2, 3))  # (2, 1 + 2)\n", True),
        ("import numpy as np\nwith np.errstate():\n    x = np.ones((2, 3))  # (2, 1 + 3)\n", False),
        ('import numpy as np\nx = {"a": np.ones((2, 3))}  # "a" (2, 3) of all\n', True),
        ('import numpy as np\nx = {"a": np.ones((2, 3))}  # "a" (3, 2) of all\n', False),
        ('import numpy as np\nx = {"a": np.ones((2, 3))}  # x["a"] (3, 2) of all\n', False),
        ("import numpy as np\nnp.ones((2, 3))  # ones (2, 3)\n", True),
        ("import numpy as np\nnp.ones((2, 3))  # ones (2, 2)\n", False),
        ("print([64, 64])  # [64, 64]: windows\n", True),
        ("print([64, 32])  # [64, 64]: windows\n", False),
    ],
)
def test_a_wrong_claim_is_noticed(text, passes):
    block = Block(ROOT / "README.md", 1, "python", text)
    if passes:
        assert execute(block, {}) == 1
    else:
        with pytest.raises(AssertionError, match="README.md:1"):
            execute(block, {})

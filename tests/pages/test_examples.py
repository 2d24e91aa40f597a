"""Files of cells: one for each task, and each runs from an empty folder as it stands, and answers."""

import ast
import json
import re
import shutil

import pytest

from tests.house_rules import ROOT
from tests.shared import mostly_at_releases, python
from zoo.tasks import TASKS

# Not of a task -> the test that runs it.
OTHERS = {"demo": "tests/tools/test_calm.py", "ray_batch": "tests/serving/corpus/test_ray.py"}
EXAMPLES = [path for path in sorted(ROOT.glob("examples/*.py")) if path.stem not in OTHERS]
FILES = {"continue": "continue_text"}  # `continue` is no name of a module
AFTER = """
import json
print(json.dumps([scores["task"], scores["count"], len(answers), [each.error for each in answers]]))
"""


def test_every_task_has_one():
    assert {path.stem for path in EXAMPLES} == {FILES.get(name, name) for name in TASKS}


def test_the_others_have_tests():
    for name, test in OTHERS.items():
        assert f"{name}.py" in (ROOT / test).read_text(encoding="utf-8") and (ROOT / "examples" / f"{name}.py").exists()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_is_made_of_cells(path):
    """Every line belongs to a cell, text is a comment, and every cell of code parses by itself."""
    text = path.read_text(encoding="utf-8")
    first, *cells = re.split(r"^# %%", text, flags=re.MULTILINE)
    assert first == "" and len(cells) > 6 and cells[0].startswith(" [markdown]\n# # ")
    for cell in cells:
        kind, _, body = cell.partition("\n")
        assert kind in ("", " [markdown]")
        if kind:
            assert all(line.startswith("# ") for line in body.strip().splitlines())
        else:
            assert ast.parse(body).body


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("path", mostly_at_releases([pytest.param(path, id=path.stem) for path in EXAMPLES], 2))
def test_it_runs_from_an_empty_folder(path, tmp_path):
    if path.stem == "embed":  # a tiny network in the place of the real one
        shutil.copytree(ROOT / "tests" / "pretrained" / "data" / "minilm", tmp_path / "all-MiniLM-L6-v2")
    done = python("-c", path.read_text(encoding="utf-8") + AFTER, cwd=tmp_path, TF_CPP_MIN_LOG_LEVEL="2")
    task, count, answered, errors = json.loads(done.stdout.splitlines()[-1])
    assert FILES.get(task, task) == path.stem and count > 2
    assert answered and errors == [None] * answered

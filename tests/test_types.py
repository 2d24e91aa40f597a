"""What users call has types, which a type checker sees: a user's program is told what is wrong before it runs."""

import os
import subprocess
import sys

import pytest

from tests.house_rules import ROOT

PROGRAM = """
from typing import reveal_type

import zoo
from serving import Runtime
from serving.client import AsyncClient, Client
from serving.export import Settings, export_run
from serving.runtime import Sampling

runtime = Runtime("dates", threads=1)
reveal_type(runtime)
reveal_type(runtime.attention("a").weights)
reveal_type(runtime.score(["a"]))
reveal_type(zoo.path("dates"))
reveal_type(zoo.train("dates-gru-additive").directory)
reveal_type(zoo.hub.find("dates").folder)
reveal_type(export_run("runs/mine"))
reveal_type(Sampling(top_k=5).top_p)
reveal_type(Settings(name="a", task="b").beams)
reveal_type(Client("http://127.0.0.1:1", "a").run(["b"]))
reveal_type(zoo.attention.MultiHeadAttention(8, 2))


@zoo.register("attention", name="mine")
class Mine:
    pass


reveal_type(Mine())


async def ask() -> None:
    async with AsyncClient("http://127.0.0.1:1", "a") as client:
        reveal_type(client)


Runtime("dates", thread=1)
Runtime("dates", precision="int4")
zoo.evaluate("runs/mine", beams="3")
zoo.attention.MultiHeadAttention(8, 2, dropuot=0.1)
Sampling(seed="a")
"""
REVEALED = [
    "serving.runtime.runtime.Runtime",
    "numpy.ndarray[",
    "list[tuple[float, int]]",
    "pathlib.Path",
    "pathlib.Path | None",
    "pathlib.Path",
    "pathlib.Path",
    "float",
    "tuple[int, ...]",
    "list[Any]",
    "zoo.attention.multi_head.MultiHeadAttention",
    "Mine",
    "serving.client.client.AsyncClient",
]
WRONG = [
    'Unexpected keyword argument "thread" for "Runtime"',
    "\"Literal['int4']\"; expected \"Literal['float32', 'int8'] | None\"",
    'Argument "beams" to "evaluate" has incompatible type "str"',
    'Argument "seed" to "Sampling" has incompatible type "str"',
]


def mypy(cache, *words):
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *map(str, words)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"MYPYPATH": str(ROOT)}, capture_output=True, text=True, timeout=600
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_types(tmp_path):
    user = tmp_path / "user.py"
    user.write_text(PROGRAM)
    settings = ["--config-file", "", "--strict", "--follow-imports", "silent", "--ignore-missing-imports"]
    said = mypy(tmp_path / "cache", *settings, user)
    revealed = [line.split('Revealed type is "', 1)[1] for line in said.splitlines() if "Revealed type" in line]
    assert len(revealed) == len(REVEALED), said
    for found, expected in zip(revealed, REVEALED, strict=True):
        assert expected in found, said
    errors = [line for line in said.splitlines() if ": error: " in line]
    assert len(errors) == len(WRONG), said
    for found, expected in zip(errors, WRONG, strict=True):
        assert expected in found, said

"""What is logged of a library's warnings: never what a caller has sent."""

import asyncio
import gc
import io
import json
import logging

import pytest

from serving.server.monitoring import Handler, Log


@pytest.fixture
def lines(monkeypatch):
    """The lines that asyncio's warnings have become, without those about what earlier tests left to the collector."""
    gc.collect()
    stream, logger = io.StringIO(), logging.getLogger("asyncio")
    monkeypatch.setattr(logger, "handlers", [Handler(Log(stream))])
    monkeypatch.setattr(logger, "propagate", False)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_task_that_fails_unseen(lines):
    async def failing():
        raise ValueError("a secret")

    async def live():
        asyncio.create_task(failing())
        await asyncio.sleep(0.01)
        gc.collect()

    asyncio.run(live())
    (told,) = lines()
    assert told["log_message"] == "Task exception was never retrieved" and told["error"] == "ValueError"
    assert "secret" not in json.dumps(told)


def test_a_callback_that_fails(lines):
    async def live():
        asyncio.get_running_loop().call_soon(int, "a secret")
        await asyncio.sleep(0.01)

    asyncio.run(live())
    (told,) = lines()
    assert told["log_message"] == "Exception in callback int" and "secret" not in json.dumps(told)


def test_a_long_message_is_cut(lines):
    logging.getLogger("asyncio").warning("x" * 500)
    assert lines()[0]["log_message"] == "x" * 200 and lines()[0]["level"] == "warning"

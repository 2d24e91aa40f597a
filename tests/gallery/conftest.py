"""A gallery in a headless Chromium, for the tests of what its page answers and draws."""

import pytest

from benchmarks.harness import browser as driver
from serving.gallery import write

MODELS = ("dates", "pronounce-hu", "babi-1", "pos-en-star", "shakespeare-product-key")
SHOWN = ("dates-depth-adaptive", "shakespeare-adaptive-span")  # what these draw no other model does
STORY = "John travelled to the hallway. Mary journeyed to the bathroom. Where is John?"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    return write(MODELS + SHOWN, tmp_path_factory.mktemp("gallery") / "out")


@pytest.fixture(scope="module")
def address(gallery):
    with driver.served(gallery) as (address, _):
        yield address


@pytest.fixture(scope="module")
def page(browser, address):
    page = driver.Page(browser)
    page.open(f"{address}/")
    return page

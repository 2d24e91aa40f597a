from tests.serving.conftest import tokenizers  # noqa: F401

"""`seqzoo deploy` in this process, and what it wrote."""

from google.protobuf import text_format

from tools import cli


def content(folder):
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items()}


def deploy(*arguments):
    return cli.main(["deploy", *map(str, arguments)])


def served(out):
    """`models.config` in `out`, as TensorFlow Serving parses it: {model: its `ModelConfig`}."""
    from tensorflow_serving.config import model_server_config_pb2

    text = (out / "models.config").read_text()
    parsed = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    return {each.name: each for each in parsed.model_config_list.config}

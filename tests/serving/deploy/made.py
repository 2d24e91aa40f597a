"""Artefacts to deploy, made by hand: `tests.serving.fake_artefact` with a small SavedModel beside its graphs."""

import shutil

from tests.serving import fake_artefact

SCORES = {"name": "scores", "dtype": "float32", "shape": ["batch"]}
TOKENS = {
    "name": "tokens",
    "inputs": [
        {"name": "token_ids", "dtype": "int32", "shape": ["batch", "time"], "minimum": 0, "maximum": 20},
        {"name": "lengths", "dtype": "int32", "shape": ["batch"], "minimum": 1, "maximum": "time"},
    ],
    "outputs": [{"name": "output_ids", "dtype": "int32", "shape": ["batch", 4, "time"]}, SCORES],
}
STEP = {
    "name": "step",
    "inputs": [{"name": "state.cells_0", "dtype": "int32", "shape": ["beams", 1]}],
    "outputs": [{"name": "logits", "dtype": "float32", "shape": ["beams", 1]}],
}
TEXT = {
    "name": "serving_default",
    "inputs": [{"name": "text", "dtype": "string", "shape": ["batch"]}],
    "outputs": [{"name": "output_text", "dtype": "string", "shape": ["batch"]}],
}


def artefacts(home, versions=(1, 2), name="echo", saved=None):
    """`home/NAME` with versions of an artefact, and a SavedModel in each that is copied from the folder `saved`."""
    for version in versions:
        folder = fake_artefact.write(home / name / str(version))
        if saved is not None:
            shutil.copytree(saved, folder, dirs_exist_ok=True)
        texts, tables = ["abc", "a b c", "fed"], [TEXT, TOKENS, STEP]
        fake_artefact.change(folder, name=name, version=version, texts=texts, signatures=tables, max_input=16)
    return home / name


def saved_model(folder):
    """Write a SavedModel with the signatures `serving_default` and `tokens`."""
    import tensorflow as tf

    module = tf.Module()
    text = [tf.TensorSpec((None,), "string", "text")]
    ids = [tf.TensorSpec((None, None), "int32", "token_ids"), tf.TensorSpec((None,), "int32", "lengths")]
    module.text = tf.function(lambda text: {"output_text": text}, input_signature=text, autograph=False)
    module.ids = tf.function(
        lambda token_ids, lengths: {"output_ids": token_ids[:, None], "scores": tf.cast(lengths, tf.float32)},
        input_signature=ids,
        autograph=False,
    )
    tf.saved_model.save(module, str(folder), signatures={"serving_default": module.text, "tokens": module.ids})

"""Nats and bits of texts whose probability is known."""

import numpy as np
import pytest

from zoo.scores import language_model


def test_an_even_distribution_over_bytes_has_8_bits_a_byte():
    texts = ["abc", "äöü", "一"]
    characters, sizes = [len(text) for text in texts], [len(text.encode()) for text in texts]
    found = language_model(np.array(sizes) * np.log(256), characters, sizes)
    assert found["bits_per_byte"] == pytest.approx(8) and found["bits_per_character"] == pytest.approx(8 * 12 / 7)
    assert found["nats_per_character"] == pytest.approx(np.log(256) * 12 / 7)
    assert (found["count"], found["characters"], found["bytes"]) == (3, 7, 12)
    assert found["bits_per_byte_interval"] == pytest.approx([8, 8])
    assert found["bits_per_character_interval"][0] < found["bits_per_character"]


def test_tokens_have_a_perplexity_and_an_accuracy():
    found = language_model([np.log(4) * 3, np.log(4) * 5], [10, 20], tokens=[3, 5], right=[1, 1])
    assert found["perplexity"] == pytest.approx(4) and found["token_accuracy"] == 25 and found["tokens"] == 8
    assert "bits_per_byte" not in found


def test_long_texts_weigh_more():
    assert language_model([10, 10], [10, 90])["nats_per_character"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [3]), "one number for each text of each kind"),
        (([], []), "at least one text"),
        (([1.0], [0]), "received characters that sum to 0"),
        (([np.inf], [3]), "gave a text no probability"),
        (([1.0], [3], [4], None, [2]), "pass `tokens`, too"),
    ],
)
def test_what_cannot_be_scored_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        language_model(*arguments)

"""What a `generation_config.json` asks for, as the `[search]` of a recipe: each setting is honoured or refused by name.

The rules are those of transformers 5.23; docs/beam-search.md has the table. There `max_length` and `min_length` count
the token that a decoder starts with, and `max_length` a forced end of sentence; here lengths count neither. Of a model
that continues a prompt, whose search has one beam, `max_length` changes no token, only after how many a text breaks
off: there the shortest prompt counts, of one token.
"""

import json

import numpy as np

from zoo.pretrained.reading import Reading
from zoo.text.base import BOS, EOS, PAD

FILE, NGRAM = "generation_config.json", "no_repeat_ngram_size"
STOPS = {"false": "likely", "true": "full", '"never"': "sure"}  # of early_stopping, as JSON
# What changes nothing of what is written: who asks, how fast it is, what is returned; and what only sampling reads.
IDLE = {
    "transformers_version", "_from_model_config", "_commit_hash", "pad_token_id", "bos_token_id", "use_cache",
    "cache_implementation", "cache_config", "max_cache_len", "return_dict_in_generate", "output_attentions",
    "output_hidden_states", "output_scores", "output_logits", "num_return_sequences", "compile_config",
    "disable_compile", "low_memory", "prefill_chunk_size", "num_assistant_tokens", "num_assistant_tokens_schedule",
    "assistant_confidence_threshold", "assistant_lookbehind", "target_lookbehind", "max_matching_ngram_size",
    "remove_invalid_values", "is_assistant", "temperature", "top_k", "top_p", "min_p", "top_h", "typical_p",
    "epsilon_cutoff", "eta_cutoff",
}  # fmt: skip
# What is refused where it differs from the value with which nothing happens; null is always such a value.
USUAL = {
    "do_sample": False, "num_beam_groups": 1, "diversity_penalty": 0.0, "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0, "penalty_alpha": 0.0, "guidance_scale": 1.0, "sequence_bias": None,
    "exponential_decay_length_penalty": None, "begin_suppress_tokens": [], "forced_decoder_ids": None,
    "constraints": None, "force_words_ids": None, "max_time": None, "stop_strings": None, "token_healing": False,
    "watermarking_config": None, "dola_layers": None, "prompt_lookup_num_tokens": None, "use_mtp": False,
    "assistant_early_exit": None, "assistant_ensemble_weight": None, "speculation_type": None,
}  # fmt: skip
OF_PROMPTS = {  # what a model that continues a prompt cannot have, and the value with which nothing happens
    "min_length": (0, "it counts the prompt; only min_new_tokens is a bound here"),
    "forced_bos_token_id": (None, "it depends on the length of the prompt"),
    "num_beams": (1, "its search has one beam; ask for more with `seqzoo export --beam`"),
}
READ = {
    "length_penalty", "early_stopping", "num_beams", "max_length", "max_new_tokens", "min_length", "min_new_tokens",
    "no_repeat_ngram_size", "repetition_penalty", "renormalize_logits", "forced_bos_token_id", "forced_eos_token_id",
    "eos_token_id", "decoder_start_token_id", "bad_words_ids", "suppress_tokens",
}  # fmt: skip
KEYS = IDLE | USUAL.keys() | READ  # of which older files keep some among those of the network


def settings_of(source):
    """The settings of its generation_config.json, or else those in its config.json, where older files have them."""
    if source.has(FILE):
        return source.json(FILE)
    config = source.json("config.json")
    settings = {name: value for name, value in config.items() if name in KEYS and value is not None}
    if config.get("force_bos_token_to_be_generated"):
        settings["forced_bos_token_id"] = settings.get("bos_token_id")
    return settings


def bar_pad(source, ids):
    """`bad_words_ids` with the pad token, which is never written but keeps its share of the probabilities."""
    bad_words = settings_of(source).get("bad_words_ids") or []
    return {"bad_words_ids": [*bad_words, [int(ids[PAD])]]} if isinstance(bad_words, list) else {}


def search_of(settings, ids, prompts=False, barred=()):
    """`(search, problems)`: the settings of `[search]`, and a sentence for each setting that is refused.

    Args:
        settings: by name, as of `settings_of`.
        ids: for each id of ours the id that it has in the source.
        prompts: whether the model continues prompts.
        barred: ids of ours whose logits are minus infinity already.
    """
    reading = _Settings(settings, ids)
    reading.refuse_unsupported(prompts)
    forced_end = reading.is_end("forced_eos_token_id")
    search = {
        "alpha": reading.number("length_penalty", 1.0),
        "penalty": "length",
        "ends": "first",
        "longest": "end" if forced_end else "count",
        "stop": reading.stop_rule(),
        NGRAM: reading.whole(NGRAM, 0, least=0),
        "repetition_penalty": reading.number("repetition_penalty", 1.0, above=True),
        "min_length": reading.whole("min_new_tokens", max(reading.whole("min_length", 1, least=0) - 1, 0), least=0),
        "renormalize": reading.flag("renormalize_logits", False),
    }
    longest = reading.whole("max_new_tokens", reading.whole("max_length", 0) - 1)
    if reading.settings.keys() & {"max_new_tokens", "max_length"}:
        search["max_output_length"] = longest - forced_end
        if longest - forced_end < 1:
            reading.refuse("max_length leaves no token to write")
    if not prompts:
        search |= {"beam": reading.whole("num_beams", 1, most=1000), "forced_tokens": reading.forced_tokens()}
    bad_words = reading.bad_words()
    # Where all is normalised again, a token may as well be barred before the softmax, unless a penalty comes between.
    if search["renormalize"] and search["repetition_penalty"] == 1:
        search["barred_tokens"] = sorted({word[0] for word in bad_words if len(word) == 1} - {*barred})
        bad_words = [word for word in bad_words if len(word) > 1]
    search["bad_words"] = [word for word in bad_words if word[0] not in barred or len(word) > 1]
    copies = {*np.flatnonzero(ids == ids[BOS]).tolist()} - {PAD, BOS, *barred}
    counting = {"repetition_penalty": search["repetition_penalty"] != 1, NGRAM: search[NGRAM] == 1}
    for name in [name for name, on in counting.items() if on and not prompts and copies]:
        reading.refuse(f"{name} counts the token that starts the decoder, which may be written, too")
    reading.refuse_unread()
    return search, reading.problems


class _Settings(Reading):
    """Reads the settings one by one, and collects what is wrong. A setting that is null counts as missing."""

    def __init__(self, settings, ids):
        super().__init__({name: value for name, value in settings.items() if value is not None}, FILE, IDLE, USUAL)
        self.ids = ids

    def refuse_unsupported(self, prompts):
        if self.get("do_sample", False) is not False:
            self._refuse_value("do_sample", "false: set it so, and ask for samples when the model runs, with --sample")
        for name, (usual, why) in OF_PROMPTS.items() if prompts else ():
            if self.get(name, usual) != usual:
                self.refuse(f"{name} is {json.dumps(self.settings[name])}: {why}")
        self.is_end("eos_token_id")
        start = self.get("decoder_start_token_id", self.get("bos_token_id"))  # as in transformers
        if not prompts and start is not None and start != self.ids[BOS]:
            self.refuse(f"decoder_start_token_id (or bos_token_id) is {start}; here it can only be {self.ids[BOS]}")

    def _refuse_value(self, name, expected):
        self.refuse(f"{name} is {json.dumps(self.settings[name])}; expected {expected}")

    def stop_rule(self):
        value = json.dumps(self.get("early_stopping", False))
        if value not in STOPS:
            self._refuse_value("early_stopping", "false, true or never")
        return STOPS.get(value, "likely")

    def is_end(self, name):
        """Whether a setting is given; then it must be the only end of sentence."""
        value = self.get(name)
        if value is not None and value not in (int(self.ids[EOS]), [int(self.ids[EOS])]):
            self._refuse_value(name, f"{self.ids[EOS]}, the only end of sentence here")
        return value is not None

    def our_ids(self, name, their_id):
        """Our ids of one of theirs: several where its row was copied."""
        ids = np.flatnonzero(np.equal(self.ids, their_id)).tolist() if type(their_id) is int else []
        if not ids:
            self._refuse_value(name, "ids of the vocabulary")
        return ids

    def forced_tokens(self):
        first = self.get("forced_bos_token_id")
        return [] if first is None else self.our_ids("forced_bos_token_id", first)[-1:]

    def bad_words(self):
        """Sequences that are never written; an end of sentence alone is none, as in transformers."""
        words, tokens = self.get("bad_words_ids", []), self.get("suppress_tokens", [])
        for name, value in (("bad_words_ids", words), ("suppress_tokens", [tokens])):
            if not isinstance(value, list) or not all(isinstance(word, list) for word in value):
                self._refuse_value(name, "a list of ids, or of lists of them")
                return []
        single = [our for word in words if len(word) == 1 for our in self.our_ids("bad_words_ids", *word) if our != EOS]
        longer = [[self.our_ids("bad_words_ids", each)[-1:] for each in word] for word in words if len(word) > 1]
        single += [our for token in tokens for our in self.our_ids("suppress_tokens", token)]
        return [[our] for our in single] + [[our for piece in word for our in piece] for word in longer if all(word)]

"""What a `generation_config.json` asks for, as the `[search]` of a recipe: each setting is honoured or refused by name.

The rules are those of transformers 5.23; docs/beam-search.md has the table. There `max_length` and `min_length` count
the token that a decoder starts with, and `max_length` a forced end of sentence; here lengths count neither.
"""

import json

import numpy as np

from zoo.pretrained.reading import Reading
from zoo.text.special import BOS, EOS, PAD

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
    "max_length": (None, "it counts the prompt; only max_new_tokens is a bound here"),
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


def given_by(source):
    """The settings of a source: of its generation_config.json, or of its config.json, where older ones stand."""
    if source.has(FILE):
        return source.json(FILE)
    config = source.json("config.json")
    found = {name: value for name, value in config.items() if name in KEYS and value is not None}
    if config.get("force_bos_token_to_be_generated"):
        found["forced_bos_token_id"] = found.get("bos_token_id")
    return found


def without_pad(source, ids):
    """`bad_words_ids` of a source with its pad token: it is never written, and keeps its share of the probabilities."""
    never = given_by(source).get("bad_words_ids") or []
    return {"bad_words_ids": [*never, [int(ids[PAD])]]} if isinstance(never, list) else {}


def search_of(given, ids, prompts=False, barred=()):
    """`(settings, problems)`: the settings of `[search]`, and what is refused, in words.

    Args:
        given: the settings by name, as of `given_by`.
        ids: for each id of ours the id that it has in the source.
        prompts: whether the model continues prompts.
        barred: ids of ours whose logits are minus infinity already.
    """
    asked = _Asked(given, ids)
    asked.refuse_what_none_has(prompts)
    forced_end = asked.end("forced_eos_token_id")
    found = {
        "alpha": asked.number("length_penalty", 1.0),
        "penalty": "length",
        "ends": "first",
        "longest": "end" if forced_end else "count",
        "stop": asked.stop(),
        NGRAM: asked.whole(NGRAM, 0, least=0),
        "repetition_penalty": asked.number("repetition_penalty", 1.0, above=True),
        "min_length": asked.whole("min_new_tokens", max(asked.whole("min_length", 1, least=0) - 1, 0), least=0),
        "renormalize": asked.flag("renormalize_logits", False),
    }
    longest = asked.whole("max_new_tokens", asked.whole("max_length", 0) - (0 if prompts else 1))
    if asked.settings.keys() & {"max_new_tokens", "max_length"}:
        found["max_output_length"] = longest - forced_end
        if longest - forced_end < 1:
            asked.refuse("max_length leaves no token to write")
    if not prompts:
        found |= {"beam": asked.whole("num_beams", 1, most=1000), "forced_tokens": asked.forced()}
    words = asked.words()
    # Where all is normalised again, a token may as well be barred before the softmax, unless a penalty comes between.
    if found["renormalize"] and found["repetition_penalty"] == 1:
        found["barred_tokens"] = sorted({word[0] for word in words if len(word) == 1} - {*barred})
        words = [word for word in words if len(word) > 1]
    found["bad_words"] = [word for word in words if word[0] not in barred or len(word) > 1]
    copies = {*np.flatnonzero(ids == ids[BOS]).tolist()} - {PAD, BOS, *barred}
    counting = {"repetition_penalty": found["repetition_penalty"] != 1, NGRAM: found[NGRAM] == 1}
    for name in [name for name, on in counting.items() if on and not prompts and copies]:
        asked.refuse(f"{name} counts the token that starts the decoder, which may be written, too")
    asked.refuse_unread()
    return found, asked.problems


class _Asked(Reading):
    """Settings that are asked for one by one; what is wrong is collected. null is a setting that is not given."""

    def __init__(self, given, ids):
        super().__init__({name: value for name, value in given.items() if value is not None}, FILE, IDLE, USUAL)
        self.ids = ids

    def refuse_what_none_has(self, prompts):
        if self.get("do_sample", False) is not False:
            self._wrong("do_sample", "false: samples are asked for when a model runs, with --sample")
        for name, (usual, why) in OF_PROMPTS.items() if prompts else ():
            if self.get(name, usual) != usual:
                self.refuse(f"{name} is {json.dumps(self.settings[name])}: {why}")
        self.end("eos_token_id")
        start = self.get("decoder_start_token_id", self.get("bos_token_id"))  # as in transformers
        if not prompts and start is not None and start != self.ids[BOS]:
            self.refuse(f"decoder_start_token_id (or bos_token_id) is {start}; here it can only be {self.ids[BOS]}")

    def _wrong(self, name, expected):
        self.refuse(f"{name} is {json.dumps(self.settings[name])}; expected {expected}")

    def stop(self):
        found = json.dumps(self.get("early_stopping", False))
        if found not in STOPS:
            self._wrong("early_stopping", "false, true or never")
        return STOPS.get(found, "likely")

    def end(self, name):
        """Whether it is the end of sentence, the only one; False where it is not given."""
        found = self.get(name)
        if found is not None and found not in (int(self.ids[EOS]), [int(self.ids[EOS])]):
            self._wrong(name, f"{self.ids[EOS]}, the only end of sentence here")
        return found is not None

    def ours(self, name, theirs):
        """Our ids of one of theirs: several where its row was copied."""
        found = np.flatnonzero(np.equal(self.ids, theirs)).tolist() if type(theirs) is int else []
        if not found:
            self._wrong(name, "ids of the vocabulary")
        return found

    def forced(self):
        first = self.get("forced_bos_token_id")
        return [] if first is None else self.ours("forced_bos_token_id", first)[-1:]

    def words(self):
        """Sequences that are never written; an end of sentence alone is none, as in transformers."""
        words, alone = self.get("bad_words_ids", []), self.get("suppress_tokens", [])
        for name, each in (("bad_words_ids", words), ("suppress_tokens", [alone])):
            if not isinstance(each, list) or not all(isinstance(word, list) for word in each):
                self._wrong(name, "a list of ids, or of lists of them")
                return []
        found = [[*copies] for word in words if len(word) == 1 for copies in [self.ours("bad_words_ids", word[0])]]
        single = [[each] for copies in found for each in copies if each != EOS]
        several = [[self.ours("bad_words_ids", each)[-1:] for each in word] for word in words if len(word) > 1]
        single += [[each] for token in alone for each in self.ours("suppress_tokens", token)]
        return single + [[each for piece in word for each in piece] for word in several if all(word)]

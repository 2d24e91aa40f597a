"""A configuration of another framework, read strictly: every key is carried, or of no effect here, or refused by name.

All that is wrong is collected, and one error names it before weights are read.
"""

import json
from pathlib import Path

from zoo.core.documents import parse

MOST_BYTES = 1 << 26
FEW, LONGEST, MANY = 6, 100, 30  # names that a message gives, characters of one, and all that is refused at once
MOST = 2_000_000  # of a size: no network has more rows, units or positions
# Keys of any configuration of `transformers` that change no number of a trained network.
IDLE = {
    "architectures", "model_type", "_name_or_path", "name_or_path", "transformers_version", "torch_dtype", "dtype",
    "use_cache", "return_dict", "output_attentions", "output_hidden_states", "torchscript", "id2label", "label2id",
    "num_labels", "tokenizer_class", "problem_type", "finetuning_task", "task_specific_params", "pruned_heads",
    "use_bfloat16", "tf_legacy_loss", "prefix", "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
    "decoder_start_token_id", "is_encoder_decoder", "_attn_implementation_autoset", "attn_implementation",
    "gradient_checkpointing", "_num_labels", "output_past", "summary_type", "summary_use_proj",
    "return_dict_in_generate", "chunk_size_feed_forward",
    # Of older files, and of programs that trained them; transformers 5 reads none of these.
    "save_step", "max_len", "language", "name", "xla_device", "vocab_size_or_config_json_file", "replacing_rate",
    "student_encoder_layers", "student_decoder_layers", "directionality", "pooler_fc_size", "pooler_type",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "bos_token_ids", "eos_token_ids",
    "n_special", "predict_special_tokens", "extra_pos_embeddings", "sentence_transformers", "transformers.js_config",
    "custom_pipelines", "is_composition", "model_max_length", "do_lower_case",
}  # fmt: skip
# Keys that change something unless they have the value with which nothing happens.
USUAL = {
    "add_cross_attention": False, "is_decoder": False, "cross_attention_hidden_size": None,
    "tie_encoder_decoder": False,
}  # fmt: skip
LOST = object()
# What reading a file of another form ends in; the last is of libraries, such as SentencePiece.
ODD = AttributeError, TypeError, LookupError, ArithmeticError, RuntimeError


def some(names, few=FEW, longest=LONGEST, between=", "):
    """The first of many names, for a message; long ones are cut, and what would steer a terminal is left out."""
    shown = [each if len(each) <= longest else f"{each[:longest]}…" for each in names[:few]]
    shown = ["".join(sign if sign.isprintable() else "\ufffd" for sign in each) for each in shown]
    return between.join(shown) + (f"{between.rstrip(', ')} and {len(names) - few:,} more" if len(names) > few else "")


def all_told(problems):
    """The problems of a source, each in a line of its own."""
    return "\n  " + some(problems, MANY, 5 * LONGEST, "\n  ")


def read_bytes(path):
    """The content of a file; one of more than 64 MB is refused."""
    path = Path(path)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} has {path.stat().st_size:,} bytes; expected at most {MOST_BYTES:,}.")
    return path.read_bytes()


def read_json(path):
    """The object of a JSON file; NaN, infinity, a key twice and files of more than 64 MB are refused."""
    content = read_bytes(path)
    try:
        return parse(content)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from error


class Reading:
    """The keys of a configuration, which are asked for one by one; `finish` refuses what nobody has asked for.

    Args:
        settings: the dict.
        where: what is read, for messages.
        idle: keys that change nothing.
        usual: `{key: the only value that is carried}`, where nobody asks for it.
    """

    def __init__(self, settings, where, idle=IDLE, usual=USUAL):
        if not isinstance(settings, dict):
            raise ValueError(f"{where} holds no settings, but {type(settings).__name__}.")
        self.settings, self.where, self.problems = settings, where, []
        self.handled, self.usual = {*idle}, usual

    def get(self, name, default=None):
        """The value of a key as it is, which the family checks itself."""
        self.handled |= {name}
        return self.settings.get(name, default)

    def whole(self, name, default=LOST, least=1, most=MOST):
        """A whole number."""
        fits = lambda each: type(each) is int and least <= each <= most  # noqa: E731
        return self._get_checked(name, default, fits, f"a number from {least} to {most:,}")

    def number(self, name, default=LOST, above=False):
        """A number, not negative, or `above` 0."""
        fits = lambda each: type(each) in (int, float) and (each > 0 or each == 0 and not above)  # noqa: E731
        return self._get_checked(name, default, fits, "a number above 0" if above else "a number that is not negative")

    def flag(self, name, default=LOST):
        """True or false."""
        return self._get_checked(name, default, lambda each: isinstance(each, bool), "true or false")

    def words(self, name):
        """A list of words; [""] where there is none."""
        fits = lambda each: isinstance(each, list) and all(isinstance(word, str) for word in each)  # noqa: E731
        return self._get_checked(name, None, fits, "a list of names") or [""]

    def one_of(self, name, meanings, default=LOST):
        """The meaning of a word, by `{word: meaning}`."""
        word = self._get_checked(name, default, lambda each: each in [*meanings], " or ".join(meanings))
        return meanings.get(word, next(iter(meanings.values())))

    def must(self, **values):
        """Refuse what differs from the only values that are known here; a key that is missing has them."""
        for name, value in values.items():
            allowed = [value] if not isinstance(value, tuple) else list(value)
            if self.get(name, allowed[0]) not in allowed:
                expected = " or ".join(json.dumps(each) for each in allowed)
                self.refuse(f"{name} is {json.dumps(self.settings[name])}; here it can only be {expected}")

    def idle(self, *names):
        """Count keys as read that are for training alone, or repeat another one."""
        self.handled |= set(names)

    def refuse(self, problem):
        """Note something that cannot be carried."""
        self.problems.append(problem)

    def _get_checked(self, name, default, fits, expected):
        value = self.get(name, default)
        if value is not default and not fits(value):
            self.refuse(f"{name} is {json.dumps(value)}; expected {expected}")
        elif value is LOST:
            self.refuse(f"{name} is missing; expected {expected}")
        else:
            return value
        return 1 if default is LOST else default

    def refuse_unread(self):
        """Refuse the keys that nobody has asked for."""
        self.must(**{name: value for name, value in self.usual.items() if name not in self.handled})
        for name in sorted(self.settings.keys() - self.handled):
            self.refuse(f"{name} = {json.dumps(self.settings[name])} is a setting that is not known here")

    def finish(self):
        """Raise all that is wrong.

        Raises:
            ValueError: something was refused, or nobody has asked for a key.
        """
        self.refuse_unread()
        self.raise_problems()

    def raise_problems(self):
        """Raise what was refused until now.

        Raises:
            ValueError: something was refused.
        """
        if self.problems:
            raise ValueError(f"{self.where} asks for what cannot be carried:{all_told(self.problems)}")

"""The loss, the training and the search."""

from typing import Annotated, Literal

from msgspec import Meta

from zoo.core.searching import CHOICES, Fixed, Ranking
from zoo.settings.declared import one_of
from zoo.settings.layers import LEARNED_EXITS
from zoo.settings.table import AboveZero, BelowOne, Count, Doc, NotNegative, Positive, Share, Table

Smoothing = Annotated[BelowOne, Doc("probability that is spread evenly over all answers")]


class LabelLoss(Table, tag_field="kind", tag="cross_entropy"):
    """Cross-entropy of labels, or of a recurrent model's tokens."""

    label_smoothing: Smoothing = 0.0


class NumberLoss(Table, tag_field="kind", tag="squared_error"):
    """Squared error of numbers, in standard deviations of those of the training."""

    mean: Annotated[float, Doc("mean of the numbers of the training, which `seqzoo new` finds")] = 0.0
    deviation: Annotated[AboveZero, Doc("their standard deviation, the unit of the error")] = 1.0


class NoLoss(Table, tag_field="kind", tag="none"):
    """No loss, because nothing is trained: the weights come from elsewhere."""


class CosineLoss(Table, tag_field="kind", tag="cosine"):
    """Squared error of the cosine of two vectors; the numbers of pairs are scaled to 0 to 1 for it."""

    lowest: Annotated[float, Doc("number of a pair whose cosine should be 0")] = 0.0
    highest: Annotated[float, Doc("number of a pair whose cosine should be 1")] = 1.0

    def check(self):
        if not self.lowest < self.highest:
            raise ValueError(f"highest must be above lowest; received {self.highest} and {self.lowest}.")


class RankingLoss(Table, tag_field="kind", tag="ranking"):
    """Cross-entropy of finding the partner of a text in its batch, for pairs that belong together."""

    scale: Annotated[AboveZero, Doc("factor of the cosines before the softmax over the batch")] = 20.0


class TokenLoss(Table, tag_field="kind", tag="cross_entropy"):
    """Cross-entropy of tokens."""

    label_smoothing: Smoothing = 0.0
    chunks: Annotated[
        Positive, Doc("parts of the time whose logits are computed one after the other; more parts take less memory")
    ] = 1


class DepthLoss(Table, tag_field="kind", tag="depth_adaptive"):
    """Cross-entropy of every depth, and of the rule of exit (`zoo.training.DepthAdaptiveLoss`)."""

    label_smoothing: Smoothing = 0.0
    oracle: Annotated[
        one_of("training.depth_adaptive.ORACLES"),
        Doc("score by which the depth is chosen that the rule of exit learns"),
    ] = "likelihood"
    price: Annotated[
        NotNegative, Doc("gain that is worth one more block, in nats or, with correctness, in right tokens")
    ] = 0.1
    width: Annotated[NotNegative, Doc("tokens over which the oracle is smoothed")] = 0.0
    alpha: Annotated[NotNegative, Doc("weight of the rule of exit in the loss")] = 0.1


BODY = "body"  # in training.freeze: all weights that training.init gave, without the layer whose outputs are labels
NEEDS_LEARNED_EXIT = {"oracle": LEARNED_EXITS, "price": LEARNED_EXITS, "alpha": LEARNED_EXITS}
NEEDS_LEARNED_EXIT |= {"width": ("multinomial", "geometric")}


class Training(Table):
    """Batches, optimizer and plan."""

    seed: Annotated[Count, Doc("seed of the weights, the dropout, the order of the examples, and generated data")] = 1
    batch_size: Annotated[Positive, Doc("examples in a batch")] = 64
    parts: Annotated[
        Positive, Doc("parts of a batch, one after the other, to save memory; the update is that of the whole batch")
    ] = 1
    prefetch: Annotated[Count, Doc("batches that a thread prepares ahead")] = 1
    precision: Annotated[
        Literal["float32", "mixed_bfloat16", "mixed_float16"],
        Doc("what layers compute in; weights, their updates and model.keras are float32"),
    ] = "float32"
    model_parallel: Annotated[
        Positive, Doc("devices that together hold one copy of the model, its large weights split among them")
    ] = 1
    layout: Annotated[
        dict[str, Count],
        Doc('axes along which weights are split, as {"*embedding/matrix" = 1}; empty: those of zoo.core.layouts'),
    ] = {}
    num_buckets: Annotated[Positive, Doc("different shapes of batches at most; each is compiled once")] = 4
    max_length: Annotated[
        Count, Doc("training examples with more tokens than this on a side are left out; 0: none")
    ] = 60
    learning_rate: Annotated[AboveZero, Doc("highest learning rate of the schedule")] = 1e-3
    schedule: Annotated[
        one_of("training.schedules.SCHEDULES"), Doc("course of the learning rate after the warm-up")
    ] = "constant"
    warmup: Annotated[Count, Doc("steps over which the learning rate rises")] = 0
    adam_beta_2: Annotated[BelowOne, Doc("decay of Adam's second moments")] = 0.999
    row_learning_rate: Annotated[AboveZero, Doc("constant learning rate of the values of a product-key memory")] = 1e-3
    weight_decay: Annotated[NotNegative, Doc("a step shrinks matrices by this times the learning rate")] = 0.0
    clip_norm: Annotated[NotNegative, Doc("largest norm of all gradients together; 0: no clipping")] = 1.0
    ema: Annotated[
        BelowOne,
        Doc("decay of a moving average of the weights, which is validated and kept in their place; 0: no average"),
    ] = 0.0
    steps: Annotated[Positive, Doc("updates at most")] = 10_000
    validate_every: Annotated[Positive, Doc("steps from one validation to the next")] = 500
    checkpoint_every: Annotated[Positive, Doc("steps from one checkpoint to the next")] = 500
    patience: Annotated[
        Count, Doc("validations without improvement after which the training ends; 0: it never ends so")
    ] = 0
    average: Annotated[Positive, Doc("number of the best checkpoints whose weights are averaged")] = 1
    monitor: Annotated[
        one_of("training.losses.MONITORS"),
        Doc(
            "score of the validation that chooses the best weights; wer is the share of wrong outputs of a greedy "
            "search, entity_f1 the F1 of entities, spearman the rank correlation of cosines"
        ),
    ] = "nll"
    log_every: Annotated[Positive, Doc("steps from one report to the next")] = 50
    init: Annotated[
        str, Doc("finished run, artefact's version or published model with whose weights the training begins")
    ] = ""
    vocabulary: Annotated[
        Literal["keep", "map"],
        Doc("keep the vocabularies of init, or map: learn others, and take the vectors of pieces that both have"),
    ] = "keep"
    init_differences: Annotated[
        Literal["refuse", "allow"],
        Doc("what is done if settings differ that decide what the weights of init compute, such as an activation"),
    ] = "refuse"
    freeze: Annotated[
        list[str],
        Doc('weights that are not trained, as ["embedding", "encoder/blocks/0/*"]; "body": all that init gave'),
    ] = []
    lora: Annotated[
        Count, Doc("rank of the adapters that dense layers learn instead of their weights, merged at the end; 0: none")
    ] = 0
    lora_layers: Annotated[
        list[str],
        Doc('layers with adapters, as ["*/query_projection", "*/value_projection"]; empty: all that can'),
    ] = []
    rates: Annotated[
        dict[str, AboveZero], Doc('factors of the learning rate, as {"encoder/*" = 0.1}; the last that fits counts')
    ] = {}
    layer_decay: Annotated[
        Share,
        Doc("factor of the learning rate from each block to the one below it, and to the embeddings; 1: one rate"),
    ] = 1.0

    @classmethod
    def unread(cls, value_of):
        """Settings about `init`, `lora` and the layout are not read where there is no such thing."""
        names = () if value_of("init") else ("vocabulary", "init_differences")
        reasons = dict.fromkeys(names, "it is read where init names a run")
        reasons |= {} if value_of("lora") else {"lora_layers": "it is read where lora is above 0"}
        split = value_of("model_parallel") > 1
        return reasons | ({} if split else {"layout": "it is read where model_parallel is above 1"})

    def check(self):
        names = [name for name, is_set in (("lora", self.lora), ('freeze = ["body"]', BODY in self.freeze)) if is_set]
        if names and not self.init:
            raise ValueError(
                f"{names[0]} keeps the weights with which the training begins, and there are none. Name the run or the "
                "artefact that has them with init."
            )
        if names and (self.vocabulary == "map" or self.model_parallel > 1):
            raise ValueError(
                f"{names[0]} goes with a vocabulary that is kept and a model that is whole on each device; received "
                f"vocabulary={self.vocabulary!r} and model_parallel={self.model_parallel}."
            )
        if self.batch_size % self.parts:
            raise ValueError(
                f"a batch is split into equal parts, so batch_size must be a multiple of parts; received "
                f"batch_size={self.batch_size} and parts={self.parts}."
            )
        if self.schedule in ("linear", "cosine") and self.steps <= self.warmup:
            raise ValueError(
                f"a {self.schedule} schedule rises for `warmup` steps and then falls, so it needs more steps than "
                f"those; received steps={self.steps} and warmup={self.warmup}."
            )


class Continuation(Table):
    """How a text is continued."""

    alpha: Annotated[NotNegative, Doc("exponent of the length penalty")] = 0.6
    max_output_length: Annotated[Positive, Doc("tokens of an output at most")] = 60
    penalty: Annotated[
        Literal[CHOICES["penalty"]], Doc("what log p is divided by: ((5 + length) / 6)^alpha, or length^alpha")
    ] = "gnmt"
    ends: Annotated[
        Literal[CHOICES["ends"]],
        Doc(
            "which ends count: of all 2 * beam candidates, of the first beam of them, as in transformers, or of as "
            "many as places are left, as in Marian, where every end keeps one"
        ),
    ] = "candidates"
    longest: Annotated[
        Literal[CHOICES["longest"]],
        Doc("outputs that are cut off: behind all others, ranked with them, or ranked with an end that costs nothing"),
    ] = "behind"
    stop: Annotated[
        Literal[CHOICES["stop"]],
        Doc(
            "a search is over when no better output can come, when none could end with the next token, when none is "
            "likely, or when it has beam of them"
        ),
    ] = "sure"
    no_repeat_ngram_size: Annotated[
        int, Meta(ge=0, le=16), Doc("length n of the n-grams that are never written twice; 0: none")
    ] = 0
    repetition_penalty: Annotated[
        AboveZero, Doc("tokens that were written already cost this many times as much; 1: no penalty")
    ] = 1.0
    min_length: Annotated[Count, Doc("tokens of an output at least")] = 0
    forced_tokens: Annotated[list[Count], Doc("ids with which every output begins; they cost nothing")] = []
    barred_tokens: Annotated[list[Count], Doc("ids that are never written: their probability is 0")] = []
    bad_words: Annotated[list[list[Count]], Doc("sequences of ids that are never written")] = []
    renormalize: Annotated[bool, Doc("whether log-probabilities are normalised again after all rules")] = False

    @property
    def ranking(self):
        """The `Ranking` of a beam search."""
        return Ranking(**{name: getattr(self, name) for name in CHOICES})

    @property
    def fixed(self):
        """The `Fixed` rules, which hold in every search."""
        words = tuple(map(tuple, self.bad_words))
        return Fixed(tuple(self.forced_tokens), tuple(self.barred_tokens), words, self.renormalize)

    def check(self):
        self.fixed  # noqa: B018  says what does not fit


class Search(Continuation):
    """How an output is searched for."""

    beam: Annotated[Positive, Doc("hypotheses that are kept at each step")] = 4
    length_ratio: Annotated[
        NotNegative, Doc("tokens of an output at most, for each token of the source; 0: no bound")
    ] = 0.0
    length_extra: Annotated[Count, Doc("tokens that are allowed beyond those of length_ratio")] = 0
    coverage_penalty: Annotated[
        NotNegative, Doc("GNMT's beta: an output that leaves parts of its source out ranks lower; 0: no penalty")
    ] = 0.0

    @classmethod
    def unread(cls, value_of):
        """An addition to a bound is not read without one, nor a penalty where a single hypothesis is kept."""
        reasons = {} if value_of("length_ratio") else {"length_extra": "it is read where length_ratio is above 0"}
        return reasons | ({} if value_of("beam") > 1 else {"coverage_penalty": "it is read where beam is above 1"})

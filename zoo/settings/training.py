"""The loss, the training and the search."""

from typing import Annotated, Literal

from msgspec import Meta

from zoo.core.searching import CHOICES, Fixed, Ranking
from zoo.settings.declared import words
from zoo.settings.kinds import AboveZero, BelowOne, Count, Doc, NotNegative, Positive, Share
from zoo.settings.layers import LEARNED_EXITS
from zoo.settings.table import Table

Smoothing = Annotated[BelowOne, Doc("share of the probability that every other answer gets")]


class LabelLoss(Table, tag_field="kind", tag="cross_entropy"):
    """Cross-entropy of labels, or of a recurrent model's tokens."""

    label_smoothing: Smoothing = 0.0


class NumberLoss(Table, tag_field="kind", tag="squared_error"):
    """Squared error of numbers, in deviations from their mean."""

    mean: Annotated[float, Doc("mean of the numbers of the training, as `seqzoo new` finds it")] = 0.0
    deviation: Annotated[AboveZero, Doc("their standard deviation, the unit in which the training counts")] = 1.0


class NoLoss(Table, tag_field="kind", tag="none"):
    """Nothing: the weights come from elsewhere."""


class CosineLoss(Table, tag_field="kind", tag="cosine"):
    """Squared error of the cosine of two vectors, for which the numbers of pairs are brought to 0 to 1."""

    lowest: Annotated[float, Doc("number of a pair for which the cosine should be 0")] = 0.0
    highest: Annotated[float, Doc("number of a pair for which the cosine should be 1")] = 1.0

    def check(self):
        if not self.lowest < self.highest:
            raise ValueError(f"highest must be above lowest; received {self.highest} and {self.lowest}.")


class RankingLoss(Table, tag_field="kind", tag="ranking"):
    """Cross-entropy of which text of a batch is the partner of a text, for pairs that belong together."""

    scale: Annotated[AboveZero, Doc("cosines are multiplied by it before the softmax over the batch")] = 20.0


class TokenLoss(Table, tag_field="kind", tag="cross_entropy"):
    """Cross-entropy of tokens."""

    label_smoothing: Smoothing = 0.0
    chunks: Annotated[Positive, Doc("parts of the time whose logits exist at once: more parts take less memory")] = 1


class DepthLoss(Table, tag_field="kind", tag="depth_adaptive"):
    """Cross-entropy of every depth, and of the rule of exit (`zoo.training.DepthAdaptiveLoss`)."""

    label_smoothing: Smoothing = 0.0
    oracle: Annotated[words("training.depth_adaptive.ORACLES"), Doc("what depth the rule of exit learns")] = (
        "likelihood"
    )
    price: Annotated[NotNegative, Doc("nats that a block must save to be worth it")] = 0.1
    width: Annotated[NotNegative, Doc("tokens over which the oracle is smoothed")] = 0.0
    alpha: Annotated[NotNegative, Doc("weight of the rule of exit in the loss")] = 0.1


BODY = "body"  # in training.freeze: all weights that training.init gave, without the layer whose outputs are labels
NEEDS_LEARNED_EXIT = {"oracle": LEARNED_EXITS, "price": LEARNED_EXITS, "alpha": LEARNED_EXITS}
NEEDS_LEARNED_EXIT |= {"width": ("multinomial", "geometric")}


class Training(Table):
    """Batches, optimizer and plan."""

    seed: Annotated[Count, Doc("seed of the weights, the dropout, the order of the examples, and generated data")] = 1
    batch_size: Annotated[Positive, Doc("examples of a batch")] = 64
    parts: Annotated[
        Positive, Doc("parts of a batch, one after the other, which takes less memory; the update is the whole batch's")
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
        Doc('axes along which weights are split, as {"*embedding/matrix" = 1}; none is the one of zoo.core.layouts'),
    ] = {}
    num_buckets: Annotated[Positive, Doc("shapes of the batches at most; each of them is compiled once")] = 4
    max_length: Annotated[
        Count, Doc("training examples with more tokens on a side are left out; 0 leaves out none")
    ] = 60
    learning_rate: Annotated[AboveZero, Doc("peak of the schedule")] = 1e-3
    schedule: Annotated[
        Literal["constant", "inverse_sqrt", "linear", "cosine"], Doc("course of the learning rate after the warm-up")
    ] = "constant"
    warmup: Annotated[Count, Doc("steps over which the learning rate rises")] = 0
    adam_beta_2: Annotated[BelowOne, Doc("decay of Adam's second moments")] = 0.999
    row_learning_rate: Annotated[AboveZero, Doc("constant learning rate of the values of a product-key memory")] = 1e-3
    weight_decay: Annotated[NotNegative, Doc("a step shrinks matrices by this times the learning rate")] = 0.0
    clip_norm: Annotated[NotNegative, Doc("norm of all gradients together at most; 0 does not clip")] = 1.0
    ema: Annotated[
        BelowOne,
        Doc("decay of a moving average of the weights, which is validated and kept in their place; 0 has none"),
    ] = 0.0
    steps: Annotated[Positive, Doc("updates at most")] = 10_000
    validate_every: Annotated[Positive, Doc("steps from one validation to the next")] = 500
    checkpoint_every: Annotated[Positive, Doc("steps from one checkpoint to the next")] = 500
    patience: Annotated[
        Count, Doc("validations without improvement after which the training ends; 0 trains all steps")
    ] = 0
    average: Annotated[Positive, Doc("best checkpoints whose weights are averaged")] = 1
    monitor: Annotated[
        words("training.metrics.MONITORS"),
        Doc(
            "score of the validation that tells the best weights; wer is the share of wrong outputs of a greedy "
            "search, entity_f1 that of the entities which tags spell, spearman the rank correlation of cosines"
        ),
    ] = "nll"
    log_every: Annotated[Positive, Doc("steps from one report to the next")] = 50
    init: Annotated[
        str, Doc("finished run, artefact's version or published model, with whose weights the training begins")
    ] = ""
    vocabulary: Annotated[
        Literal["keep", "map"], Doc("keep those vocabularies, or learn others and keep what is known of each piece")
    ] = "keep"
    init_differences: Annotated[
        Literal["refuse", "allow"],
        Doc("what happens where settings differ that decide what the weights of init compute, such as an activation"),
    ] = "refuse"
    freeze: Annotated[
        list[str],
        Doc('weights that stay as they are, as ["embedding", "encoder/blocks/0/*"]; "body" is all that init gave'),
    ] = []
    lora: Annotated[
        Count, Doc("rank of the adapters that dense layers learn instead of their weights, merged at the end; 0: none")
    ] = 0
    lora_layers: Annotated[
        list[str],
        Doc('layers with adapters, as ["*/query_projection", "*/value_projection"]; none: all that can'),
    ] = []
    rates: Annotated[
        dict[str, AboveZero], Doc('factors of the learning rate, as {"encoder/*" = 0.1}; the last that fits counts')
    ] = {}
    layer_decay: Annotated[
        Share, Doc("factor of the learning rate from a block to the one below it, and to the embeddings; 1 is one rate")
    ] = 1.0

    @classmethod
    def unread(cls, value_of):
        """What becomes of the vocabularies of a run, where there is none; and a layout of weights that are whole."""
        names = () if value_of("init") else ("vocabulary", "init_differences")
        reasons = dict.fromkeys(names, "it is read where init names a run")
        reasons |= {} if value_of("lora") else {"lora_layers": "it is read where lora is above 0"}
        split = value_of("model_parallel") > 1
        return reasons | ({} if split else {"layout": "it is read where model_parallel is above 1"})

    def check(self):
        asked = [name for name, given in (("lora", self.lora), ('freeze = ["body"]', BODY in self.freeze)) if given]
        if asked and not self.init:
            raise ValueError(
                f"{asked[0]} keeps the weights with which the training begins, and there are none. Name the run or the "
                "artefact that has them with init."
            )
        if asked and (self.vocabulary == "map" or self.model_parallel > 1):
            raise ValueError(
                f"{asked[0]} goes with a vocabulary that is kept and a model that is whole on each device; received "
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

    alpha: Annotated[NotNegative, Doc("length penalty")] = 0.6
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
    no_repeat_ngram_size: Annotated[int, Meta(ge=0, le=16), Doc("no n tokens are written twice; 0 allows it")] = 0
    repetition_penalty: Annotated[AboveZero, Doc("what is there costs so many times as much; 1 is none")] = 1.0
    min_length: Annotated[Count, Doc("tokens of an output at least")] = 0
    forced_tokens: Annotated[list[Count], Doc("ids with which every output begins; they cost nothing")] = []
    barred_tokens: Annotated[list[Count], Doc("ids that are never written: their probability is 0")] = []
    bad_words: Annotated[list[list[Count]], Doc("sequences of ids that are never written")] = []
    renormalize: Annotated[bool, Doc("normalise log-probabilities again behind all rules")] = False

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

    beam: Annotated[Positive, Doc("hypotheses that are kept")] = 4
    length_ratio: Annotated[NotNegative, Doc("tokens of an output at most for one of the source; 0 is no bound")] = 0.0
    length_extra: Annotated[Count, Doc("with length_ratio, so many tokens more")] = 0
    coverage_penalty: Annotated[
        NotNegative, Doc("GNMT's beta: an output that leaves parts of its source out ranks lower; 0 ranks none lower")
    ] = 0.0

    @classmethod
    def unread(cls, value_of):
        """What is added to a bound that there is not, and what ranks a single hypothesis."""
        reasons = {} if value_of("length_ratio") else {"length_extra": "it is read where length_ratio is above 0"}
        return reasons | ({} if value_of("beam") > 1 else {"coverage_penalty": "it is read where beam is above 1"})

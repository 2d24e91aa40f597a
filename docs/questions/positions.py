"""Why self-attention needs positions: which of two words comes first, with and without them."""

import numpy as np
import shared

SEEDS, TIME, WORDS, FIRST, BATCH, UPDATES, TEST = 5, 10, 20, 4, 64, 250, 2_000
CASES = ("none", "sinusoidal", "recurrent")


def measure():
    return {"seeds": SEEDS, "updates": UPDATES, "test": TEST, "accuracy": {case: accuracies(case) for case in CASES}}


def batch(step, size=BATCH):
    """Texts of ten words, two of which are A and B; the label says which comes first."""
    draw = np.random.default_rng([7, step])
    ids = draw.integers(FIRST + 2, FIRST + WORDS, (size, TIME)).astype("int32")
    places = np.argsort(draw.random((size, TIME)), axis=1)[:, :2]
    rows = np.arange(size)
    ids[rows, places[:, 0]], ids[rows, places[:, 1]] = FIRST, FIRST + 1
    labels = (places[:, 0] < places[:, 1]).astype("int32")
    lengths = np.full(size, TIME, "int32")
    return {"token_ids": ids, "lengths": lengths, "labels": labels, "weights": np.ones(size, "float32")}


def accuracies(case):
    """Of the test texts, in %, one number a seed."""
    trainer = shared.trainer(lambda: make(case))
    asked = batch(10**6, TEST)
    found = []
    for seed in range(SEEDS):
        trainer.train(seed, batch, UPDATES)
        logits = np.array(trainer.model({"token_ids": asked["token_ids"], "lengths": asked["lengths"]}))
        found.append(round(100 * float((logits.argmax(-1) == asked["labels"]).mean()), 2))
    return found


def make(case):
    from zoo.depth import make_stack
    from zoo.embeddings import NoPositions, SinusoidalPositions
    from zoo.models import Classifier
    from zoo.recurrent import RecurrentEncoder, RecurrentReader

    if case == "recurrent":
        return Classifier(FIRST + WORDS, 2, RecurrentReader(RecurrentEncoder(16)), positions=NoPositions(), dropout=0.0)
    positions = {"none": NoPositions, "sinusoidal": SinusoidalPositions}[case]()
    stack = make_stack(2, units=32, num_heads=4, hidden_units=64, dropout=0.0)
    return Classifier(FIRST + WORDS, 2, stack, positions=positions, dropout=0.0)


def draw(found):
    figure, axes = shared.axes_of("Which of two words comes first? One point a seed")
    names = {"none": "attention,\nno positions", "sinusoidal": "attention,\npositions", "recurrent": "GRU"}
    colors = (shared.RED, shared.BLUE, shared.GREEN)
    for place, (case, color) in enumerate(zip(CASES, colors, strict=True)):
        shared.points(axes, place, found["accuracy"][case], color)
    axes.axhline(50, color=shared.GREY, ls=":", lw=1.2)
    axes.text(len(CASES) - 0.5, 51.5, "guessing", color=shared.GREY, fontsize=8.5, ha="right")
    axes.set_xticks(range(len(CASES)), [names[case] for case in CASES])
    axes.set(ylabel="right answers, %", ylim=(0, 103), xlim=(-0.5, len(CASES) - 0.5))
    return figure


def says(found):
    return [f"{np.mean(found['accuracy'][case]):.1f} %" for case in CASES]

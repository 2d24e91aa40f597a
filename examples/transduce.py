# %% [markdown]
# # Symbols to symbols
# From spelling to sounds, by a toy rule: every vowel is written as a phone of its own, and a doubled letter is long.
# A real lexicon has the same form: a word, a TAB, and its phones with spaces between them.

# %%
from pathlib import Path

VOWELS = {"a": "ɑ", "e": "ɛ", "i": "i", "o": "ɔ", "u": "u"}


def phones(word):
    found = []
    for letter, following in zip(word, word[1:] + " ", strict=True):
        if letter != following:
            found.append(VOWELS.get(letter, letter))
        elif letter in VOWELS:
            found.append("ː")
    return " ".join(found)


words = [a + b + c + d for a in "bdgklmnst" for b in "aeiou" for c in ("n", "ss", "l", "tt") for d in ("a", "i", "oo")]
Path("lexicon.tsv").write_text("".join(f"{word}\t{phones(word)}\n" for word in words), encoding="utf-8")

# %% [markdown]
# `propose` is what `seqzoo new` calls: it looks at the file and chooses the sizes. `dumps_with_comments` writes what it
# chose, with a meaning beside every setting.

# %%
from zoo.recipes.proposal import dumps_with_comments, propose

settings, notes = propose("transduce", ["lexicon.tsv"], "sounds")
print(notes)
print(dumps_with_comments(settings))

# %%
import zoo

small = {
    "model": {"units": 48, "dropout": 0.0},
    "training": {"steps": 400, "validate_every": 200, "warmup": 20, "num_buckets": 1, "learning_rate": 0.01},
    "search": {"beam": 2},
}
run = zoo.train(settings, out="runs/sounds", settings=small)

# %% [markdown]
# WER is the share of words with any wrong phone, PER the share of phones.

# %%
scores = zoo.evaluate(run)
print(f"WER {scores['wer']:.1f} %, PER {scores['per']:.1f} %, of {scores['count']} words")

# %%
from serving import Runtime
from serving.export import export_run

artefact = export_run(run, int8=False)
answers = Runtime(artefact).run(["kassoo", "bali"])
for answer in answers:
    print(answer.text, answer.score)

"""What `make.py` makes its networks with: texts, SentencePiece models, large random weights, and their answers."""

import io
import json

import numpy as np
import sentencepiece
import torch

TEXTS = [
    "the cat sat on the mat",
    "a dog and a cat",
    "where is the old house",
    "she sells sea shells",
    "an apple a day",
    "the house is old and the dog is big",
    "cats and dogs sat",
    "a",
]
GERMAN = [
    "die Katze sitzt auf der Matte",
    "ein Hund und eine Katze",
    "wo ist das alte Haus",
    "das große Haus ist schön",
]
LABELS = {"id2label": {0: "good", 1: "bad", 2: "neither"}, "label2id": {"good": 0, "bad": 1, "neither": 2}}


def pieces(texts, size, **options):
    """A serialised SentencePiece model."""
    model = io.BytesIO()
    options = {"hard_vocab_limit": False, "minloglevel": 2, "normalization_rule_name": "identity"} | options
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 3), model_writer=model, vocab_size=size, **options
    )
    return model.getvalue()


def stirred(model, seed=7):
    """The model with random weights that are large enough to tell every part of it."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, each in [*model.named_parameters(), *model.named_buffers()]:
            if not each.is_floating_point() or not each.ndim or "embed_positions" in name and not each.requires_grad:
                continue
            noise = torch.randn(each.shape, generator=generator)
            centre = 1.0 if each.ndim == 1 and name.endswith("weight") else 0.0
            each.copy_(centre + noise * (0.2 if each.ndim == 1 else 0.8 * each.shape[-1] ** -0.5))
    return model.eval()


def rows(generator, ordinary, pad, count=4, longest=9):
    """(ids, lengths, mask) of random rows."""
    lengths = np.array([longest, 5, 1, 7][:count])
    there = np.arange(longest)[None] < lengths[:, None]
    return np.where(there, generator.choice(ordinary, (count, longest)), pad), lengths, there


def answers(folder, model, ordinary, pad, start=None, alone=False, name="answers.npz"):
    """Write answers; `alone` asks for each text by itself, where the padding of a batch changes what is said."""
    generator = np.random.default_rng(3)
    ids, lengths, there = rows(generator, ordinary, pad)
    given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(there.astype(int))}
    kept = {"token_ids": ids, "lengths": lengths}
    if start is not None:
        target = np.concatenate([np.full((len(ids), 1), start), generator.choice(ordinary, (len(ids), 6))], 1)
        given["decoder_input_ids"] = torch.tensor(target)
        kept = {"source_ids": ids, "source_lengths": lengths, "target_ids": target}
    what, found = spoken(model, given)
    for row, length in enumerate(lengths if alone else ()):
        own = spoken(model, {name: each[row : row + 1, :length] for name, each in given.items()})[1][0]
        found[row][tuple(map(slice, own.shape))] = own
    np.savez_compressed(folder / name, **kept | {what: found})


def spoken(model, given):
    """("logits" or "states", the numbers)."""
    with torch.no_grad():
        said = model(**given)
    what = "logits" if hasattr(said, "logits") else "states"
    return what, (said.logits if what == "logits" else said.last_hidden_state).numpy()


def said(folder, tokenizer, model=None, texts=TEXTS, **options):
    """Write said.json: ids of texts, and what greedy and beam search write for them."""
    ids = [tokenizer(text)["input_ids"] for text in texts]
    kept = {"texts": texts, "ids": ids}
    for name, beams in (("greedy", 1), ("beam", 4)) if model else ():
        found = [
            model.generate(torch.tensor([each]), num_beams=beams, max_new_tokens=12, do_sample=False, **options)[
                0
            ].tolist()
            for each in ids
        ]
        kept |= {name: found, f"{name}_texts": tokenizer.batch_decode(found, skip_special_tokens=True)}
    (folder / "said.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

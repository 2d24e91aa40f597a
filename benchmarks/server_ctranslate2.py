"""CTranslate2 behind a FastAPI page, for `benchmarks/server_load.py`: what one writes first with that engine.

    python benchmarks/server_ctranslate2.py write ARTEFACT OUT     # in this environment
    python benchmarks/server_ctranslate2.py serve OUT PORT         # in another one

The other environment: `pip install ctranslate2 fastapi uvicorn sentencepiece`. The model is a pre-norm Transformer of a
hub, such as dates-pre-norm, with the weights of its `model.keras` in int8. A request is one text: the page's threads
translate it with the artefact's own beam and length.
"""

import json
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]


def write(artefact, out):
    """What the server reads: `weights.npz`, the tokenizers, and the sizes."""
    import shutil

    from cases.generation_engines import write_weights

    import zoo

    artefact, out = Path(artefact), Path(out)
    out.mkdir(parents=True)
    model = zoo.load(artefact)
    write_weights(model, out / "weights.npz")
    for name in ("source.spm", "target.spm"):
        shutil.copyfile(artefact / name, out / name)
    manifest = json.loads((artefact / "manifest.json").read_text())
    sizes = {
        "layers": len(model.encoder.blocks),
        "heads": model.encoder.blocks[0].attention.num_heads,
        "vocabulary": [manifest["vocabulary"]["source"], manifest["vocabulary"]["target"]],
        "beam": manifest["default_beam"],
        "alpha": manifest["alpha"],
        "max_length": manifest["max_length"],
    }
    (out / "sizes.json").write_text(json.dumps(sizes))


def serve(folder, port):
    import sentencepiece
    import uvicorn
    from cases.ctranslate2_engine import EOS, SPECIAL, convert, token
    from ctranslate2 import Translator
    from fastapi import Body, FastAPI

    folder = Path(folder)
    sizes = json.loads((folder / "sizes.json").read_text())
    source, target = (
        sentencepiece.SentencePieceProcessor(str(folder / f"{side}.spm")) for side in ("source", "target")
    )
    if not (folder / "ctranslate2").exists():
        convert(folder, sizes["layers"], sizes["heads"], sizes["vocabulary"])
    translator = Translator(str(folder / "ctranslate2"), compute_type="int8", inter_threads=1, intra_threads=1)
    ids_of = {name: index for index, name in SPECIAL.items()}
    app = FastAPI()

    @app.get("/v2/health/ready")
    def ready():
        return {"ready": True}

    @app.post("/v2/models/{name}/infer")
    def infer(name: str, body: dict = Body()):  # noqa: B008
        texts = body["inputs"][0]["data"]
        found = translator.translate_batch(
            [[token(index) for index in [*ids, EOS]] for ids in source.encode(texts)],
            beam_size=sizes["beam"],
            length_penalty=sizes["alpha"],
            max_decoding_length=sizes["max_length"],
        )
        words = [result.hypotheses[0] for result in found]
        ids = [[ids_of[word] if word in ids_of else int(word[1:]) for word in each] for each in words]
        return {"id": body["id"], "outputs": [{"name": "output_text", "data": target.decode(ids)}]}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit({"write": write, "serve": lambda folder, port: serve(folder, int(port))}[sys.argv[1]](*sys.argv[2:]))

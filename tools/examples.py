"""Examples that stand below the help of a subcommand, and what the environment decides."""

EXAMPLES = {
    "new": (
        "seqzoo new classify reviews.csv --out reviews.toml",
        "seqzoo new translate train.de train.en valid.de valid.en --out de-en.toml",
        "seqzoo new tag train.conll dev.conll test.conll --out tags.toml --set data.columns.tags=4",
        "seqzoo new continue novel.txt.gz --out novel.toml",
    ),
    "import": (
        "seqzoo import opus-mt-de-en --out runs/de-en",
        "seqzoo import hf://Helsinki-NLP/opus-mt-de-en --out runs/de-en",
        "seqzoo import hf://facebook/nllb-200-distilled-600M --out runs/de-en --source-language deu_Latn "
        "--target-language eng_Latn",
    ),
    "train": (
        "seqzoo train reviews.toml --out runs/reviews",
        "seqzoo train multi30k-de-en-gru-additive --data multi30k --out runs/de-en --resume",
        "seqzoo train reviews.toml --out runs/five --seeds 5",
        "seqzoo train reviews.toml --out runs/tried --sweep model.dropout=0.1,0.3 --sweep model.units=64,128",
        "KERAS_BACKEND=jax seqzoo train reviews.toml --out runs/jax",
    ),
    "evaluate": (
        "seqzoo evaluate runs/reviews",
        "seqzoo evaluate runs/de-en --data multi30k --split valid --beam 1 --json",
        "seqzoo evaluate runs/five/seed-1 --ensemble runs/five/seed-2",
    ),
    "compare": (
        "seqzoo compare runs/first runs/second --out differences.png",
        "seqzoo compare pronounce-hu-gru-none pronounce-hu-lstm",
    ),
    "export": (
        "seqzoo export runs/reviews",
        "seqzoo export runs/de-en --out models --beam 4 --beam 1 --max-input 256",
        "seqzoo export runs/one --ensemble runs/two --name together",
        "seqzoo export dates --beam 8",
    ),
    "deploy": (
        "seqzoo deploy artefacts/dates --target tf-serving --out server",
        "seqzoo deploy --out server --canary 2",
        "seqzoo deploy --out server --promote",
        "seqzoo deploy --out server --rollback",
        "seqzoo deploy artefacts/dates --target kserve --out cluster --storage s3://bucket/models",
    ),
    "verify": ("seqzoo verify artefacts/reviews", "seqzoo verify dates"),
    "list": (
        "seqzoo list --task translate --language de",
        "seqzoo list --max-size 2MB --sort speed",
        "seqzoo list dates",
        "seqzoo list trec-star",
    ),
    "plot": (
        "seqzoo plot training runs/first runs/second --out loss.png",
        "seqzoo plot scores runs/first runs/second --score accuracy --out scores.pdf",
        "seqzoo plot confusion runs/reviews --out confusion.svg",
        "seqzoo plot by-length runs/de-en --out lengths.png",
    ),
    "reproduce": (
        "seqzoo reproduce star",
        "seqzoo reproduce --all --out reproduced",
        "seqzoo reproduce star --check",
        "seqzoo reproduce --all --draw",
        "seqzoo reproduce reformer --json",
    ),
    "bench": ("seqzoo bench dates", "seqzoo bench artefacts/reviews --file texts.txt --batch 1 --batch 64 --threads 2"),
    "hub fetch": ("seqzoo hub fetch dates", "seqzoo hub fetch dates@2 --files model.keras recipe.toml"),
    "hub validate": ("seqzoo hub validate", "seqzoo hub validate ./hub", "seqzoo hub validate https://example.org/hub"),
    "hub publish": (
        "seqzoo hub publish artefacts/reviews --run runs/reviews --licence CC-BY-4.0 --data 'My reviews, 2026' "
        "--data-licence CC0-1.0",
    ),
    "hub card": ("seqzoo hub card dates", "seqzoo hub card dates --check --only scores"),
    "hub sign": (
        "seqzoo hub sign --key key.pem --hub hub",
        "seqzoo hub sign dates@2 --key key.pem --hub hub --days 30",
    ),
    "hub withdraw": ("seqzoo hub withdraw dates@2 --reason 'Two labels were exchanged.'",),
    "hub gallery": ("seqzoo hub gallery --out site", "seqzoo hub gallery --out site dates pos-en-star"),
    "hub package": ("seqzoo hub package dates --out wheels",),
}
ENVIRONMENT = """environment:
  SEQZOO_HUB       the hubs in which models are looked up, separated by commas: folders and addresses
  SEQZOO_HUB_KEYS  files of public keys: a hub is used only if the owner of one of them signed its index
  SEQZOO_CACHE     the folder in which downloaded models and compiled programs are kept
  SEQZOO_OFFLINE   1: do not use the network
  SEQZOO_TIMEOUT   seconds without a byte after which a hub counts as stalled
  SEQZOO_DEBUG     1: show tracebacks, and every line of TensorFlow's libraries
  KERAS_BACKEND    tensorflow (default) or jax, for train, evaluate and reproduce (there jax is the default)

`seqzoo COMMAND --help` shows the options of a command, and examples."""


def epilog(name, own):
    """What stands below the help of a subcommand: its examples, and what it says itself."""
    parts = ["examples:\n" + "\n".join(f"  {each}" for each in EXAMPLES[name])] if name in EXAMPLES else []
    return "\n\n".join([*parts, *([own] if own else [])]) or None

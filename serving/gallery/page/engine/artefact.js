// An artefact behind an address: its manifest, tokenizers and graphs, each with the SHA-256 that is promised for it.

import { Graph } from "./graphs.js";
import { addHistory } from "./history.js";
import { PREDICTORS } from "./predictors.js";
import { removeDefaults } from "./rules.js";
import { spansOf } from "./spans.js";
import { Tokenizer } from "./tokenizer.js";

const FORMAT = 3; // of the manifests that this page reads, and of older ones

export class Artefact {
  /** `entry` is a model in gallery.json; `read(path, sha256)` answers a promise of the bytes of a file. */
  static async of(entry, read) {
    const file = (name, sha256) => read(`${entry.folder}/${name}`, sha256);
    const manifest = JSON.parse(new TextDecoder().decode(await file("manifest.json", entry.manifest)));
    if (manifest.format > FORMAT) throw new Error(`${entry.name} is of format ${manifest.format}; this page reads up to ${FORMAT}.`);
    if (!(manifest.kind in PREDICTORS)) throw new Error(`${entry.name} is of the kind ${manifest.kind}, which this page does not know.`);
    const artefact = new Artefact(entry, manifest, (name) => file(name, manifest.files[name]));
    await artefact.open();
    return artefact;
  }

  constructor(entry, manifest, read) {
    Object.assign(this, { entry, manifest, read, opened: new Map() });
  }

  async open() {
    const sides = await Promise.all(Object.entries(this.manifest.tokenizer).map(async ([side, name]) => {
      const tokenizer = await Tokenizer.of(await this.read(name), `${this.entry.name}-${side}`);
      const size = this.manifest.vocabulary[side];
      if (tokenizer.pieces.length !== size) {
        throw new Error(`${name} of ${this.entry.name} does not fit the graphs: expected ${size} pieces; it has ${tokenizer.pieces.length}.`);
      }
      return [side, tokenizer];
    }));
    const { source, target = source } = Object.fromEntries(sides);
    Object.assign(this, { source, target });
    this.predictor = new PREDICTORS[this.manifest.kind](this);
  }

  has(signature) {
    return signature in this.entry.graphs;
  }

  /** The graph of a signature; "search" is the one that answers texts by default. With `rules` they must be given. */
  graph(signature, rules) {
    const key = rules ? `${signature} with rules` : signature;
    if (!this.opened.has(key)) {
      if (!this.has(signature)) throw new Error(`${this.entry.name} has no graph for ${signature}.`);
      const name = this.entry.graphs[signature];
      this.opened.set(key, this.bytes(name, rules).then(async (bytes) => Graph.of(bytes, name, await this.weights(name))));
    }
    return this.opened.get(key);
  }

  async bytes(name, rules) {
    return rules ? removeDefaults(await this.read(name), this.manifest) : this.read(name);
  }

  /** The files, one or none, with the weights of a graph beside it. */
  async weights(name) {
    const path = this.manifest.onnx[name]?.weights;
    return path ? [{ path, data: await this.read(path) }] : [];
  }

  /** The graph that answers, given the options of `run`. */
  graphOf({ sampling, rules } = {}) {
    return this.graph(sampling ? "sample" : this.has("search") ? "search" : this.manifest.kind, rules);
  }

  /** The same graph once more, whose loops tell what they do: `{graph, outputs}` of `addHistory`. */
  historyGraph(signature, rules) {
    const key = `${signature} with history${rules ? " and rules" : ""}`;
    if (!this.opened.has(key)) this.opened.set(key, this.openHistory(this.entry.graphs[signature], rules));
    return this.opened.get(key);
  }

  async openHistory(name, rules) {
    const { bytes, outputs } = addHistory(await this.bytes(name, rules));
    return { graph: outputs.length ? await Graph.of(bytes, name, await this.weights(name)) : null, outputs };
  }

  /** How far back the heads look, where they have learned it; see `spansOf`. */
  async spans() {
    return this.entry.attention === "adaptive_span" ? spansOf(await this.read(this.entry.graphs.search)) : null;
  }

  async close() {
    for (const each of this.opened.values()) {
      const opened = await each.catch(() => null);
      await (opened?.outputs ? opened.graph : opened)?.close();
    }
  }
}

// ONNX Runtime in WebAssembly, on one thread: the sessions of an artefact's graphs, opened at their first use.

import * as ort from "../vendor/ort.wasm.bundle.min.mjs";
import { concat, field, integerField } from "./protobuf.js";

/** Starts ONNX Runtime, whose WebAssembly is given; the smallest graph makes it compile this before it is needed. */
export async function start(wasmBinary) {
  Object.assign(ort.env.wasm, { wasmBinary, numThreads: 1, proxy: false });
  ort.env.logLevel = "error";
  await (await Graph.of(smallest(), "the first graph")).close();
}

/** A model that gives back a number, as a message of onnx.proto. */
function smallest() {
  const value = (name) => concat([field(1, name), field(2, field(1, integerField(1, 1)))]);
  const node = concat([field(1, "x"), field(2, "y"), field(4, "Identity")]);
  const graph = concat([field(1, node), field(2, "smallest"), field(11, value("x")), field(12, value("y"))]);
  return concat([integerField(1, 8), field(7, graph), field(8, integerField(2, 17))]);
}

const OPTIONS = {
  executionProviders: ["wasm"],
  enableMemPattern: false, // otherwise a pattern is kept for every input shape
  logSeverityLevel: 3,
  extra: { optimization: { disable_specified_optimizers: "SkipLayerNormFusion" } }, // as in serving/runtime/sessions.py
};

export class Graph {
  static async of(bytes, name, externalData = []) {
    return new Graph(await ort.InferenceSession.create(bytes, { ...OPTIONS, externalData }), name);
  }

  constructor(session, name) {
    Object.assign(this, { session, name });
  }

  /** The outputs, `{name: {dims, data}}`. Inputs are such pairs, too; those that the graph does not have are ignored. */
  async run(inputs) {
    const feeds = {};
    for (const name of this.session.inputNames) {
      if (!(name in inputs)) throw new Error(`${this.name} does not fit its manifest: it needs the input ${name}.`);
      const { dims, data } = inputs[name];
      feeds[name] = new ort.Tensor(TYPES.get(data.constructor), data, dims);
    }
    const outputs = await this.session.run(feeds);
    return Object.fromEntries(Object.entries(outputs).map(([name, { dims, data }]) => [name, { dims: [...dims], data }]));
  }

  close() {
    return this.session.release();
  }
}

const TYPES = new Map([[Int32Array, "int32"], [Float32Array, "float32"], [Uint8Array, "bool"], [BigInt64Array, "int64"]]);

/** Sequences of ids as `token_ids (batch, time)`, padded with 0, and `lengths (batch)`; time is at least 1. */
export function padded(sequences, vocabulary, least = 1) {
  const time = Math.max(1, ...sequences.map((each) => each.length));
  const data = new Int32Array(sequences.length * time);
  sequences.forEach((ids, row) => {
    const wrong = ids.find((id) => !(id >= 0 && id < vocabulary));
    if (wrong !== undefined) throw new Error(`token_ids must lie between 0 and ${vocabulary - 1}; received ${wrong}.`);
    if (ids.length < least) throw new Error(`lengths must be at least ${least}; received ${ids.length}.`);
    data.set(ids, row * time);
  });
  return {
    token_ids: { dims: [sequences.length, time], data },
    lengths: { dims: [sequences.length], data: Int32Array.from(sequences, (each) => each.length) },
  };
}

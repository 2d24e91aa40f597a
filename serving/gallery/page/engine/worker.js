// The engine in a thread of its own, so that the page stays alive: it opens models, and answers one question at a time.

import { Artefact } from "./artefact.js";
import { start } from "./graphs.js";
import { inside } from "./inside.js";
import { Tokenizer } from "./tokenizer.js";

const HOME = new URL("..", import.meta.url);
const READY = 0; // the number of the message that says that ONNX Runtime runs
const KEPT = 4; // models that stay open; the one that was asked least recently is closed

/** The bytes of a file of this folder, which must have the SHA-256 that is promised for them, in hexadecimal. */
async function read(path, sha256) {
  const address = new URL(path.split("/").map(encodeURIComponent).join("/"), HOME);
  const bytes = sha256.match(/../g).map((digits) => String.fromCharCode(parseInt(digits, 16)));
  try {
    const answer = await fetch(address, { integrity: `sha256-${btoa(bytes.join(""))}` });
    if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
  } catch { /* no network, or other bytes than promised: the browser does not say which */ }
  throw new Error(`${path} cannot be read, or is not the file that belongs here. Reload the page, or write the gallery again.`);
}

// All that is needed of every model begins at once: SentencePiece, which is in the scripts, and ONNX Runtime's bytes.
const index = fetch(new URL("gallery.json", HOME), { cache: "no-cache" }).then((answer) => answer.json());
const packed = index.then(({ engine: { path, sha256 } }) => read(path, sha256));
Tokenizer.begin();

/** ONNX Runtime, once it runs. */
const started = (async () => {
  const unpacked = new Response(await packed).body.pipeThrough(new DecompressionStream("gzip"));
  await start(await new Response(unpacked).arrayBuffer());
})();
started.then(() => postMessage({ id: READY, value: true }), (error) => postMessage({ id: READY, error: error.message }));

const open = new Map(), used = new Set();

async function artefact(name) {
  const gallery = await index;
  let held = open.get(name);
  open.delete(name);
  if (!held) {
    const entry = gallery.models.find((each) => each.name === name);
    if (!entry) throw new Error(`This gallery has no model ${name}; it has ${gallery.models.map((each) => each.name).join(", ")}.`);
    held = await arrived(entry);
    for (const [other, { artefact }] of Array.from(open).slice(0, Math.max(0, open.size + 1 - KEPT))) {
      open.delete(other);
      await artefact.close();
    }
  }
  open.set(name, held);
  return held;
}

/** An artefact, and when the last of its files that answers need had come, and ONNX Runtime's. */
async function arrived(entry) {
  const began = performance.now();
  const files = new Map();
  const fetched = (path, sha256) => {
    if (!files.has(path)) files.set(path, read(path, sha256));
    used.add(path);
    return files.get(path);
  };
  const manifest = fetched(`${entry.folder}/manifest.json`, entry.manifest);
  await Promise.all([packed, manifest, ...entry.needed.map(([name, sha256]) => fetched(`${entry.folder}/${name}`, sha256))]);
  const there = performance.now();
  await started;
  return { artefact: await Artefact.of(entry, fetched), fetching: there - began, there };
}

const methods = {
  async run(name, text, options) {
    if (typeof text !== "string") throw new Error(`A text must be a string; received ${typeof text}.`);
    const asked = performance.now(), held = await artefact(name), began = performance.now();
    const result = await held.artefact.predictor.run(text, options);
    const now = performance.now();
    held.first ??= now - Math.max(asked, held.there);
    return { kind: held.artefact.manifest.kind, ...result, milliseconds: now - began, fetching: held.fetching, first: held.first };
  },
  /** Open a model that will be asked soon. */
  async prepare(name, options) {
    await (await artefact(name)).artefact.graphOf(options);
  },
  /** The paths of all files of models that were read. */
  async used() {
    return [...used];
  },
  async inside(name, result) {
    return inside((await artefact(name)).artefact, result);
  },
};

let turn = Promise.resolve();
addEventListener("message", ({ data: { id, method, words } }) => {
  turn = turn.then(async () => {
    try {
      postMessage({ id, value: await methods[method](...words) });
    } catch (error) {
      postMessage({ id, error: error.message ?? String(error) });
    }
  });
});

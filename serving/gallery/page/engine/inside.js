// What a model did on the way to its answer: the tree of the search, attention, the block that each piece left after,
// the probabilities of tokens, how far back heads look, and how often a Universal Transformer thought about each
// sentence. All of it comes from the graph that gave the answer.

import { path, replay } from "./beam.js";
import { padded } from "./graphs.js";
import { ranked } from "./predictors.js";

const SHOWN = 8; // alternatives to a token

/** What is known about a result of `run`; `{}` where the graph has no loop that tells. */
export async function inside(artefact, result) {
  if (result.error || !result.ids.length) return {};
  if (artefact.has("search")) return (artefact.entry.prompts ? tokens : search)(artefact, result);
  return result.labels ? thoughts(artefact, result) : {};
}

/** The outputs of a graph that its loops have added, by what they are of. */
async function runWithHistory(artefact, signature, inputs, { rules } = {}) {
  const { graph, outputs } = await artefact.historyGraph(signature, rules);
  if (!outputs.length) return {};
  const found = await graph.run(inputs);
  for (const { name, nested } of outputs) {
    if (!nested) continue;
    if (found[name].dims[0] !== 1) return {}; // rows left, so that the steps are not those of one text
    found[name] = { dims: found[name].dims.slice(1), data: found[name].data };
  }
  const of = (what) => outputs.filter((each) => each.of === what).map(({ name }) => found[name]);
  const scores = outputs.filter((each) => each.of === "scores").map(({ name, block }) => ({ ...found[name], block }));
  return { probabilities: of("LogSoftmax")[0], totals: of("totals")[0], attention: of("Softmax"), thinking: of("thinking")[0], running: of("running"), scores };
}

async function search(artefact, { source, hypotheses, options }) {
  const { source: reader, target } = artefact;
  const inputs = { ...padded([source], reader.pieces.length), ...artefact.predictor.ruleInputs(options) };
  const found = await runWithHistory(artefact, "search", inputs, options);
  if (!found.totals) return {};
  const root = replay(found.probabilities, found.totals, target.eos);
  const most = artefact.manifest.max_length;
  const ended = hypotheses.map(({ ids }) => path(root, ids.length < most ? [...ids, target.eos] : ids));
  if (ended.some((nodes) => !nodes)) return {}; // two totals that differ in their last digit changed places
  ended.forEach((nodes, rank) => Object.assign(nodes.at(-1), { rank, score: hypotheses[rank].score }));
  const steps = ended[0].map((node, step) => ({ step, beam: step ? ended[0][step - 1].beam : 0, piece: target.pieces[node.id] }));
  return {
    tree: namePieces(root, target.pieces),
    best: ended[0].map((node) => node.logProb),
    ...exits(found.running, steps),
    ...attention(found, steps, source.map((id) => reader.pieces[id])),
  };
}

function namePieces(node, pieces) {
  const { children, id, ...rest } = node;
  return { ...rest, piece: id === null ? "" : pieces[id], children: children.map((each) => namePieces(each, pieces)) };
}

/** After which block each piece of the best output left, where blocks are run under a condition. */
function exits(running = [], steps) {
  if (!running.length) return {};
  const goesOn = ({ dims: [, , beams], data }, { step, beam }) => data[step * beams + beam] !== 0;
  const pieces = steps.map((each) => ({ piece: each.piece, exit: 1 + running.filter((block) => goesOn(block, each)).length }));
  return { exits: { blocks: running.length + 1, pieces } };
}

/**
 * The weights with which each piece of the best output was written: those of the beam that its beginning was in. `maps`
 * are `{name, rows}`, the average first; a row is null where the piece had left before that block.
 */
function attention({ attention: weights = [], scores = [], running = [] }, steps, source) {
  const shared = { source, target: steps.map(({ piece }) => piece) };
  const map = weights.find(({ dims }) => dims.length === 4 && dims[3] === source.length);
  if (map) {
    const rows = steps.map(({ step, beam }) => row(map, step * map.dims[2] + beam));
    return { attention: { ...shared, rows, maps: [{ name: "all", rows }] } };
  }
  if (!scores.length || scores.some(({ dims }) => dims[4] !== source.length)) return {};
  const [, , heads, beams] = scores[0].dims, passed = exits(running, steps).exits;
  const single = scores.flatMap((tensor) => Array.from({ length: heads }, (_, head) => ({
    name: `block ${tensor.block + 1}, head ${head + 1}`,
    rows: steps.map(({ step, beam }, place) =>
      (passed && passed.pieces[place].exit <= tensor.block ? null : softmax(row(tensor, (step * heads + head) * beams + beam)))),
  })));
  const rows = steps.map((_, place) => mean(single.map((each) => each.rows[place]).filter(Boolean)));
  return { attention: { ...shared, rows, maps: [{ name: "all blocks and heads, their average", rows }, ...single.filter((each) => each.rows.some(Boolean))] } };
}

const row = ({ dims, data }, place) => Array.from(data.subarray(place * dims.at(-1), (place + 1) * dims.at(-1)));

const mean = (rows) => rows[0].map((_, column) => rows.reduce((sum, each) => sum + each[column], 0) / rows.length);

function softmax(scores) {
  const most = Math.max(...scores), shares = scores.map((each) => Math.exp(each - most));
  const sum = shares.reduce((one, other) => one + other, 0);
  return shares.map((each) => each / sum);
}

/** Of a language model, each token that it has written with its probability, and what else it might have written. */
async function tokens(artefact, result) {
  const [found, spans] = [await readTokens(artefact, result), await artefact.spans()];
  if (!spans) return found;
  const ids = [...result.source, ...result.ids], { pieces } = artefact.source;
  const far = Math.ceil(Math.max(...spans.blocks.flat())) + spans.ramp;
  return { ...found, spans: { ...spans, before: ids.slice(-far).map((id) => pieces[id]) } };
}

async function readTokens(artefact, { source, ids, options = {} }) {
  const { source: reader, manifest, predictor } = artefact;
  const inputs = { ...padded([source.slice(-predictor.bound.maxInput)], reader.pieces.length, 0), ...predictor.samplingInputs(options), ...predictor.ruleInputs(options) };
  const { probabilities } = await runWithHistory(artefact, options.sampling ? "sample" : "search", inputs, options);
  if (!probabilities || probabilities.dims[2] !== 1) return {};
  const size = probabilities.dims[3];
  const found = ids.slice(0, manifest.max_length).map((id, step) => {
    const row = probabilities.data.subarray(step * size, (step + 1) * size);
    const others = ranked(row).slice(0, SHOWN).map((other) => ({ id: other, piece: reader.pieces[other], probability: Math.exp(row[other]) }));
    return { text: predictor.after([...source, ...ids.slice(0, step)], [id]), probability: Math.exp(row[id]), others };
  });
  return { tokens: found };
}

/** How often each sentence of a text was thought about before it halted, where a model reads by sentences. */
async function thoughts(artefact, { source }) {
  const { source: reader } = artefact;
  const { thinking } = await runWithHistory(artefact, artefact.manifest.kind, padded([source], reader.pieces.length));
  if (!thinking) return {};
  const [steps, , places] = thinking.dims, parts = sentences(source, reader);
  const took = Array.from({ length: places }, (_, place) =>
    Array.from({ length: steps }, (_, step) => thinking.data[step * places + place]).filter(Boolean).length);
  // A place is a sentence, unless the model reads by pieces, or has left out the first of many short sentences.
  if (took.filter(Boolean).length !== parts.length) return {};
  const units = parts.map((ids, place) => ({ text: reader.decode(ids), steps: took[parts.length - 1 - place] })); // the last sentence has the first place
  return { ponder: { steps, units } };
}

/** The ids of each sentence; a full stop, a question mark or an exclamation mark ends one (zoo/text/spelling.py). */
function sentences(ids, { pieces }) {
  const found = [[]];
  ids.forEach((id, place) => {
    found.at(-1).push(id);
    const ends = [".", "?", "!"].includes(pieces[id].replace(/^▁+/, ""));
    if (ends && place + 2 < ids.length) found.push([]); // the last token, the end of the text, begins no sentence
  });
  return found;
}

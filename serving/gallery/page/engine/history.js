// What a loop of a graph does in each of its steps. The graph that an artefact publishes says only what comes out of
// its loops; here, after its bytes were compared with their SHA-256, values inside become outputs of the graph, too: an
// Identity in the body of the loop, whose results ONNX stacks, one for each step.

import { concat, edit, field, integerField, many, one, text } from "./protobuf.js";

const GRAPH = 7, NODE = 1, GRAPH_INPUT = 11, OUTPUT = 12; // fields of a model and of a graph, as in onnx.proto
const INPUT = 1, RESULT = 2, OPERATOR = 4, ATTRIBUTE = 5; // of a node
const ATTRIBUTE_NAME = 1, BODY = 6, FLOAT = 1;
const BESIDE = ["LogSoftmax", "Softmax"]; // what a step of a search computes beside what it carries
const ANY = ["Greater", "ReduceSum", "ReduceMax", "Cast"]; // what asks whether one of many is true
const KEYS = 1, PAST = 6, SCORES = 3; // inputs of MultiHeadAttention, and the output that has the scores of the keys

/**
 * `{bytes, outputs}`: the bytes of a model whose loops tell what they do, and `{name, of, block, nested}` of each new
 * output. Each has a leading axis of steps, and where it is `nested` one more before it: a search whose rows leave when
 * they are done is a loop inside a loop, of which the outer one is run once for a single text. `of` says what it is:
 *
 * - "LogSoftmax": of a search, the logarithms of the probabilities of all tokens;
 * - "totals": of a beam search, these and those of what is written already, with what its rules add;
 * - "Softmax": the weights of attention, of a search in which sizes stay the same;
 * - "scores": the scores of the keys that a fused attention over the source gives its softmax, of the block `block`;
 * - "running": which hypotheses go on to the block `block`, where blocks are run under a condition;
 * - "thinking": which places take the step, in the loop of a Universal Transformer whose places halt.
 */
export function addHistory(bytes) {
  const outputs = [];
  const model = edit(bytes, GRAPH, (graph) => {
    const changed = edit(graph, NODE, (node) => (operator(node) === "Loop" ? addToLoop(node, outputs) : node));
    return concat([changed, ...outputs.map(({ name }) => field(OUTPUT, field(1, name)))]);
  });
  return { bytes: outputs.length ? model : bytes, outputs };
}

/** A Loop whose body gives values of its own a second time; `outputs` grows by these, and so do its results. */
function addToLoop(loop, outputs, ending = "") {
  const before = outputs.length, inputs = many(loop, INPUT).length;
  const changed = edit(loop, ATTRIBUTE, (attribute) => {
    if (string(attribute, ATTRIBUTE_NAME) !== "body") return attribute;
    return edit(attribute, BODY, (body) => {
      if (many(body, NODE).some(holdsSearch)) return passOn(body, outputs);
      const more = chooseValues(body, inputs - 2).flatMap(([value, of, block]) => {
        const name = `history.${outputs.length}`;
        outputs.push({ name, of, block });
        const copy = [field(INPUT, value), field(RESULT, `${name}/step`), field(OPERATOR, "Identity")];
        return [field(NODE, concat(copy)), field(OUTPUT, field(1, `${name}/step`))];
      });
      const whole = concat([body, ...more]);
      return isSearch(body) ? addScores(whole, outputs) : whole;
    });
  });
  return concat([changed, ...outputs.slice(before).map(({ name }) => field(RESULT, name + ending))]);
}

const isSearch = (body) => many(body, NODE).some((node) => operator(node) === "LogSoftmax");
const bodies = (loop) => many(loop, ATTRIBUTE).flatMap((attribute) => many(attribute, BODY));
const holdsSearch = (node) => operator(node) === "Loop" && bodies(node).some(isSearch);

/** The body of a loop around a search: it hands on what the search tells. */
function passOn(body, outputs) {
  const before = outputs.length;
  const changed = edit(body, NODE, (node) => (holdsSearch(node) ? addToLoop(node, outputs, "/rows") : node));
  const more = outputs.slice(before).map((each) => {
    each.nested = true;
    const name = `${each.name}/rows`;
    return field(OUTPUT, each.of === "scores" ? scores(name) : field(1, name));
  });
  return concat([changed, ...more]);
}

/** `[value, of, block]` for each value of a body that becomes an output; `count` values are carried, behind the condition. */
function chooseValues(body, count) {
  const carried = many(body, OUTPUT).slice(1, 1 + count);
  if (!isSearch(body)) return thinking(body, carried.map((value) => string(value, 1)));
  const nodes = many(body, NODE), named = BESIDE.slice(0, carried.some(grows) ? 1 : 2);
  const values = nodes.filter((node) => named.includes(operator(node))).map((node) => [string(node, RESULT), operator(node)]);
  const logarithms = new Set(values.filter(([, what]) => what === "LogSoftmax").map(([value]) => value));
  const totals = nodes.filter((node) => operator(node) === "Add" && strings(node, INPUT).some((value) => logarithms.has(value)));
  const inside = new Set(nodes.flatMap((node) => strings(node, RESULT)));
  const conditions = nodes.filter((node) => isBlock(node, inside)).map((node) => findValue(string(node, INPUT), nodes));
  const running = conditions.map((value, place) => [value, "running", place + 1]);
  return [...values, ...totals.map((node) => [string(node, RESULT), "totals"]), ...running];
}

/**
 * Which places take a step, where the loop is that of adaptive computation time (zoo/depth/halting.py). No name in a
 * published graph says so, but the form does: the loop carries the sum of a place's probabilities to halt, which changes
 * only where another value that it carries says that the place goes on.
 */
function thinking(body, after) {
  const before = many(body, GRAPH_INPUT).slice(2).map((value) => string(value, 1));
  return many(body, NODE).filter((node) => operator(node) === "Where").flatMap((node) => {
    const [goesOn, , kept] = strings(node, INPUT), sum = after.indexOf(string(node, RESULT));
    const fits = sum >= 0 && kept === before[sum] && after.includes(goesOn);
    return fits ? [[before[after.indexOf(goesOn)], "thinking"]] : [];
  });
}

/** Whether a node runs a block under a condition; that of the rules of a search is known before the loop. */
const isBlock = (node, inside) => operator(node) === "If" && inside.has(string(node, INPUT));

/** The value of which a condition asks whether any of it is true. */
function findValue(value, nodes) {
  const maker = nodes.find((node) => strings(node, RESULT).includes(value));
  return maker && ANY.includes(operator(maker)) ? findValue(string(maker, INPUT), nodes) : value;
}

/**
 * The body of a search whose fused attentions over the source give the scores of their keys. What they compute is an output
 * from the first block on; in the branch of a block that is not run, the scores of the first one stand in for its own.
 */
function addScores(body, outputs) {
  const inside = new Set(many(body, NODE).flatMap((node) => strings(node, RESULT)));
  const first = outputs.length, types = [];
  let block = 0;
  const next = () => {
    const name = `history.${outputs.length}`;
    outputs.push({ name, of: "scores", block: block - 1 });
    types.push(field(OUTPUT, scores(`${name}/step`)));
    return `${name}/step`;
  };
  const changed = edit(body, NODE, (node) => {
    if (isOverSource(node, inside)) {
      block += 1;
      return giveScores(node, next());
    }
    if (!isBlock(node, inside)) return node;
    block += 1;
    return outputs.length > first ? addToBranches(node, inside, next, outputs[first].name) : node;
  });
  return concat([changed, ...types]);
}

/** Whether a node is an attention over keys that stay the same from step to step: they come from outside. */
function isOverSource(node, inside) {
  if (operator(node) !== "MultiHeadAttention") return false;
  const inputs = strings(node, INPUT);
  return !inputs[PAST] && !inside.has(inputs[KEYS]);
}

/** An attention that gives the scores of its keys, too. */
function giveScores(node, name) {
  const missing = SCORES - many(node, RESULT).length;
  return concat([node, ...Array(missing).fill(field(RESULT, "")), field(RESULT, name)]);
}

/** An If one of whose branches has an attention over the source; the other branch gives the scores `instead`. */
function addToBranches(node, inside, next, instead) {
  const own = (graph) => new Set([...inside, ...many(graph, NODE).flatMap((each) => strings(each, RESULT))]);
  const looks = (graph) => many(graph, NODE).some((each) => isOverSource(each, own(graph)));
  if (!many(node, ATTRIBUTE).some((attribute) => many(attribute, BODY).some(looks))) return node;
  const name = next();
  const changed = edit(node, ATTRIBUTE, (attribute) => edit(attribute, BODY, (graph) => {
    const branch = `${name}/${string(attribute, ATTRIBUTE_NAME)}`, output = field(OUTPUT, scores(branch));
    if (looks(graph)) return concat([edit(graph, NODE, (each) => (isOverSource(each, own(graph)) ? giveScores(each, branch) : each)), output]);
    const copy = [field(INPUT, `${instead}/step`), field(RESULT, branch), field(OPERATOR, "Identity")];
    return concat([graph, field(NODE, concat(copy)), output]);
  }));
  return concat([changed, field(RESULT, name)]);
}

/** What is said of a value that is a tensor of float32: ONNX Runtime cannot tell this of the scores by itself. */
const scores = (name) => concat([field(1, name), field(2, field(1, integerField(1, FLOAT)))]);

/**
 * Whether a value has another size after each step, as the caches of a Transformer: float, with open inner sizes. What a
 * search has covered of its source, `(rows, beams, source time)`, is open at its end and stays as long as it is.
 */
function grows(value) {
  const [kind, shape] = [[2, 1, 1], [2, 1, 2]].map((path) => path.reduce((message, number) => message && one(message, number), value));
  return kind === FLOAT && (!shape || many(shape, 1).slice(1, -1).some((size) => !one(size, 1)));
}

const operator = (node) => string(node, OPERATOR);
const strings = (bytes, number) => many(bytes, number).map(text);
const string = (bytes, number) => (one(bytes, number) === undefined ? "" : text(one(bytes, number)));

// How far back the heads of an adaptive-span attention look, read off its graph. Each step computes, for the distance x
// of a key, m(x) = min(max((R + z - x) / R, 0), 1): the spans z and the ramp R are constants of it (zoo/attention).

import { fields, many, one, text } from "./protobuf.js";

const GRAPH = 7, NODE = 1, INITIALIZER = 5, INPUT = 1, RESULT = 2, OPERATOR = 4, ATTRIBUTE = 5, BODY = 6;
const DIMS = 1, KIND = 2, NAME = 8, RAW = 9, FLOATS = 1; // of a tensor

/** `{ramp, blocks}` of the bytes of a model, where a block has the span of each head; null where there are none. */
export function spansOf(bytes) {
  const found = within([one(bytes, GRAPH)]);
  return found.length ? { ramp: found[0].ramp, blocks: found.map(({ ramp, reach }) => reach.map((value) => value - ramp)) } : null;
}

/** What `ramps` finds in the first loop of the last of some graphs that has any; a search may be a loop inside a loop. */
function within(graphs) {
  const loops = many(graphs.at(-1), NODE).filter((node) => string(node, OPERATOR) === "Loop");
  for (const body of loops.flatMap((loop) => many(loop, ATTRIBUTE)).flatMap((attribute) => many(attribute, BODY))) {
    const found = [...ramps(many(body, NODE), constants([...graphs, body])), ...within([...graphs, body])];
    if (found.length) return found;
  }
  return [];
}

/** `{ramp, reach}` of each `Min((constant - x) * (1 / ramp), 1)`, in the order of the blocks. */
function ramps(nodes, constant) {
  const after = (value, operator) => nodes.find((node) => string(node, OPERATOR) === operator && strings(node, INPUT).includes(value));
  return nodes.filter((node) => string(node, OPERATOR) === "Sub").flatMap((node) => {
    const reach = constant.get(strings(node, INPUT)[0]);
    if (!reach || reach.dims.length !== 3 || reach.dims[1] !== 1 || reach.dims[2] !== 1) return [];
    const scaled = after(string(node, RESULT), "Mul");
    const share = scaled && strings(scaled, INPUT).map((name) => constant.get(name)).find((each) => each?.data.length === 1);
    if (!share || !after(string(scaled, RESULT), "Min")) return [];
    return [{ ramp: Math.round(1 / share.data[0]), reach: Array.from(reach.data) }];
  });
}

/** The constants of float32 of some graphs, by name: `{dims, data}`. */
function constants(graphs) {
  const tensors = graphs.flatMap((graph) => many(graph, INITIALIZER)).filter((tensor) => one(tensor, KIND) === FLOATS);
  return new Map(tensors.filter((tensor) => one(tensor, RAW)).map((tensor) => {
    const dims = Array.from(fields(tensor)).filter(({ number, kind }) => number === DIMS && kind === 0).map(({ value }) => value);
    return [string(tensor, NAME), { dims, data: new Float32Array(one(tensor, RAW).slice().buffer) }];
  }));
}

const strings = (bytes, number) => many(bytes, number).map(text);
const string = (bytes, number) => text(one(bytes, number) ?? new Uint8Array());

// The rules of a search as inputs of its graph, as serving/kinds/rules.py makes them. In a graph they need not be given:
// their values are initializers. ONNX Runtime for browsers takes no other values for these, so they are taken out.

import { edit, one, text } from "./protobuf.js";

const GRAPH = 7, INITIALIZER = 5, TENSOR_NAME = 8; // of a model, a graph and a tensor, as in onnx.proto
const TYPES = { int32: Int32Array, float32: Float32Array };

/** The rules that a graph takes: the inputs of its signature that have a default. */
const rulesOf = ({ signatures }) => signatures.find(({ name }) => name === "tokens").inputs.filter((each) => "default" in each);

/** The bytes of a graph whose rules must all be given. */
export function removeDefaults(bytes, manifest) {
  const names = new Set(rulesOf(manifest).map(({ name }) => name));
  const keep = (tensor) => (names.has(text(one(tensor, TENSOR_NAME) ?? new Uint8Array())) ? null : tensor);
  return edit(bytes, GRAPH, (graph) => edit(graph, INITIALIZER, keep));
}

/** The inputs `{name: {dims, data}}` for rules by name: those that are given, and else those of the artefact. */
export function inputsOf(rules, manifest, encode) {
  const { prefix, bad_words: words, ...numbers } = rules;
  const values = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, [value]]));
  if (prefix) values.forced_tokens = [encode(prefix)];
  const lists = (words ?? []).map(encode).filter((pieces) => pieces.length);
  const most = Math.max(0, ...lists.map((pieces) => pieces.length));
  if (most) values.bad_words = [lists.map((pieces) => [...Array(most - pieces.length).fill(-1), ...pieces])];
  const lacking = Object.keys(values).find((name) => values[name][0] && !rulesOf(manifest).some((spec) => spec.name === name));
  if (lacking) throw new Error(`${manifest.name} was exported without ${lacking}; leave it out.`);
  return Object.fromEntries(rulesOf(manifest).map((spec) => {
    const value = values[spec.name] ?? spec.default, dims = [];
    for (let each = value; Array.isArray(each); each = each[0]) dims.push(each.length);
    return [spec.name, { dims, data: TYPES[spec.dtype].from(value.flat(Infinity)) }];
  }));
}

/** The largest number of pieces of an answer, in float32 as a graph computes it. */
export function lengthBound(rules, most, source) {
  let bound = rules.max_length || most;
  if (rules.length_ratio) {
    const { fround } = Math;
    bound = Math.min(bound, Math.floor(fround(fround(fround(rules.length_ratio) * source) + (rules.length_extra ?? 0))));
  }
  return Math.min(most, Math.max(bound, rules.min_length ?? 0, 1));
}

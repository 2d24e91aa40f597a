// The beam search that a graph has run, replayed from the totals of its steps: zoo/decoding/beam.py once more.

import { ranked } from "./predictors.js";

const IMPOSSIBLE = -1e9; // the score of a place that holds no hypothesis

/**
 * The tree of the hypotheses that were open or ended: each node is {id, logProb, total, depth, beam, children, ended}.
 *
 * `logProbs` and `totals`, what the search has compared, have the shape (steps, 1, beams, vocabulary). `beam` is the place of a node among the open hypotheses after
 * its step, or null if none was left for it; `ended` says that the token is the end of the text.
 */
export function replay({ dims, data }, compared, end) {
  const [steps, , beams, vocabulary] = dims;
  const root = { id: null, logProb: 0, total: 0, depth: 0, beam: 0, children: [], ended: false };
  let open = [root, ...Array(beams - 1).fill(null)];
  for (let step = 0; step < steps; step += 1) {
    const [row, totals] = [data, compared.data].map((all) => all.subarray(step * beams * vocabulary, (step + 1) * beams * vocabulary));
    const best = ranked(totals).slice(0, 2 * beams).filter((place) => totals[place] > IMPOSSIBLE / 2);
    const nodes = best.map((place) => {
      const parent = open[Math.floor(place / vocabulary)], id = place % vocabulary;
      const node = { id, logProb: row[place], total: totals[place], depth: step + 1, beam: null, children: [], ended: id === end };
      parent.children.push(node);
      return node;
    });
    const kept = nodes.filter((node) => !node.ended).slice(0, beams);
    kept.forEach((node, place) => (node.beam = place));
    open = Array.from({ length: beams }, (_, place) => kept[place] ?? null);
  }
  return root;
}

/** The nodes from the root's child on along `ids`, or null where the tree does not hold them. */
export function path(root, ids) {
  const found = [];
  let node = root;
  for (const id of ids) {
    node = node.children.find((each) => each.id === id);
    if (!node) return null;
    found.push(node);
  }
  return found;
}

// Which tag may follow which, and the likeliest sequence of those: the same rules as zoo/scores/transitions.py.

const SCHEME = /^([BIESLUM])-(.+)$/su, SAME = { L: "E", U: "S", M: "I" }, NEVER = -1e30;

const parts = (label) => {
  const found = SCHEME.exec(label);
  return label === "O" ? ["O", null] : found ? [SAME[found[1]] ?? found[1], found[2]] : ["", null];
};

/** `{follows, begins, ends}` of tags that spell entities by IOB2 or IOBES; null of others. */
export function transitions(labels) {
  const all = labels.map(parts);
  const kinds = (prefixes) => new Set(all.filter(([prefix]) => prefixes.includes(prefix) && prefix).map(([, kind]) => kind));
  const inside = kinds("IE"), begun = kinds("B"), closed = kinds("E");
  if (all.some(([prefix]) => !prefix) || !inside.size || [...inside].some((kind) => !begun.has(kind))) return null;
  const isInside = ([prefix]) => prefix === "I" || prefix === "E", isOpen = ([prefix]) => prefix === "B" || prefix === "I";
  const binds = (tag) => isOpen(tag) && closed.has(tag[1]);
  const follow = (one, other) => (isInside(other) ? isOpen(one) && one[1] === other[1] : !binds(one));
  return { follows: all.map((one) => all.map((other) => follow(one, other))),
    begins: all.map((tag) => !isInside(tag)), ends: all.map((tag) => !binds(tag)) };
}

/** The places of the likeliest allowed tags of the rows of probabilities; of each row where `allowed` is null. */
export function likeliest(rows, allowed) {
  const largest = (values) => values.reduce((best, value, place) => (value > values[best] ? place : best), 0);
  const found = rows.map((row) => largest(Array.from(row)));
  if (!allowed || !rows.length) return found;
  const may = (isAllowed) => (isAllowed ? 0 : -Infinity), scores = rows.map((row) => Array.from(row, (value) => Math.max(Math.log(value), NEVER)));
  const { follows, begins, ends } = allowed, fits = (tag, word) => (word ? follows[found[word - 1]][tag] : begins[tag]);
  if (found.every(fits) && ends[found.at(-1)]) return found;
  let total = scores[0].map((score, tag) => score + may(begins[tag]));
  const before = scores.slice(1).map((values) => {
    const paths = values.map((_, tag) => total.map((score, last) => score + may(follows[last][tag])));
    const best = paths.map(largest);
    total = values.map((score, tag) => paths[tag][best[tag]] + score);
    return best;
  });
  const tags = [largest(total.map((score, tag) => score + may(ends[tag])))];
  for (const places of before.reverse()) tags.unshift(places[tags[0]]);
  return tags;
}

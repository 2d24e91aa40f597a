// The random numbers of NumPy: `numpy.random.default_rng(entropy).random(count, dtype="float32")`, number by number, so
// that a seed gives the same text here and in `seqzoo run`. SeedSequence is O'Neill's seed_seq, PCG64 her generator.

const MULTIPLIER = (2549297995355413924n << 64n) + 4865540595714422341n;
const ALL = (1n << 128n) - 1n, LOW = (1n << 64n) - 1n;
const times = Math.imul;
const folded = (value) => (value ^ (value >>> 16)) >>> 0;

/** Float32 numbers from 0 to 1; `entropy` is a list of whole numbers >= 0. */
export function uniforms(entropy, count) {
  const next = pcg64(...seeds(entropy));
  const found = new Float32Array(count);
  let held = null; // the upper half of a number of 64 bits waits for the next call
  for (let place = 0; place < count; place += 1) {
    let bits = held;
    if (held === null) {
      const both = next();
      [bits, held] = [Number(both & 0xffffffffn), Number(both >> 32n)];
    } else {
      held = null;
    }
    found[place] = (bits >>> 8) / 16777216;
  }
  return found;
}

function pcg64(stateHigh, stateLow, sequenceHigh, sequenceLow) {
  const increment = ((((sequenceHigh << 64n) | sequenceLow) << 1n) | 1n) & ALL;
  let state = 0n;
  const step = () => (state = (state * MULTIPLIER + increment) & ALL);
  step();
  state = (state + ((stateHigh << 64n) | stateLow)) & ALL;
  step();
  return () => {
    step();
    const value = (state >> 64n) ^ (state & LOW), turn = state >> 122n;
    return ((value >> turn) | (value << ((64n - turn) & 63n))) & LOW;
  };
}

/** Four numbers of 64 bits. */
function seeds(entropy) {
  const words = entropy.flatMap(halves), pool = [0, 0, 0, 0];
  let constant = 0x43b0d7e5;
  const hash = (value) => {
    value ^= constant;
    constant = times(constant, 0x931e8875);
    return folded(times(value, constant));
  };
  const mix = (one, other) => folded(times(0xca01f9dd, one) - times(0x4973f715, other));
  pool.forEach((_, place) => (pool[place] = hash(words[place] ?? 0)));
  for (let from = 0; from < 4; from += 1) {
    for (let to = 0; to < 4; to += 1) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  for (const word of words.slice(4)) for (let to = 0; to < 4; to += 1) pool[to] = mix(pool[to], hash(word));
  constant = 0x8b51f9dd;
  const made = Array.from({ length: 8 }, (_, place) => {
    let value = pool[place % 4] ^ constant;
    constant = times(constant, 0x58f38ded);
    return folded(times(value, constant));
  });
  return [0, 2, 4, 6].map((place) => (BigInt(made[place + 1]) << 32n) | BigInt(made[place]));
}

/** The words of 32 bits of a whole number, the lowest first; at least one. */
function halves(value) {
  const found = [];
  let rest = BigInt(value);
  do found.push(Number(rest & 0xffffffffn));
  while ((rest >>= 32n) > 0n);
  return found;
}

// One predictor for each kind of artefact, as serving/kinds has them. `run(text)` answers a promise of
// {ids, text, source, error, warning}, and of what is particular to the kind. `text` is the answer of `seqzoo run`;
// `ids` are what it was made of: the ids that were written, the index of the label, or the index of each word's tag.

import { addDoubts, beyondWarning, joinWarnings, unsureWarning, warnUnusual } from "./doubt.js";
import { likeliest, transitions } from "./transitions.js";
import { padded } from "./graphs.js";
import { uniforms } from "./random.js";
import { boundOf, either, isAnswered, pair } from "./reading.js";
import { inputsOf, lengthBound } from "./rules.js";
import { characters, count, isBlank, quote } from "./text.js";

const EMPTY = -1e9; // the score of a place without a hypothesis, as the decoding graphs write it

class Predictor {
  /** `artefact` has the manifest, the tokenizers `source` and `target`, and `graph(signature)`, a promise. */
  constructor(artefact) {
    const { manifest, source, target, entry } = artefact;
    Object.assign(this, { artefact, manifest, source, target, bound: boundOf(manifest, source.unknown, entry.prompts) });
  }

  read(text, around = this.source) {
    return this.warnUnusual(this.bound.read(text, (part) => this.source.encode(part), around));
  }

  warnUnusual(reading) {
    return warnUnusual(reading, this.manifest.usual, this.source.common);
  }

  remarks({ ids: source, error, warning }, confidence = null, rating = null) {
    const { usual } = this.manifest;
    return { source, error, warning: joinWarnings(warning, unsureWarning(confidence, usual), beyondWarning(rating, usual)) };
  }
}

/**
 * Writes an output for each source. A blank source has a blank output with the score 0.
 *
 * Options: `rules` of the search by name, as `seqzoo run` has them.
 */
export class Generate extends Predictor {
  async run(text, options = {}) {
    let reading = this.read(text), pairs = [{ ids: [], score: 0 }], confidence = null;
    if (isAnswered(reading)) {
      pairs = await this.search(reading.ids, options);
      const { rules, max_length: most } = this.manifest;
      confidence = this.confidence(pairs[0]);
      reading = addDoubts(reading, pairs[0].ids, lengthBound({ ...rules, ...options.rules }, most, reading.ids.length));
    }
    const hypotheses = pairs.map((each) => ({ ...each, text: this.target.decode(each.ids), pieces: this.pieces(each.ids) }));
    const { ids, text: best, score } = hypotheses[0];
    const sourcePieces = reading.ids.map((id) => this.source.pieces[id]);
    return { ids, text: best, score, confidence, hypotheses, sourcePieces, options, ...this.remarks(reading, confidence) };
  }

  /** The geometric mean of the probabilities of an output's pieces, its end among them. */
  confidence({ ids, score }) {
    const { alpha: power, default_beam: beam, search } = this.manifest, tokens = ids.length + 1;
    const penalty = ((search?.penalty ?? "gnmt") === "gnmt" ? (5 + tokens) / 6 : tokens) ** (beam > 1 ? power : 0);
    return Math.min(1, Math.exp((score * penalty) / tokens));
  }

  pieces(ids) {
    return ids.map((id) => this.target.pieces[id]);
  }

  /** `{ids, score}` of the hypotheses of the default search, the best first. */
  async search(ids, options, least = 1) {
    const graph = await this.artefact.graph("search", options.rules);
    return hypotheses(await graph.run({ ...padded([ids], this.source.pieces.length, least), ...this.ruleInputs(options) }));
  }

  /** The inputs of a graph for its rules, where some are given. */
  ruleInputs({ rules }) {
    return rules ? inputsOf(rules, this.manifest, (text) => this.target.encode(text)) : {};
  }
}

/**
 * Continues a prompt; a blank prompt begins a new text.
 *
 * Options: `length`, the number of tokens to write; `sampling`, {temperature, topK, topP, seed}, to draw tokens with the
 * random numbers of `seqzoo run --sample` instead of searching; `rules`.
 */
export class Continue extends Generate {
  async run(text, options = {}) {
    const { length = null } = options;
    const reading = this.read(text, { before: this.source.before, after: [] });
    if (reading.error) return { ids: [], text: "", score: 0, options, ...this.remarks(reading) };
    const { max_length: step } = this.manifest;
    let written = [], score = 0;
    for (let start = 0; start < (length ?? 1) && written.length === start; start += step) {
      const more = await this.write([...reading.ids, ...written].slice(-this.bound.maxInput), options, start);
      [written, score] = [[...written, ...more.ids], score + more.score];
    }
    const ids = length === null ? written : written.slice(0, length);
    return { ids, text: this.after(reading.ids, ids), score, options, ...this.remarks(addDoubts(reading, ids)) };
  }

  async write(prompt, options, start) {
    if (!options.sampling) return (await this.search(prompt, options, 0))[0];
    const graph = await this.artefact.graph("sample", options.rules);
    const inputs = padded([prompt], this.source.pieces.length, 0);
    return hypotheses(await graph.run({ ...inputs, ...this.samplingInputs(options, start), ...this.ruleInputs(options) }))[0];
  }

  /** The inputs of the graph that samples, for the tokens from number `start` on. */
  samplingInputs({ sampling }, start = 0) {
    if (!sampling) return {};
    const { temperature = 1, topK = 0, topP = 1, seed = 0 } = sampling, steps = this.manifest.max_length;
    const one = (Type, value) => ({ dims: [1], data: Type.of(value) });
    return {
      uniforms: { dims: [1, 1, steps], data: uniforms([seed, 0, 0], start + steps).subarray(start) },
      temperature: one(Float32Array, temperature),
      top_k: one(Int32Array, topK),
      top_p: one(Float32Array, topP),
    };
  }

  /** What `ids` add to the text of a prompt. */
  after(prompt, ids) {
    const before = this.source.decode(prompt), whole = this.source.decode([...prompt, ...ids]);
    return characters(whole).slice(count(before)).join("");
  }
}

/** Predicts a label for each text. */
export class Classify extends Predictor {
  async run(text) {
    const reading = this.read(text);
    if (!isAnswered(reading)) return { ...NOTHING, ...this.remarks(reading) };
    const outputs = await this.ask(padded([reading.ids], this.source.pieces.length));
    return this.makeAnswer(outputs.probabilities.data, reading);
  }

  async ask(inputs) {
    const graph = await this.artefact.graph(this.manifest.kind);
    return graph.run(inputs);
  }

  /** The answer to what was read, and what is to be remarked of both. */
  makeAnswer(numbers, remarked) {
    const answer = this.label(numbers);
    return { ...answer, ...this.remarks(remarked, answer.probability ?? null, answer.rating ?? null) };
  }

  /** The label, and all labels with their probabilities, the most probable first. */
  label(probabilities) {
    const { labels, scope } = this.manifest;
    if (probabilities.length !== labels.length) {
      throw new Error(`${this.manifest.name} is damaged: it has ${labels.length} labels, and its graph ${probabilities.length}.`);
    }
    const order = ranked(probabilities), [best] = order;
    const inScope = !scope || probabilities[best] >= scope.threshold;
    const all = order.map((index) => ({ label: labels[index], probability: probabilities[index] }));
    const [text, probability] = inScope ? [labels[best], probabilities[best]] : [scope.label, 1 - probabilities[best]];
    return { ids: [best], text, probability, labels: all, inScope };
  }
}

const NOTHING = { ids: [], text: "", probability: 0, labels: [], inScope: true };

/** Predicts a label for each pair of texts, "first TAB second". A pair of blank texts has a blank label. */
export class Compare extends Classify {
  async run(text) {
    let sides;
    try {
      sides = pair(text, quote);
    } catch (error) {
      return { ...NOTHING, source: [], error: isBlank(text) ? null : error.message, warning: null };
    }
    const readings = sides.map((side) => this.read(side));
    const error = either(readings.map((each) => each.error));
    const warning = error ? null : either(readings.map((each) => each.warning));
    const remarked = { ids: readings.map((each) => each.ids), error, warning };
    if (error || !readings.some(isAnswered)) return { ...NOTHING, ...this.remarks(remarked) };
    const [first, second] = readings.map((each) => padded([each.ids], this.source.pieces.length));
    const inputs = { first_ids: first.token_ids, first_lengths: first.lengths };
    Object.assign(inputs, { second_ids: second.token_ids, second_lengths: second.lengths });
    return this.makeAnswer((await this.ask(inputs)).probabilities.data, remarked);
  }
}

/** Gives a number to each text, or pair of texts; a blank one has none. It is made of how both kinds of labels ask. */
export class Rate extends Compare {
  run(text) {
    const pairs = this.manifest.signatures.some(({ name, inputs }) => name === "rate" && inputs.length > 2);
    return pairs ? super.run(text) : Classify.prototype.run.call(this, text);
  }

  async ask(inputs) {
    const { rating } = await super.ask(inputs);
    return { probabilities: rating };
  }

  label([rating]) {
    return { ids: [], text: String(Number(rating.toPrecision(7))), rating };
  }
}

/** Predicts a tag for each word: that of the word's first piece. The gallery says how the manifest's rule cuts a text. */
export class Tag extends Classify {
  constructor(artefact) {
    super(artefact);
    this.steps = artefact.entry.words.map(([pattern, becomes]) => [new RegExp(pattern, "gu"), becomes]);
  }

  async run(text) {
    const reading = this.warnUnusual(this.bound.readWords(text, (word) => this.source.encodeWord(word), this.source, this.steps));
    if (!reading.places.length) return { ids: [], text: "", words: [], ...this.remarks(reading) };
    const { probabilities } = await this.ask(padded([reading.ids], this.source.pieces.length));
    const letters = characters(text), { labels } = this.manifest, size = probabilities.dims.at(-1);
    const rows = reading.first.map((at) => probabilities.data.subarray(at * size, (at + 1) * size));
    const ids = likeliest(rows, transitions(labels));
    const words = reading.places.map(([start, end], place) => {
      const row = rows[place], best = ids[place];
      const tags = ranked(row).map((index) => ({ label: labels[index], probability: row[index], index }));
      return { text: letters.slice(start, end).join(""), tag: labels[best], start, end, score: row[best], tags };
    });
    const least = Math.min(...words.map((word) => word.score));
    return { ids, text: words.map((word) => `${word.text}/${word.tag}`).join(" "), words, ...this.remarks(reading, least) };
  }
}

/** The places of numbers, the largest first; the earlier one among equals. */
export const ranked = (values) => Array.from(values.keys()).sort((one, other) => values[other] - values[one] || one - other);

/** `{ids, score}` of the one row of the outputs, the best first. Empty places, except for the first, are left out. */
function hypotheses({ output_ids: { dims, data }, output_lengths: lengths, scores }) {
  const [, beams, time] = dims, pairs = [];
  for (let rank = 0; rank < beams; rank += 1) {
    const score = scores.data[rank];
    if (rank && score <= EMPTY) continue;
    pairs.push({ ids: Array.from(data.subarray(rank * time, rank * time + lengths.data[rank])), score });
  }
  return pairs;
}

export const PREDICTORS = { generate: Generate, continue: Continue, classify: Classify, compare: Compare, tag: Tag, rate: Rate };

// How much of a text a model reads, and the errors and warnings about texts that it does not read as a whole.
// The same rules, word for word, as serving/runtime/reading.py.

import { joinWarnings, unknownWarning } from "./doubt.js";
import { characters, isBlank, unicodeError, withoutNul, words } from "./text.js";

export const DEFAULT = 1024; // tokens, where the artefact does not say how many it reads
const NOTHING = { before: [], after: [] };
const CHARACTERS = 16; // for each token: a text with more of them is not tokenised before it is refused or cut

/**
 * What is read of a text: `text`, `ids`, of which `around` stand around it, and `error` or `warning`; of words also their
 * `places` and `first` pieces.
 */
const reading = (more) => ({ text: "", ids: [], count: null, error: null, warning: null, places: [], first: [], around: 0, ...more });

export class Bound {
  /**
   * At most `maxInput` ids of a text; a longer one is refused, or its `side` ("first" or "last") is read. `unknown` is the
   * id of a piece that the tokenizer does not know.
   */
  constructor(maxInput = DEFAULT, overlong = "refuse", side = "first", unknown = 1) {
    Object.assign(this, { maxInput, overlong, side, unknown });
    this.maxCharacters = CHARACTERS * maxInput;
  }

  overlongError(count, unit) {
    return `${count} ${unit}, at most ${unit === "tokens" ? this.maxInput : this.maxCharacters}`;
  }

  cutWarning(countRead, count, unit) {
    return `only the ${this.side} ${countRead} tokens are read, of ${count} ${unit}`;
  }

  /** The reading of a text; `around` has the ids before and behind it. */
  read(text, encode, around = NOTHING) {
    const part = this.clip(text);
    return part.error ? part : this.warnUnknown(this.limit(part, encode(part.text), around));
  }

  /** As `read`, but each word, which `steps` tell apart (`words`), is encoded separately, and is read whole or not at all. */
  readWords(text, encode, around = NOTHING, steps = []) {
    const part = this.clip(text), letters = characters(part.text), places = words(part.text, steps);
    if (part.error || !places.length) return part;
    const pieces = places.map(([start, stop]) => encode(withoutNul(letters.slice(start, stop).join(""))));
    const first = [0];
    for (const each of pieces) first.push(first.at(-1) + each.length);
    const whole = pieces.flat(), { before, after } = around;
    const limited = this.limit(part, whole, around);
    if (limited.error) return limited;
    const numWords = first.slice(1).filter((reached) => reached + limited.around <= this.maxInput).length;
    const ids = [...before, ...whole.slice(0, first[numWords]), ...after];
    const [total, unit] = part.count === null ? [whole.length + limited.around, "tokens"] : [part.count, "characters"];
    const warning = limited.warning && this.cutWarning(ids.length, total, unit);
    const starts = first.slice(0, numWords).map((place) => before.length + place);
    return this.warnUnknown({ ...limited, ids, places: places.slice(0, numWords), first: starts, warning });
  }

  /** The reading, with a warning if the tokenizer does not know some of its pieces. */
  warnUnknown(read) {
    const count = read.ids.filter((id) => id === this.unknown).length;
    return count ? { ...read, warning: joinWarnings(read.warning, unknownWarning(count, read.ids.length - read.around)) } : read;
  }

  /** The part of a text that is tokenised: characters far beyond the bound are cut off first, to save work. */
  clip(text) {
    const error = unicodeError(text);
    if (error) return reading({ error });
    const letters = characters(text);
    if (letters.length <= this.maxCharacters) return reading({ text });
    const begin = letters.slice(0, this.maxCharacters).join("");
    if (this.side === "first" && isBlank(text)) return reading({ text: begin });
    if (this.overlong === "refuse") return reading({ error: this.overlongError(letters.length, "characters") });
    const part = this.side === "first" ? begin : letters.slice(-this.maxCharacters).join("");
    return reading({ text: part, count: letters.length });
  }

  /** The reading of a clipped text with these ids and those around them, cut to the bound. */
  limit(part, own, { before, after } = NOTHING) {
    const around = before.length + after.length, count = own.length + around, room = Math.max(0, this.maxInput - around);
    const [total, unit] = part.count === null ? [count, "tokens"] : [part.count, "characters"];
    if (count > this.maxInput && this.overlong === "refuse") return reading({ error: this.overlongError(total, unit) });
    const start = this.side === "first" ? 0 : Math.max(0, own.length - room);
    const ids = [...before, ...own.slice(start, start + room), ...after];
    if (ids.length === count && part.count === null) return { ...part, ids, around };
    return { ...part, ids, around, warning: this.cutWarning(ids.length, total, unit) };
  }
}

/** The bound of an artefact, by its manifest; a model of `prompts` goes on from their end. */
export function boundOf(manifest, unknown, prompts) {
  return new Bound(manifest.max_input, manifest.overlong, prompts ? "last" : "first", unknown);
}

/** Whether a text is to be answered: it is neither blank nor refused. */
export const isAnswered = (read) => read.ids.length > read.around && !isBlank(read.text);

const PLACES = ["first text: ", "second text: "];

/** `[first, second]` of "first TAB second"; throws an Error where there is not exactly one TAB. */
export function pair(text, quote) {
  const tabs = text.split("\t").length - 1;
  if (tabs !== 1) {
    throw new Error(
      `A pair is two texts with one TAB between them; received ${tabs} TABs in ` +
        `${quote(characters(text).slice(0, 80).join(""))}. Put one TAB between the first text and the second.`,
    );
  }
  return text.split("\t");
}

/** The error or warning of the first text, or else of the second, with the name of the text before it. */
export function either(messages) {
  const place = messages.findIndex(Boolean);
  return place < 0 ? null : PLACES[place] + messages[place];
}

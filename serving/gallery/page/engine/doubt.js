// Warnings about doubtful answers. The same rules, word for word, as serving/runtime/doubt.py and
// serving/runtime/usual.py.

import { count, isBlank } from "./text.js";

const TIMES = 3, LEAST = 5; // a circle is a sequence of pieces at least 3 times in a row, 5 pieces or more together

export const unknownWarning = (count, pieces) => `${count} of ${pieces} pieces of the text are unknown to the model`;

/** Several warnings as one; null if there is none. */
export const joinWarnings = (...warnings) => warnings.filter(Boolean).join("; ") || null;

const FEWEST = 8; // pieces that tell what a text is like
const NEARLY_ALL = "98.5 % of the validation"; // beyond the bounds that a manifest has under `usual`

/** The reading, with warnings if the text is unlike those that validated the model; `common` has log p of each piece. */
export function warnUnusual(reading, usual, common) {
  if (!usual || reading.error || isBlank(reading.text)) return reading;
  const pieces = reading.ids.length - reading.around, most = usual.pieces;
  const familiarity = reading.ids.reduce((sum, id) => sum + common[id], 0) / count(reading.text);
  const unlike = pieces >= FEWEST && (familiarity - usual.familiarity) * Math.sqrt(pieces) < -(usual.spread ?? 0)
    && `the text is unlike those that the model was validated on: its pieces are rarer than in ${NEARLY_ALL}`;
  const longer = most && pieces > most
    && `the text has ${pieces} pieces, more than the ${most} of the longest that the model was validated on`;
  return { ...reading, warning: joinWarnings(reading.warning, unlike, longer) };
}

/** The warning about an answer of less confidence than nearly all answers to the validation had; null of others. */
export function unsureWarning(confidence, usual) {
  if (confidence === null || !(confidence < usual?.confidence)) return null;
  return `the model is unsure: its confidence is ${confidence.toFixed(2)}, lower than in ${NEARLY_ALL}`;
}

/** The warning about a rating that is lower or higher than all of the validation's; null of others. */
export function beyondWarning(rating, usual) {
  if (rating === null || !usual?.ratings) return null;
  const [low, high] = usual.ratings, shown = (number) => Number(number.toPrecision(4));
  if (low <= rating && rating <= high) return null;
  return `the rating is ${shown(rating)}, beyond the ${shown(low)} to ${shown(high)} of the validation`;
}

/** The reading with the warnings about its answer: the ids `written`, `most` of them at most, or null. */
export function addDoubts(reading, written, most = null) {
  const size = circleSize(written);
  const circles = size && `the answer goes in circles: its pieces repeat with a period of ${size}`;
  const bounded = most !== null && written.length >= most && `the answer ends at the bound of ${most} pieces`;
  return { ...reading, warning: joinWarnings(reading.warning, circles, bounded) };
}

/** The smallest number of pieces that follow each other again and again somewhere in `ids`, or null. */
function circleSize(ids) {
  for (let size = 1; size <= Math.floor(ids.length / TIMES); size += 1) {
    const needed = Math.max(TIMES * size, LEAST) - size;
    for (let place = size, run = 0; place < ids.length; place += 1) {
      run = ids[place] === ids[place - size] ? run + 1 : 0;
      if (run === needed) return size;
    }
  }
  return null;
}

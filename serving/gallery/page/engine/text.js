// Texts as Python sees them: a string is its characters (code points), not UTF-16 units.

const SPACES = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // the property White_Space
const BLANK = new RegExp(`^[${SPACES}]*$`);
const WORD = new RegExp(`[^${SPACES}]+`, "gu");

export const characters = (text) => Array.from(text);
export const count = (text) => { let size = 0; for (const _ of text) size += 1; return size; };
export const isBlank = (text) => BLANK.test(text);

/**
 * `[start, end]` of each word, in characters; the end is exclusive. `steps` are the replacements of a rule, pairs of a
 * RegExp and what it becomes, that put spaces between words (zoo/text/words.py); without any, words are what white space
 * separates.
 */
export function words(text, steps = []) {
  return steps.length ? splitByRule(text, steps) : splitBySpace(text);
}

function splitByRule(text, steps) {
  const places = Array.from(characters(text).entries()).filter(([, letter]) => !isBlank(letter)).map(([place]) => place);
  const line = steps.reduce((line, [pattern, becomes]) => line.replace(pattern, becomes), text);
  let done = 0;
  return line.split(" ").filter(Boolean).map((word) => {
    const start = places[done];
    done += count(word);
    return [start, places[done - 1] + 1];
  });
}

function splitBySpace(text) {
  const places = [];
  let unit = 0, character = 0; // the same place, counted in both ways
  for (const match of text.matchAll(WORD)) {
    const start = character + count(text.slice(unit, match.index));
    const end = start + count(match[0]);
    places.push([start, end]);
    [unit, character] = [match.index + match[0].length, end];
  }
  return places;
}

/** A text with NUL replaced by another control character, because NUL ends a text in TensorFlow's splitter. */
export const withoutNul = (text) => text.replaceAll("\0", "\x01");

/** Why a string cannot be encoded as UTF-8, or null if it can. */
export function unicodeError(text) {
  let place = 0;
  for (const character of text) {
    place += 1;
    const code = character.codePointAt(0);
    if (code < 0xd800 || code > 0xdfff) continue;
    const byte = code >= 0xdc80 && code <= 0xdcff; // Python's way to keep a byte that is not UTF-8
    const digits = (byte ? code - 0xdc00 : code).toString(16);
    const what = byte ? `the byte 0x${digits}` : `the lone surrogate U+${digits.toUpperCase()}`;
    return `not UTF-8: ${what} at character ${place}`;
  }
  return null;
}

/** A text between quotation marks, with what cannot be seen written as numbers: Python's `repr`. */
export function quote(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const names = { "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\", [mark]: `\\${mark}` };
  const signs = characters(text).map((each) => {
    if (each in names) return names[each];
    if (each === " " || !/[\p{C}\p{Z}]/u.test(each)) return each;
    const code = each.codePointAt(0), digits = code.toString(16);
    if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  });
  return mark + signs.join("") + mark;
}

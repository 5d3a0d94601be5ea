/** Finds names that are one letter away from another name. */
import { below, invalid } from './refusal.js';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz_'];

/** One letter inserted anywhere. */
export const inserted = (name: string): string[] =>
  letterwise(name, (head, tail) => LETTERS.map((l) => head + l + tail));

/** One letter doubled. */
export const doubled = (name: string): string[] =>
  letterwise(name, (head, tail) => (tail === '' ? [] : [head + tail[0] + tail]));

/** Two neighbouring letters swapped. */
export const swapped = (name: string): string[] =>
  letterwise(name, (head, tail) => (tail.length < 2 ? [] : [head + tail[1] + tail[0] + tail.slice(2)]));

/** One letter left out. */
const shortened = (name: string): string[] =>
  letterwise(name, (head, tail) => (tail === '' ? [] : [head + tail.slice(1)]));

/** One letter in place of another. */
const altered = (name: string): string[] =>
  letterwise(name, (head, tail) => (tail === '' ? [] : LETTERS.map((l) => head + l + tail.slice(1))));

/** All names that are one letter off. The name itself may be among them. */
export const oneLetterOff = (name: string): string[] =>
  [inserted, shortened, altered, swapped].flatMap((slips) => slips(name));

/** Applies `slips` to each division of the name into a head and a tail. */
const letterwise = (name: string, slips: (head: string, tail: string) => string[]): string[] =>
  Array.from({ length: name.length + 1 }, (_, i) => slips(name.slice(0, i), name.slice(i))).flat();

/** A longer key is not a misspelt name. */
const MISSPELT_CHARS = 64;

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');

/** Checks the keys of a request; `path` names their object. Throws `validation_error`. */
export type Spelling = (keys: readonly string[], path: string) => void;

/**
 * Refuses a request that lacks an optional field but has it misspelt by one letter or in another case. For fields whose loss
 * does harm, such as the collection that a record is deleted from. `others`: names of the field in other systems.
 */
export function spellingOf(field: string, others: readonly string[] = []): Spelling {
  const slips = new Set([plain(field), ...oneLetterOff(plain(field)), ...others]);
  return (keys, path) => {
    if (keys.includes(field)) return;
    const misspelt = keys.find((key) => key.length <= MISSPELT_CHARS && slips.has(plain(key)));
    if (misspelt !== undefined) throw invalid(`${below(path, misspelt)} is unknown: did you mean ${field}?`);
  };
}

export function spellingsOf(...fields: readonly string[]): Spelling {
  const spellings = fields.map((field) => spellingOf(field));
  return (keys, path) => {
    for (const spelling of spellings) spelling(keys, path);
  };
}

/** Refuses fields that another endpoint takes, whose loss does harm. */
export const belongsElsewhere =
  (fields: readonly string[], where: string): Spelling =>
  (keys, path) => {
    const misplaced = keys.find((key) => fields.includes(key));
    if (misplaced !== undefined) throw invalid(`${below(path, misplaced)} is unknown here: ${where} takes it`);
  };

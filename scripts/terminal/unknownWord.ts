import { meantBy } from '../../coordinator/contract/spelling.js';

/** Names a word that a command does not know, with the nearest known one, or with all of them. */
export function unknownWord(kind: string, word: string, known: readonly string[]): string {
  const meant = meantBy(word, known);
  const hint = meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`;
  return `there is no ${kind} ${JSON.stringify(word)}: ${hint}`;
}

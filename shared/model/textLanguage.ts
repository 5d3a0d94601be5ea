/** The language of a collection's texts, in which words are found by their stems. */

/** The languages: the only list of them. The types of the API and of the client, and the stemmers, read it. */
export const LANGUAGES = [
  'arabic',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hungarian',
  'italian',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
] as const;
export type Language = (typeof LANGUAGES)[number];

/** The version of the stemmers and stop words. A version never changes what it finds. */
export const LANGUAGE_VERSION = 1;

/** How the words of a collection's texts become terms. */
export interface TextSettings {
  readonly language: Language;
  readonly version: typeof LANGUAGE_VERSION;
}

const KNOWN: ReadonlySet<string> = new Set(LANGUAGES);

export const isLanguage = (name: string): name is Language => KNOWN.has(name);

export const isSameText = (one: TextSettings | undefined, other: TextSettings | undefined): boolean =>
  one?.language === other?.language && one?.version === other?.version;

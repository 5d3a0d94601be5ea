/** The languages of texts, by their names in the API. */
import type { ListedCollection } from '../../coordinator/contract/collections.js';

export type Language = NonNullable<ListedCollection['text']>['language'];

export const LANGUAGES: Readonly<Record<Language, string>> = {
  arabic: 'Arabic',
  danish: 'Danish',
  dutch: 'Dutch',
  english: 'English',
  finnish: 'Finnish',
  french: 'French',
  german: 'German',
  greek: 'Greek',
  hungarian: 'Hungarian',
  italian: 'Italian',
  norwegian: 'Norwegian',
  portuguese: 'Portuguese',
  romanian: 'Romanian',
  russian: 'Russian',
  spanish: 'Spanish',
  swedish: 'Swedish',
  tamil: 'Tamil',
  turkish: 'Turkish',
};

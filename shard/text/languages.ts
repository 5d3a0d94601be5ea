/**
 * The stemmers and stop words of languages: those of Snowball, as the packages of Orama have them (English: Porter's first stemmer).
 * Their versions are fixed with `LANGUAGE_VERSION`: stored collections must find what they found.
 */
import { stemmer as arabic } from '@orama/stemmers/arabic';
import { stemmer as danish } from '@orama/stemmers/danish';
import { stemmer as dutch } from '@orama/stemmers/dutch';
import { stemmer as english } from '@orama/stemmers/english';
import { stemmer as finnish } from '@orama/stemmers/finnish';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as german } from '@orama/stemmers/german';
import { stemmer as greek } from '@orama/stemmers/greek';
import { stemmer as hungarian } from '@orama/stemmers/hungarian';
import { stemmer as italian } from '@orama/stemmers/italian';
import { stemmer as norwegian } from '@orama/stemmers/norwegian';
import { stemmer as portuguese } from '@orama/stemmers/portuguese';
import { stemmer as romanian } from '@orama/stemmers/romanian';
import { stemmer as russian } from '@orama/stemmers/russian';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { stemmer as swedish } from '@orama/stemmers/swedish';
import { stemmer as tamil } from '@orama/stemmers/tamil';
import { stemmer as turkish } from '@orama/stemmers/turkish';
import { stopwords as danishStopWords } from '@orama/stopwords/danish';
import { stopwords as dutchStopWords } from '@orama/stopwords/dutch';
import { stopwords as englishStopWords } from '@orama/stopwords/english';
import { stopwords as finnishStopWords } from '@orama/stopwords/finnish';
import { stopwords as frenchStopWords } from '@orama/stopwords/french';
import { stopwords as germanStopWords } from '@orama/stopwords/german';
import { stopwords as greekStopWords } from '@orama/stopwords/greek';
import { stopwords as italianStopWords } from '@orama/stopwords/italian';
import { stopwords as norwegianStopWords } from '@orama/stopwords/norwegian';
import { stopwords as portugueseStopWords } from '@orama/stopwords/portuguese';
import { stopwords as romanianStopWords } from '@orama/stopwords/romanian';
import { stopwords as russianStopWords } from '@orama/stopwords/russian';
import { stopwords as swedishStopWords } from '@orama/stopwords/swedish';
import { stopwords as tamilStopWords } from '@orama/stopwords/tamil';
import { stopwords as turkishStopWords } from '@orama/stopwords/turkish';
import type { Language } from '../../shared/model/textLanguage.js';

interface LanguageRules {
  /** Returns the stem of a word in small letters. */
  readonly stem: (word: string) => string;
  /** Words that are not indexed. */
  readonly stopWords: readonly string[];
}

/** Lists of stop words that hold hundreds of nouns and verbs are left out. */
export const LANGUAGE_RULES: Readonly<Record<Language, LanguageRules>> = {
  arabic: { stem: arabic, stopWords: [] },
  danish: { stem: danish, stopWords: danishStopWords },
  dutch: { stem: dutch, stopWords: dutchStopWords },
  // The list of the package lacks this word.
  english: { stem: english, stopWords: ['a', ...englishStopWords] },
  finnish: { stem: finnish, stopWords: finnishStopWords },
  french: { stem: french, stopWords: frenchStopWords },
  german: { stem: german, stopWords: germanStopWords },
  greek: { stem: greek, stopWords: greekStopWords },
  hungarian: { stem: hungarian, stopWords: [] },
  italian: { stem: italian, stopWords: italianStopWords },
  norwegian: { stem: norwegian, stopWords: norwegianStopWords },
  portuguese: { stem: portuguese, stopWords: portugueseStopWords },
  romanian: { stem: romanian, stopWords: romanianStopWords },
  russian: { stem: russian, stopWords: russianStopWords },
  spanish: { stem: spanish, stopWords: [] },
  swedish: { stem: swedish, stopWords: swedishStopWords },
  tamil: { stem: tamil, stopWords: tamilStopWords },
  turkish: { stem: turkish, stopWords: turkishStopWords },
};

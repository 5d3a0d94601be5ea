// Covers: shard/text/analyser.ts, shard/text/languages.ts, shared/model/textLanguage.ts
import { expect } from 'chai';
import { analyserOf, PLAIN } from '../../../../shard/text/analyser.js';
import { LANGUAGE_RULES } from '../../../../shard/text/languages.js';
import { hash, toHex } from '../../../../shared/hashing/hash.js';
import { LANGUAGE_VERSION, LANGUAGES, type Language } from '../../../../shared/model/textLanguage.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const inLanguage = (language: Language) => analyserOf({ language, version: LANGUAGE_VERSION });

/** Letters, the alphabets of all languages and marks among them. */
const ALPHABETS = [
  'abcdefghijklmnopqrstuvwxyz0123456789',
  'aeiouyàâäáãåæçéèêëíîïñóôöõøœßúùûüğışőű',
  'абвгдежзийклмнопрстуфхцчшщъыьэюя',
  'αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋ',
  'ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيَُِّ',
  'அஆஇஈஉஊஎஏஐஒஓகஙசஞடணதநபமயரலவழளறனாிீுூெேைொோௌ்',
];
const ENDINGS = ['ing', 'ations', 'ement', 'ungen', 'issime', 'ости', 'ностями', 'ότητα', 'ات', 'ங்கள்', 'larımızdan'];

/** The hash of the terms of 20,000 words, and of the stop words, of version 1. */
const PINNED = '1b6329aae7ca26d6ae9c9d5afd9f8d077f63d40c7a7f2bb1eff66e2eb966d6cc';

function* words(seed: number, count: number): Generator<string> {
  const random = seededRandom(seed);
  for (let i = 0; i < count; i++) {
    const letters = [...random.pick(ALPHABETS)];
    const length = 1 + random.int(random.pick([4, 12, 70]));
    const stem = Array.from({ length }, () => random.pick(letters)).join('');
    yield random.int(2) === 0 ? stem : stem + random.pick(ENDINGS);
  }
}

describe('Analyser', () => {
  it('has the words themselves as terms without a language', () => {
    expect(analyserOf(undefined)).to.equal(PLAIN);
    expect(PLAIN.termsOf('The running Dogs')).to.deep.equal(['the', 'running', 'dogs']);
  });

  for (const [language, text, terms] of [
    ['english', 'The runners were running to the Policies of the nations', ['runner', 'run', 'polici', 'nation']],
    ['german', 'Die Häuser und ihre Bücher', ['haus', 'buch']],
    ['french', 'Les chevaux du roi, majestueusement', ['cheval', 'roi', 'majestu']],
    ['russian', 'важнейшими книги', ['важн', 'книг']],
    ['greek', 'ανθρώπων', ['ανθρωπ']],
    ['spanish', 'Los trabajos y los valores', ['los', 'trabaj', 'y', 'los', 'valor']],
  ] as const)
    it(`finds the stems of a text in ${language}`, () => {
      expect(inLanguage(language).termsOf(text)).to.deep.equal(terms);
    });

  it('keeps a word of more than 64 characters as it is', () => {
    const english = inLanguage('english');
    const long = 'a'.repeat(63);
    expect(english.termsOf(`${long}s`)).to.deep.equal([long]);
    expect(english.termsOf(`${long}as`)).to.deep.equal([`${long}as`]);
  });

  it('gives a word one stem, whatever words were stemmed before it', () => {
    const seed = testSeed();
    for (const language of LANGUAGES) {
      const { stem } = LANGUAGE_RULES[language];
      const some = [...words(seed, 400)];
      const stems = some.map(stem);
      expect(some.toReversed().map(stem).toReversed(), `${language}, seed ${seed}`).to.deep.equal(stems);
      expect(inLanguage(language).termsOf(some.join(' ')), language).to.have.length.above(0);
    }
  });

  it('yields after every few words, and gives the terms of the whole text', () => {
    const text = [...words(5, 2_000)].join(' ');
    for (const language of LANGUAGES) {
      const steps = inLanguage(language).inSteps(text);
      let count = 0;
      let step = steps.next();
      for (; !step.done; step = steps.next()) count++;
      expect(count, language).to.be.above(text.length / 400);
      expect(step.value).to.deep.equal(inLanguage(language).termsOf(text));
    }
  });

  it('finds in version 1 what version 1 has always found', () => {
    const text = [...words(1, 20_000)].join(' ');
    const found = LANGUAGES.map((language) => {
      const { stopWords } = LANGUAGE_RULES[language];
      return [language, ...inLanguage(language).termsOf(text), ...stopWords].join(' ');
    });
    const advice = 'other terms: give them another LANGUAGE_VERSION, and keep the packages of this one beside theirs';
    expect(toHex(hash(Buffer.from(found.join('\n')))), advice).to.equal(PINNED);
  });
});

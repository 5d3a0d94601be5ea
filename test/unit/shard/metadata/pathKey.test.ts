import { expect } from 'chai';
import { keyBelow, pathKey } from '../../../../shard/metadata/pathKey.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const CHARS_MAX = 256;

describe('the key of a path', () => {
  const random = seededRandom(testSeed());

  it('is equal for every division of the path into keys', () => {
    for (let round = 0; round < 2_000; round++) {
      const lengths = Array.from({ length: 1 + random.int(8) }, () => random.pick([0, 1, 2, 60, 250, 260, 1_000]));
      const parts = lengths.map((length) => random.pick(['a', '7', '\0', '\u0001', '日']).repeat(length));
      let key: string | undefined;
      for (let at = 0; at < parts.length; ) {
        const taken = 1 + random.int(3);
        key = keyBelow(key, parts.slice(at, at + taken).join('.'));
        at += taken;
      }
      expect(key).to.equal(pathKey(parts.join('.')));
      expect(key!.length).to.be.at.most(CHARS_MAX);
    }
  });

  it('differs between paths, also for a path written like the key of a long path', () => {
    const long = 'k'.repeat(1_000);
    const paths = [
      '',
      '.',
      'a',
      'a.',
      '.a',
      '1',
      '1.1',
      '\0',
      '\u0001',
      '\u00011',
      long,
      `${long}.`,
      `${long}k`,
      `${long}.k`,
    ];
    const more = [...paths, ...paths.map(pathKey)].filter((path, at, all) => all.indexOf(path) === at);
    const keys = more.map(pathKey);
    expect(new Set(keys).size).to.equal(more.length);
    expect(keys.filter((key) => /^\d+$/.test(key))).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { isQuarantined, type OpeningFailure, withFailure } from '../../../../shared/registry/openings.js';

/** `b`, `e`, `s`: blocked, ended, stalled; in capitals: alone. */
const failures = (letters: string, apartMs = 1): OpeningFailure[] =>
  [...letters].map((letter, i) => ({
    opening: `a.${i}`,
    shard: 's1',
    how: { b: 'blocked', e: 'ended', s: 'stalled' }[letter.toLowerCase()] as OpeningFailure['how'],
    alone: letter !== letter.toLowerCase(),
    at_ms: i * apartMs,
  }));

describe('a collection whose openings have failed', () => {
  const quarantined: [string, string][] = [
    ['sS', 'a shard saw itself stall twice'],
    ['ss', 'a shard saw itself stall twice, though others were opened beside it'],
    ['bB', 'two shards are silent, the second of which opened it alone'],
    ['bS', 'one shard is silent, and another saw itself stall'],
    ['eEE', 'three processes ended, the last two of which opened it alone'],
    ['bEE', 'one shard is silent, and two processes ended that opened it alone'],
  ];
  for (const [letters, why] of quarantined)
    it(`is quarantined where ${why}`, () => {
      expect(isQuarantined(failures(letters))).to.equal(true);
      expect(isQuarantined(failures(letters.slice(0, -1)))).to.equal(false);
    });

  it('is opened again where processes ended shortly after one another, however many', () => {
    const counted = (letters: string, apartMs: number) =>
      failures(letters, apartMs).reduce(withFailure, [] as readonly OpeningFailure[]);
    expect(isQuarantined(counted('eEEEEEEEEE', 1_000))).to.equal(false);
    expect(isQuarantined(counted('eEE', 59_999))).to.equal(false);
    expect(isQuarantined(counted('eEE', 60_000))).to.equal(true);
    expect(isQuarantined(counted(`e${'E'.repeat(20)}`, 10_000))).to.equal(true);
  });

  const suspect: [string, string][] = [
    ['', 'none has'],
    ['eE', 'somebody ended the process twice in a row'],
    ['bE', 'somebody ended the process after a shard was silent'],
    ['bbbb', 'many shards were silent that opened others beside it'],
    ['eeee', 'many processes ended that opened others beside it'],
  ];
  for (const [letters, why] of suspect)
    it(`is opened again where ${why}`, () => {
      expect(isQuarantined(failures(letters))).to.equal(false);
    });
});

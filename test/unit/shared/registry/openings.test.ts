import { expect } from 'chai';
import { isQuarantined, type OpeningFailure, withFailure } from '../../../../shared/registry/openings.js';

/**
 * Failures by letter: `b`, `e`, `s` are blocked, ended, stalled; a capital means opened alone. A digit before it is the
 * step in which the process ended.
 */
const failures = (letters: string): OpeningFailure[] =>
  [...letters.matchAll(/(\d?)([a-z])/gi)].map(([, step, letter], i) => ({
    opening: `a.${i}`,
    shard: 's1',
    how: { b: 'blocked', e: 'ended', s: 'stalled' }[letter!.toLowerCase()] as OpeningFailure['how'],
    alone: letter !== letter!.toLowerCase(),
    at_ms: i,
    ...(step !== '' && { step: `event ${step}` }),
  }));

describe('a collection with failed openings', () => {
  const quarantined: [string, string][] = [
    ['sS', 'a shard saw itself stall twice'],
    ['ss', 'a shard saw itself stall twice, though others were opened beside it'],
    ['bB', 'two shards are silent, the second of which opened it alone'],
    ['b5B', 'two shards are silent, the second of which ended in a step'],
    ['5B5B', 'two shards were silent and ended in the same step'],
    ['bS', 'one shard is silent, and another saw itself stall'],
    ['5E5E5E', 'three processes ended in the same step'],
    ['e5E5E5E', 'three processes ended in the same step after one that opened others beside it'],
    ['4E5E4E4E4E', 'the last three processes ended in the same step'],
    ['b5E5E', 'one shard is silent, and two processes ended in the same step'],
  ];
  for (const [letters, why] of quarantined)
    it(`is quarantined if ${why}`, () => {
      expect(isQuarantined(failures(letters))).to.equal(true);
      expect(isQuarantined(failures(letters.replace(/\d?.$/, '')))).to.equal(false);
    });

  const suspect: [string, string][] = [
    ['', 'none has'],
    ['E'.repeat(8), 'processes ended between two steps, however many'],
    ['5E5E', 'two processes ended in the same step'],
    ['4E4E5E4E4E5E', 'processes ended in different steps, however many'],
    ['4B5B', 'two shards were silent and ended in different steps'],
    ['b5E4E', 'a shard was silent, and two processes ended in different steps'],
    ['bE', 'an operator ended the process after a shard was silent'],
    ['bbbb', 'many shards were silent that opened others beside it'],
    ['eeee', 'many processes ended that opened others beside it'],
  ];
  for (const [letters, why] of suspect)
    it(`is opened again if ${why}`, () => {
      expect(isQuarantined(failures(letters))).to.equal(false);
    });

  describe('after another failure', () => {
    const [blocked, ended, inStep, stalled] = failures('Be5EsB') as [
      OpeningFailure,
      OpeningFailure,
      OpeningFailure,
      OpeningFailure,
    ];

    it('ignores a process that ended between two steps if there is another failure', () => {
      expect(withFailure([], ended)).to.deep.equal([ended]);
      expect(withFailure([blocked], ended)).to.deep.equal([blocked]);
      expect(withFailure([blocked], inStep)).to.deep.equal([blocked, inStep]);
    });

    it("adds the step in which a process ended to another shard's report of the same opening", () => {
      const { opening } = inStep;
      expect(withFailure([{ ...blocked, opening }], inStep)).to.deep.equal([{ ...blocked, opening, step: 'event 5' }]);
      expect(withFailure([inStep], { ...blocked, opening })).to.deep.equal([inStep]);
    });

    it("replaces another shard's report by the process's own report of the same opening", () => {
      const { opening } = blocked;
      expect(withFailure([blocked], { ...stalled, opening })).to.deep.equal([{ ...stalled, opening }]);
    });

    it('keeps the newest eight failures', () => {
      const many = failures('1E'.repeat(20)).reduce(withFailure, [] as readonly OpeningFailure[]);
      expect(many.map(({ opening }) => opening)).to.deep.equal(Array.from({ length: 8 }, (_, i) => `a.${12 + i}`));
    });
  });
});

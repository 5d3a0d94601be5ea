import { expect } from 'chai';
import { isoBounds, isoInstant } from '../../../../shared/model/isoDate.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('a date or time of ISO 8601 in metadata', () => {
  it('is an instant in UTC, whatever its zone, its fraction and the case of its letters', () => {
    for (const [text, instant] of [
      ['2026-01-31', '2026-01-31T00:00:00.'],
      ['2026-01-31T14:05', '2026-01-31T14:05:00.'],
      ['2026-01-31T14:05:06', '2026-01-31T14:05:06.'],
      ['2026-01-31T14:05:06.100', '2026-01-31T14:05:06.1'],
      ['2026-01-31t14:05:06.123456789z', '2026-01-31T14:05:06.123456789'],
      ['2026-01-31T00:30+02', '2026-01-30T22:30:00.'],
      ['2026-01-31T00:30+0230', '2026-01-30T22:00:00.'],
      ['2025-12-31T23:59:59-00:01', '2026-01-01T00:00:59.'],
      ['0000-01-01T00:00Z', '0000-01-01T00:00:00.'],
    ] as const)
      expect(isoInstant(text), text).to.equal(instant);
  });

  it('is neither another string, nor a missing day, nor beyond the years 0 to 9999', () => {
    for (const text of [
      ...['', '2026', '2026-01', '20260131', '2026-1-31', '2026-02-30', '2026-13-01', '2026-00-10', '2026-01-31 '],
      ...['2026-01-31 14:05', '2026-01-31T24:00', '2026-01-31T14', '2026-01-31T14:60', '2026-01-31T14:05:60'],
      ...['2026-01-31T14:05.5', '2026-01-31T14:05:06.', '2026-01-31T14:05:06.1234567890', '2026-01-31Z'],
      ...['0000-01-01T00:00+00:01', '9999-12-31T23:59-00:01', '+02026-01-31', 'a date of 2026'],
    ])
      expect(isoInstant(text), text).to.equal(undefined);
  });

  it('lies between bounds that also hold for how it is written', () => {
    const random = seededRandom(testSeed());
    const two = (n: number): string => String(n).padStart(2, '0');
    const drawn = (): string => {
      const date = random.pick(['2026-01-31', '2026-02-01', '2026-02-02', '2026-02-04', '0000-01-02', '9999-12-30']);
      const zone = random.pick(['', 'Z', `${random.pick(['+', '-'])}${two(random.int(24))}:${two(random.int(60))}`]);
      return random.int(4) === 0 ? date : `${date}T${two(random.int(24))}:${two(random.int(60))}${zone}`;
    };
    for (let round = 0; round < 5_000; round++) {
      const [text, other] = [drawn(), drawn()];
      const [instant, otherInstant] = [isoInstant(text), isoInstant(other)];
      if (instant === undefined) continue;
      const { from, to } = isoBounds(instant);
      expect(from <= text && text < to, `${from} ${text} ${to}`).to.equal(true);
      const order = otherInstant ?? other;
      const than = otherInstant === undefined ? text : instant;
      if (other <= from) expect(order < than, `${other} ${text}`).to.equal(true);
      if (other >= to) expect(order > than, `${other} ${text}`).to.equal(true);
    }
  });
});

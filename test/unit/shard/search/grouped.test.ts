// Covers: shard/state/decayTimes.ts
import { expect } from 'chai';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { SlotValues } from '../../../../shard/metadata/slotValues.js';
import { ageFactor, ageSecs } from '../../../../shard/search/decay.js';
import { type GroupedFound, groupedSearch } from '../../../../shard/search/grouped.js';
import { InsertionTimes } from '../../../../shard/state/decayTimes.js';
import { systemClock } from '../../../../shared/clock.js';
import type { Decay } from '../../../../shared/protocol/calls.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { compareScalars, type Scalar } from '../../../support/model/values.js';
import { bytesOf, component } from '../kernel/kernelOracle.js';

const NOW_MS = 1_800_000_000_000;
const UNIT = 65_536;

interface Member {
  readonly id: number;
  readonly score: number;
  readonly weighted: number;
  readonly values: readonly Scalar[];
}

describe('a search in groups', () => {
  const random = seededRandom(testSeed());

  /** A collection with so many groups that some are dropped and return. */
  const collection = (rows: number, groups: number) => {
    const vectors = new VectorBlocks(new VectorMemory(), 3);
    const insertions = new InsertionTimes(vectors.shape);
    const values = new SlotValues();
    const stored = new SlotSet(vectors.shape);
    const kept: { id: number; vector: Int32Array; insertedMs: number; values: Scalar[] }[] = [];
    for (let i = 0; i < rows; i++) {
      const id = i + 1;
      const vector = Int32Array.from({ length: 3 }, () => UNIT * component(random, 40));
      const slot = vectors.acquire();
      vectors.write(slot, id, bytesOf(vector));
      const insertedMs = NOW_MS - random.int(20) * 1_000;
      insertions.set(slot, insertedMs);
      vectors.publish(slot);
      const own: Scalar[] = [
        ...new Set([random.int(groups), ...(random.int(4) === 0 ? [`s${random.int(groups)}`] : [])]),
      ];
      for (const value of own) values.add(slot, values.ordinalOf(value));
      if (random.int(10) > 0) {
        stored.add(slot);
        kept.push({ id, vector, insertedMs, values: own });
      }
    }
    return { vectors, insertions, values, stored, kept };
  };

  for (const [rows, groups] of [
    [500, 7],
    [6_000, 3_000],
  ] as const)
    it(`equals a plain loop over ${rows} rows in about ${groups} groups`, async () => {
      const { vectors, insertions, values, stored, kept } = collection(rows, groups);
      for (let round = 0; round < 20; round++) {
        const query = Int32Array.from({ length: 3 }, () => UNIT * component(random, 40));
        const [k, size] = [random.pick([1, 3, 50, 5_000]), random.pick([1, 2, 5])];
        const decay: Decay | undefined = random.int(2) === 0 ? undefined : { nowMs: NOW_MS, halfLifeSecs: 4 };
        const scoreMost = random.int(3) === 0 ? 400 : undefined;
        const asked = { query, k, size, decay, scoreMost };
        const parts = { vectors, insertions, values, rows: stored };
        const found = await groupedSearch(parts, asked, new Slice(systemClock));
        const members = kept.map(({ id, vector, insertedMs, values: own }): Member => {
          const score = vector.reduce((sum, value, i) => sum + ((value - query[i]!) / UNIT) ** 2, 0);
          const factor = decay === undefined ? 1 : ageFactor(ageSecs(decay.nowMs, insertedMs), decay.halfLifeSecs);
          return { id, score, weighted: score / factor, values: own };
        });
        const expected = groupedByLoop(members, k, size, scoreMost ?? Infinity);
        expect(shownOf(found, values), JSON.stringify({ ...asked, query: [...query] })).to.deep.equal(expected);
        expect(found.found.aged === undefined).to.equal(decay === undefined);
      }
      vectors.destroy();
    });

  it('looks at few values in each turn, although each row has thousands', async () => {
    const [rows, values, distinct] = [120, 3_000, 9_000];
    const { vectors, insertions, stored } = collection(rows, 1);
    const visited = new VisitedValues();
    const members = [...stored].map((slot): Member => {
      const first = random.int(distinct);
      const own = Array.from({ length: values }, (_, i) => (first + i) % distinct);
      for (const value of own) visited.add(slot, visited.ordinalOf(value));
      const score =
        UNIT ** -2 * new Int32Array(vectors.vectorBytes(slot).slice().buffer).reduce((sum, one) => sum + one ** 2, 0);
      return { id: vectors.idOf(slot), score, weighted: score, values: own };
    });
    let ms = 0;
    const slice = new Slice({ nowMs: () => visited.turn(), monotonicMs: () => (ms += 10) });
    const asked = { query: new Int32Array(3), k: 50, size: 2, decay: undefined, scoreMost: undefined };
    const found = await groupedSearch({ vectors, insertions, values: visited, rows: stored }, asked, slice);
    expect(shownOf(found, visited)).to.deep.equal(groupedByLoop(members, 50, 2, Infinity));
    expect(visited.most).to.be.at.most(4_096 + 2 * values);
    vectors.destroy();
  });
});

/** Counts the values that are looked at in each turn of the event loop. */
class VisitedValues extends SlotValues {
  most = 0;
  #inTurn = 0;

  override forEach(slot: number, visit: (ordinal: number) => void): void {
    this.#inTurn += this.countAt(slot);
    this.most = Math.max(this.most, this.#inTurn);
    super.forEach(slot, visit);
  }

  turn(): number {
    this.#inTurn = 0;
    return 0;
  }
}

const shownOf = ({ found, groups, of }: GroupedFound, values: SlotValues): unknown[] =>
  [...found.ids].map((id, i) => [id, found.scores[i], values.value(groups.ordinals[of[i]!]!)]);

function groupedByLoop(members: readonly Member[], k: number, size: number, most: number): unknown[] {
  const groups = new Map<Scalar, Member[]>();
  const near = members.filter(({ score }) => score <= most);
  for (const member of near.sort((a, b) => a.weighted - b.weighted || a.score - b.score || a.id - b.id))
    for (const value of [...member.values].sort(compareScalars))
      groups.set(value, [...(groups.get(value) ?? []), member]);
  return [...groups]
    .slice(0, k)
    .flatMap(([value, its]) => its.slice(0, size).map(({ id, score }) => [id, score, value]));
}

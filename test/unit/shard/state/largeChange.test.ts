// Covers: shard/state/collectionState.ts, shard/state/largeChange.ts, shard/state/journal.ts
/** Events with large records, applied in steps, compared with states to which they are applied at once. */
import { expect } from 'chai';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { CollectionState } from '../../../../shard/state/collectionState.js';
import { systemClock } from '../../../../shared/clock.js';
import type { Event } from '../../../../shared/log/event.js';
import type { Filter } from '../../../../shared/model/filter.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { configOf } from '../../../support/rigs/engine.js';

const CONFIG = configOf(1);
const WORDS = 3_000;

const newState = (): CollectionState =>
  new CollectionState(CONFIG, new VectorBlocks(new VectorMemory(), CONFIG.dimension), 10);

/** Metadata of many keys, and a text of many words, some of them in every record. */
const metadataOf = (mark: string): Buffer =>
  Buffer.from(
    JSON.stringify(Object.fromEntries(Array.from({ length: WORDS }, (_, i) => [`k${i % 2 ? i : mark + i}`, i]))),
  );
const textOf = (mark: string): Buffer =>
  Buffer.from(Array.from({ length: WORDS }, (_, i) => (i % 2 ? `w${i}` : `${mark}${i}`)).join(' '));

function eventsOf(): Event[] {
  const record = (recordId: number, mark: string) => ({
    ...{ recordId, tag: 0, requestId: null, vector: new Uint8Array(4 * CONFIG.dimension) },
    ...{ metadata: metadataOf(mark), text: textOf(mark) },
  });
  const named = (id: number): Buffer => Buffer.from(`name ${id}`);
  const changes = [
    { type: 'insert', ...record(1, 'a'), externalId: named(1) },
    { type: 'insert', ...record(2, 'b'), externalId: null },
    { type: 'replace', ...record(1, 'c'), externalId: named(1) },
    { type: 'updateMetadata', recordId: 2, metadata: metadataOf('d') },
    { type: 'updateMetadata', recordId: 2, metadata: Buffer.from('no object') },
    { type: 'updateMetadata', recordId: 2, metadata: metadataOf('e') },
    { type: 'softDelete', recordId: 1 },
    { type: 'delete', recordId: 1 },
    { type: 'insert', ...record(3, 'f'), externalId: named(1) },
    { type: 'delete', recordId: 2 },
  ] as const;
  return changes.map((change, i) => ({ ...change, sequence: i + 1, timeMs: CONFIG.createdAtMs }) as Event);
}

/** Results of searches and reads over a state. */
async function shown(state: CollectionState): Promise<unknown> {
  const count = async (key: string): Promise<number> => {
    const filter: Filter = { op: 'test', path: [key], test: { kind: 'exists', value: true } };
    return (await state.metadata.select(filter, new Slice(systemClock)))().count;
  };
  const query = state.texts.openQuery('w1 a0 b0 c0 f0');
  const slots = Uint32Array.from({ length: state.vectors.slots }, (_, slot) => slot);
  const { best } = await query.best(9, undefined, slots, () => new Slice(systemClock));
  query.close();
  const ids = [1, 2, 3];
  return {
    sequence: [state.nextRecordId, state.liveRecords, state.heldBytes.metadata > 0],
    records: ids.map((id) => Buffer.from(state.record(id)?.metadata ?? []).toString('hex', 0, 20)),
    names: state.externalIds.find(Buffer.from('name 1')) ?? null,
    counts: await Promise.all(['k1', 'a0', 'ka0', 'kc0', 'kd0', 'ke0', 'kf0'].map(count)),
    texts: [state.texts.documents, state.texts.averageLength],
    found: [...best.slots].map((slot) => state.vectors.idOf(slot)),
    scores: [...best.scores],
  };
}

describe('an event with a large record that is applied in steps', () => {
  it('is seen by all reads in one turn', async () => {
    const [whole, stepped] = [newState(), newState()];
    for (const event of eventsOf()) {
      expect(stepped.isLarge(event), event.type).to.equal(true);
      const before = await shown(whole);
      whole.apply(event);
      const after = await shown(whole);
      let isSeen = false;
      let steps = 0;
      for (const _ of stepped.applyInSteps(event, () => (isSeen = true))) {
        if (++steps % 7 === 0) expect(await shown(stepped), event.type).to.deep.equal(isSeen ? after : before);
      }
      expect(isSeen).to.equal(true);
      if (event.sequence !== 8) expect(steps, event.type).to.be.greaterThan(10);
      expect(await shown(stepped), event.type).to.deep.equal(after);
      expect([...stepped.tree.root()], event.type).to.deep.equal([...whole.tree.root()]);
    }
    expect(stepped.metadata.bytes).to.equal(whole.metadata.bytes);
  });
});

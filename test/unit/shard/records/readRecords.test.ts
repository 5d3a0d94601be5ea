import { expect } from 'chai';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { readRecords } from '../../../../shard/records/readRecords.js';
import { CollectionState } from '../../../../shard/state/collectionState.js';
import type { Filter } from '../../../../shared/model/filter.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { configOf } from '../../../support/rigs/engine.js';

const RECORDS = 40;
const METADATA = Buffer.from(`{"a":[${Array.from({ length: 30_000 }, () => 1).join()}]}`);

/** Counts the metadata that is read in each turn of the event loop. */
class ReadState extends CollectionState {
  most = 0;
  #inTurn = 0;

  override metadataAt(slot: number): Uint8Array | null {
    this.#inTurn += 1;
    this.most = Math.max(this.most, this.#inTurn);
    return super.metadataAt(slot);
  }

  turn(): number {
    this.#inTurn = 0;
    return 0;
  }
}

describe('a page of records that match a filter', () => {
  it('reads the metadata of one record between two readings of the clock', async () => {
    const config = configOf(1);
    const vectors = new VectorBlocks(new VectorMemory(), config.dimension);
    const state = new ReadState(config, vectors, 10);
    for (let id = 1; id <= RECORDS; id++)
      state.apply({
        type: 'insert',
        sequence: id,
        timeMs: config.createdAtMs,
        actor: null,
        recordId: id,
        tag: 0,
        requestId: null,
        vector: new Uint8Array(4 * config.dimension),
        metadata: METADATA,
        text: null,
        externalId: null,
      });
    let ms = 0;
    const slice = new Slice({ nowMs: () => state.turn(), monotonicMs: () => (ms += 10) });
    const filter: Filter = { op: 'test', path: ['a'], test: { kind: 'eq', value: 1 } };
    const call = { op: 'listRecords', after: 0, limit: 5, filter, fields: [], maxBytes: 1 << 20 } as const;
    const page = (await readRecords(state, call, slice)) as { readonly ids: Uint8Array; readonly next: number | null };
    expect([page.ids.length, page.next]).to.deep.equal([8 * 5, 5]);
    expect(state.most).to.equal(1);
    vectors.destroy();
  });
});

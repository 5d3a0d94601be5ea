// Covers: shard/records/orderValues.ts, shard/records/recordColumns.ts, shard/records/slotFilter.ts
// Covers: shared/model/recordOrder.ts, shared/protocol/orderCursor.ts
import { expect } from 'chai';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { readRecords } from '../../../../shard/records/readRecords.js';
import { CollectionState } from '../../../../shard/state/collectionState.js';
import type { Event } from '../../../../shared/log/event.js';
import type { Filter, Json } from '../../../../shared/model/filter.js';
import { type OrderPlace, RANK } from '../../../../shared/model/recordOrder.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { cursorOf, placeAt } from '../../../../shared/protocol/orderCursor.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { byValueAt } from '../../../support/model/values.js';
import { configOf } from '../../../support/rigs/engine.js';

const RECORDS = 1_200;
const LONG = 'l'.repeat(200);
const VALUES: readonly Json[] = [null, true, false, 1, 2.5, -0, 'a', 'b', '2026-01-31', LONG, [1, 'a'], {}, 'x', 7];

/** A state whose records with even ids are rewritten, deleted or moved between slices of a read. */
class Written {
  readonly vectors = new VectorBlocks(new VectorMemory(), configOf(1).dimension);
  readonly state = new CollectionState(configOf(1), this.vectors, 10);
  readonly random = seededRandom(testSeed());
  readonly kept: { readonly id: number; readonly metadata: { readonly v: Json } }[] = [];
  #sequence = 0;

  constructor() {
    for (let id = 1; id <= RECORDS; id++) {
      const metadata = { v: this.random.pick(VALUES) };
      this.kept.push({ id, metadata });
      this.#apply({ type: 'insert', ...this.#content(id, metadata) });
    }
  }

  write(): void {
    const id = 2 * (1 + this.random.int(RECORDS / 2));
    const { state } = this;
    if (!state.isLive(id)) return;
    const metadata = { v: this.random.pick(VALUES) };
    const kind = this.random.int(3);
    if (kind === 0) this.#apply({ type: 'delete', recordId: id });
    else if (kind === 1) this.#apply({ type: 'updateMetadata', recordId: id, metadata: bytesOf(metadata) });
    else {
      const recordId = state.nextRecordId;
      this.#apply({ type: 'delete', recordId: id });
      this.#apply({ type: 'insert', ...this.#content(recordId, metadata) });
    }
  }

  /** The pages of all records, while others are written. */
  async pages(isDescending: boolean, limit: number, filter?: Filter): Promise<number[]> {
    let ms = 0;
    const clock = { nowMs: () => 0, monotonicMs: () => (ms += 10) };
    const ids: number[] = [];
    for (let after: string | undefined; ; ) {
      let isOver = false;
      const writing = (async () => {
        for (; !isOver; await new Promise(setImmediate)) this.write();
      })();
      const order = { path: 'v', isDescending, ...(after === undefined ? {} : { after }) };
      const call = { op: 'listRecords', after: 0, limit, order, fields: ['metadata'], maxBytes: 1 << 20 } as const;
      const asked = filter === undefined ? call : { ...call, filter };
      const page = (await readRecords(this.state, asked, new Slice(clock))) as Results['listRecords'];
      isOver = true;
      await writing;
      const bytes = Buffer.from(page.ids);
      const listed = page.fields.metadata!.map((metadata, i) => ({
        id: bytes.readDoubleLE(8 * i),
        metadata: JSON.parse(Buffer.from(metadata!).toString()) as Json,
      }));
      expect([...listed].sort(byValueAt('v', isDescending ? -1 : 1))).to.deep.equal(listed);
      ids.push(...listed.map(({ id }) => id));
      if (page.next === null) return ids;
      after = page.next as string;
    }
  }

  #content(recordId: number, metadata: Json) {
    const vector = new Uint8Array(4 * configOf(1).dimension);
    return { recordId, tag: 0, requestId: null, vector, metadata: bytesOf(metadata), text: null, externalId: null };
  }

  #apply(event: Readonly<Record<string, unknown>>): void {
    this.#sequence += 1;
    this.state.apply({ sequence: this.#sequence, timeMs: configOf(1).createdAtMs, actor: null, ...event } as Event);
  }
}

const bytesOf = (metadata: Json): Uint8Array => Buffer.from(JSON.stringify(metadata));

describe('records in the order of a value', () => {
  for (const isDescending of [false, true])
    for (const filter of [undefined, { op: 'and', of: [] } as const])
      it(`are listed once each, ${isDescending ? 'descending' : 'ascending'}, ${filter ? 'with' : 'without'} a filter, unless they are written meanwhile`, async () => {
        const written = new Written();
        const untouched = written.kept.filter(({ id }) => id % 2 === 1).sort(byValueAt('v', isDescending ? -1 : 1));
        for (const limit of [90, 1_000]) {
          const found = (await written.pages(isDescending, limit, filter)).filter(
            (id) => id % 2 === 1 && id <= RECORDS,
          );
          expect(found).to.deep.equal(untouched.map(({ id }) => id));
        }
        written.vectors.destroy();
      });
});

describe('the cursor of an order', () => {
  const order = { path: 'a.b', isDescending: false };
  const places: readonly OrderPlace[] = [
    { rank: RANK.boolean, value: 1, id: 1 },
    { rank: RANK.number, value: -2.5, id: 2 ** 53 - 1 },
    { rank: RANK.number, value: Number.POSITIVE_INFINITY, id: 3 },
    { rank: RANK.date, value: '2026-01-31T00:00:00.', id: 4 },
    { rank: RANK.string, value: '', id: 5 },
    { rank: RANK.string, value: '\ud800'.repeat(128), id: 6 },
    { rank: RANK.missing, value: 0, id: 7 },
  ];

  it('names its place again', () => {
    for (const place of places) expect(placeAt(cursorOf(place, order), order)).to.deep.equal(place);
  });

  it('is refused with another path or direction, or if any character of it differs', () => {
    for (const place of places) {
      const cursor = cursorOf(place, order);
      expect(placeAt(cursor, { ...order, isDescending: true })).to.equal(undefined);
      expect(placeAt(cursor, { ...order, path: 'a' })).to.equal(undefined);
      for (let at = 0; at < cursor.length; at++) {
        const other = cursor[at] === 'B' ? 'C' : 'B';
        expect(placeAt(`${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`, order)).to.equal(undefined);
      }
      for (const text of ['', cursor.slice(1), `${cursor}A`, `${cursor}=`])
        expect(placeAt(text, order)).to.equal(undefined);
    }
  });
});

// Covers: shard/asOf/inMemoryView.ts, shard/asOf/historicalState.ts, shard/state/versionVisibility.ts
/** Historical states answered from memory, compared with rebuilt states and with a fresh replay up to the event. */
import { expect } from 'chai';
import { emptyState, HistoricalState, NO_REQUESTS } from '../../../../shard/asOf/historicalState.js';
import { HistoricalStateCache } from '../../../../shard/asOf/historicalStateCache.js';
import { InMemoryView } from '../../../../shard/asOf/inMemoryView.js';
import type { AsOfAnswer, AsOfOptions } from '../../../../shard/asOf/messages.js';
import { searchState } from '../../../../shard/asOf/searchState.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { Opening } from '../../../../shard/snapshot/opening.js';
import type { Clock } from '../../../../shared/clock.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { Filter } from '../../../../shared/model/filter.js';
import type { WriteCall } from '../../../../shared/protocol/writes.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { moved } from '../../../../shared/transport/transportErrors.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { configOf, Engine, fixed, insertOf, type TestCollection } from '../../../support/rigs/engine.js';
import { savedNumbers } from '../../../support/rigs/savedNumbers.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;
const WRITES = 300;
const LOOKS = 80;
const WORDS = ['red', 'blue', 'fish', 'stone'];
/** An infinite deadline. */
const NEVER = Number.POSITIVE_INFINITY;

/** Time passes at every reading, so that work in slices yields wherever it may. */
class HastyClock implements Clock {
  #ms = configOf(ID).createdAtMs;
  nowMs(): number {
    return this.#ms;
  }
  monotonicMs(): number {
    this.#ms += 3;
    return this.#ms;
  }
}

/** A history that loses few states: permanent deletions and changes of metadata, texts and the graph are rare. */
class Writer {
  #records = 0;
  #nodes = 0;

  constructor(
    private readonly random: SeededRandom,
    private readonly collection: TestCollection,
  ) {}

  async write(): Promise<void> {
    const calls = Array.from({ length: 1 + this.random.int(3) }, () => this.#change());
    await Promise.allSettled(calls.map((call) => this.collection.write(call)));
  }

  #change(): WriteCall {
    const { random } = this;
    const id = 1 + random.int(this.#records + 1);
    const choice = random.int(100);
    if (choice < 25) return { op: 'softDelete', id };
    // Mostly young records, so that few states lose a record.
    if (choice < 28) return { op: 'delete', id: random.int(40) === 0 ? id : this.#records - random.int(3) };
    if (choice < 30)
      return {
        op: 'updateMetadata',
        id: random.int(10) === 0 ? id : this.#records - random.int(3),
        metadata: this.#metadata(),
      };
    if (choice < 32) {
      this.#nodes++;
      return { op: 'addNode', kind: 0, recordId: id };
    }
    if (choice < 34)
      return { op: 'addEdge', from: 1 + random.int(this.#nodes + 1), to: 1 + random.int(this.#nodes + 1), kind: 1 };
    this.#records++;
    if (choice < 37)
      return { op: 'insertEncrypted', payload: Buffer.from('secret'), keyId: null, tag: 0, requestId: null };
    return insertOf(fixed(random.int(9) - 4, random.int(9) - 4), {
      metadata: random.int(4) === 0 ? null : this.#metadata(),
      text: random.int(40) === 0 ? `${random.pick(WORDS)} ${random.pick(WORDS)}` : null,
    });
  }

  #metadata(): Uint8Array {
    const { random } = this;
    if (random.int(8) === 0) return Buffer.from('[not an object]');
    return Buffer.from(JSON.stringify({ n: random.int(6), deep: { list: [random.int(3), random.pick(WORDS)] } }));
  }
}

const test = (path: string[], test: (Filter & { op: 'test' })['test']): Filter => ({ op: 'test', path, test });
const FILTERS: readonly Filter[] = [
  { op: 'and', of: [] },
  test(['n'], { kind: 'gte', value: 3 }),
  { op: 'not', of: test(['n'], { kind: 'gte', value: 3 }) },
  test(['deep', 'list'], { kind: 'in', values: [1, 'red'] }),
  test(['deep', 'list'], { kind: 'ne', value: 'blue' }),
  { op: 'or', of: [test(['n'], { kind: 'eq', value: 0 }), test(['absent'], { kind: 'exists', value: false })] },
];

function optionsBy(random: SeededRandom): AsOfOptions {
  const some = (part: object): object => (random.int(3) === 0 ? part : {});
  return {
    k: 1 + random.int(400),
    agedToMs: random.int(2) === 0 ? undefined : configOf(ID).createdAtMs + random.int(100_000),
    ...some({ filter: random.pick(FILTERS) }),
    ...some({ decay: { halfLifeSecs: 1 + random.int(20), nowMs: 0 } }),
    ...some({ text: { query: `${random.pick(WORDS)} fish`, hybrid: random.int(2) === 0 } }),
    ...some({ graph: { weight: 0.5, seedCount: 2, maxDepth: 3, direction: 'both' } }),
  };
}

describe('historical states in memory', () => {
  const slice = (): Slice => new Slice(clock, NEVER);
  let random: SeededRandom;
  let clock: HastyClock;
  let logs: ScriptedLogs;
  let collection: TestCollection;
  let writer: Writer;
  let opening: Opening;
  let memory: VectorMemory;

  beforeEach(async () => {
    random = seededRandom(testSeed());
    clock = new HastyClock();
    logs = new ScriptedLogs();
    collection = new Engine(logs, { clock }).host(configOf(ID));
    writer = new Writer(random, collection);
    for (let n = 0; n < WRITES; n++) await writer.write();
    opening = new Opening(1, configOf(ID), await logs.open(ID));
    memory = new VectorMemory();
  });
  afterEach(async () => {
    await collection.hosted.close({ keep: true });
  });

  const newState = (): HistoricalState =>
    new HistoricalState(opening, emptyState(opening, memory, NO_REQUESTS), clock).retain();
  async function replayed(sequence: number): Promise<HistoricalState> {
    const state = newState();
    await state.advance(sequence, 'exactly', () => undefined);
    return state;
  }
  const query = (): Int32Array => new Int32Array(fixed(random.int(9) - 4, random.int(9) - 4).slice().buffer);
  async function answerOf(past: HistoricalState, asked: Int32Array, options: AsOfOptions): Promise<AsOfAnswer> {
    const { state, timeMs } = past;
    return {
      found: await searchState({ state, timeMs }, asked, options, slice),
      timeMs,
      stateHash: toHex(past.hash()),
      erased: 0,
    };
  }
  /** The answer without slots, which depend on the memory layout. */
  const shown = ({ found: { slots: _, ...found }, ...answer }: AsOfAnswer) => ({ ...answer, ...found });
  const lastSequence = (): number => {
    const last = logs.frames(ID).at(-1)!;
    const view = new DataView(last.buffer, last.byteOffset);
    return Number(view.getBigUint64(8, true)) + view.getUint32(4, true) - 1;
  };

  it('answer exactly like a rebuilt state and a fresh replay, or not at all', async () => {
    const end = lastSequence();
    const present = await replayed(end);
    const view = new InMemoryView(present.state, present.history);
    const options = { memory, clock, measured: () => undefined, setAside: () => undefined };
    const states = new HistoricalStateCache({ boundBytes: 1 << 24, ...options });
    let answered = 0;
    for (let look = 0; look < LOOKS; look++) {
      // Young states are drawn more often, as less of them is lost.
      const sequence = 1 + Math.floor(end * Math.sqrt(random.next()));
      const [asked, search] = [query(), optionsBy(random)];
      const fresh = await replayed(Math.min(sequence, end));
      const expected = shown(await answerOf(fresh, asked, search));
      fresh.release();
      const rebuilt = await states.use(opening, fresh.sequence, NEVER, (past) => answerOf(past, asked, search));
      const what = `event ${fresh.sequence} of ${end}: ${JSON.stringify(search)}`;
      expect(shown(rebuilt), what).to.deep.equal(expected);
      const fromMemory = await view.search(fresh.sequence, asked, search, slice);
      if (fromMemory === undefined) continue;
      answered++;
      expect(shown(fromMemory), what).to.deep.equal(expected);
    }
    expect(answered).to.be.above(0);
    await states.close(opening, moved());
    present.release();
    expect(memory.usedBytes).to.equal(0);
  });

  it('answer right or not at all while writes arrive', async () => {
    const end = lastSequence();
    const from = Math.floor(0.7 * end);
    const present = await replayed(from);
    const view = new InMemoryView(present.state, present.history);
    let answered = 0;
    for (let next = from + 1; next <= end; next++) {
      const sequence = Math.max(1, from - random.int(Math.floor(end / 10)));
      const [asked, search] = [query(), optionsBy(random)];
      const found = view.search(sequence, asked, search, slice);
      await present.advance(next, 'exactly', () => undefined);
      const fromMemory = await found;
      if (fromMemory === undefined) continue;
      answered++;
      const fresh = await replayed(sequence);
      expect(shown(fromMemory), `event ${sequence} while ${next} came: ${JSON.stringify(search)}`).to.deep.equal(
        shown(await answerOf(fresh, asked, search)),
      );
      fresh.release();
    }
    expect(answered).to.be.above(0);
    present.release();
    expect(memory.usedBytes).to.equal(0);
  });

  it('are the same after their versions were saved and restored', async () => {
    const present = await replayed(lastSequence());
    const { versions } = present.state;
    const other = newState();
    other.state.versions.restore(savedNumbers(versions));
    expect(savedNumbers(other.state.versions)).to.deep.equal(savedNumbers(versions));
    for (let sequence = 1; sequence <= present.sequence; sequence++) {
      const versionsOf = ({ state: { versions: known } }: HistoricalState) => [
        known.recordsAt(sequence),
        known.tombstonesAt(sequence),
        known.timeAt(sequence),
        known.sequenceAt(known.timeAt(sequence)),
        ...[0, 1, 2, 4].map((bits) =>
          known.holds(sequence, { filter: bits === 1, text: bits === 2, graph: bits === 4 }),
        ),
      ];
      expect(versionsOf(other)).to.deep.equal(versionsOf(present));
    }
    for (const past of [present, other]) past.release();
  });
});

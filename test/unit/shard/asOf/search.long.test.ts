// Covers: shard/asOf/
/** Searches of the past compared with the answers at that time, by a collection that received each write alone. */
import { expect } from 'chai';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import type { Filter } from '../../../../shared/model/filter.js';
import type { AsOf, GraphRerank, Results, SearchCall } from '../../../../shared/protocol/calls.js';
import type { WriteCall } from '../../../../shared/protocol/writes.js';
import { expectCode } from '../../../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import {
  configOf,
  Engine,
  fixed,
  insertOf,
  receiptIn,
  requestIdOf,
  soon,
  type TestCollection,
} from '../../../support/rigs/engine.js';
import { replayedLog } from '../../../support/rigs/replayedLog.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;
const STEPS = 150;
const WORDS = ['red', 'blue', 'fish', 'stone', 'straße', 'x1'];

class SetClock implements Clock {
  constructor(private ms: number) {}
  nowMs(): number {
    return this.ms;
  }
  monotonicMs(): number {
    return systemClock.monotonicMs();
  }
  pass(ms: number): void {
    this.ms += ms;
  }
}

type Search = Omit<SearchCall, 'op' | 'query' | 'k'>;

const atLeast = (value: number): Filter => ({ op: 'test', path: ['n'], test: { kind: 'gte', value } });
const GRAPH: GraphRerank = { weight: 0.5, seedCount: 2, maxDepth: 3, direction: 'both' };

/** One search with each option, and one with all. Ages are counted to `nowMs`. */
function searches(nowMs: number): SearchCall[] {
  const decay = { halfLifeSecs: 5, nowMs };
  const options: Search[] = [
    {},
    { filter: atLeast(3) },
    { filter: { op: 'not', of: atLeast(3) } },
    { decay },
    { text: { query: 'red fish', hybrid: false } },
    { text: { query: 'Straße stone', hybrid: true } },
    { graph: GRAPH },
    { filter: atLeast(1), decay, text: { query: 'blue x1', hybrid: true }, graph: GRAPH },
  ];
  return options.map((option) => ({ op: 'search', query: fixed(1, -2), k: 7, ...option }));
}

const search = (collection: TestCollection, call: SearchCall): Promise<Results['search']> =>
  collection.hosted.run(call, soon()) as Promise<Results['search']>;

/** Answers after an event, and the state at that time. */
interface Moment {
  readonly timeMs: number;
  readonly answers: readonly Results['search'][];
  readonly stateHash: string;
}

/**
 * Two collections with one history: one with frames as they arise, one with one event in each frame and searches after
 * each.
 */
class History {
  readonly clock = new SetClock(configOf(ID).createdAtMs);
  readonly logs = new ScriptedLogs();
  readonly #aloneLogs = new ScriptedLogs();
  /** Moment after event n at index n − 1. */
  readonly moments: Moment[] = [];
  readonly receipts = new Map<number, string>();
  readonly #alone: TestCollection;
  collection: TestCollection;
  #requests = 0;
  #records = 0;
  #nodes = 0;
  #edges = 0;

  constructor(private readonly random: SeededRandom) {
    this.#alone = new Engine(this.#aloneLogs, { clock: this.clock }).host(configOf(ID));
    this.collection = this.host();
  }

  host(): TestCollection {
    return new Engine(this.logs, { clock: this.clock }).host(configOf(ID));
  }

  async live(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      if (this.random.int(3) > 0) this.clock.pass(this.random.int(3_000));
      if (this.random.int(10) === 0) await this.#write(this.#inserts(2 + this.random.int(8)), 'batch');
      else await this.#write(Array.from({ length: 1 + this.random.int(3) }, () => this.#change()).flat(), 'together');
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.collection, this.#alone].map(({ hosted }) => hosted.close({ keep: true })));
  }

  /** Sends calls to both collections; each is one event, or none if its record is absent. */
  async #write(calls: readonly WriteCall[], as: 'batch' | 'together'): Promise<void> {
    for (const call of calls) {
      const [one] = await Promise.allSettled([this.#alone.write(call)]);
      if (one?.status === 'fulfilled') await this.#remember(one.value as Partial<Results['insert']>);
    }
    if (as === 'batch') await this.collection.write(batchOf(calls));
    else await Promise.allSettled(calls.map((call) => this.collection.write(call)));
  }

  async #remember({ receipt: text }: Partial<Results['insert']>): Promise<void> {
    const timeMs = this.clock.nowMs();
    const answers = await Promise.all(searches(timeMs).map((call) => search(this.#alone, call)));
    const { stateHash } = await replayedLog(this.#aloneLogs.frames(ID));
    this.moments.push({ timeMs, answers, stateHash });
    if (text === undefined) return;
    const receipt = receiptIn({ receipt: text });
    this.receipts.set(receipt.sequence, receipt.state_hash);
  }

  #change(): WriteCall[] {
    const { random } = this;
    const id = 1 + random.int(this.#records + 1);
    switch (random.int(12)) {
      case 0:
        return [{ op: 'softDelete', id }];
      case 1:
      case 2:
        return [{ op: 'delete', id }];
      case 3:
        return [{ op: 'updateMetadata', id, metadata: this.#metadata() }];
      case 4:
      case 5:
        this.#nodes++;
        return [{ op: 'addNode', kind: 0, recordId: random.int(4) === 0 ? null : id }];
      case 6:
      case 7:
        return [{ op: 'addEdge', from: 1 + random.int(this.#nodes + 1), to: 1 + random.int(this.#nodes + 1), kind: 1 }];
      case 8:
        return random.int(2) === 0
          ? [{ op: 'deleteNode', id: 1 + random.int(this.#nodes + 1) }]
          : [{ op: 'deleteEdge', id: 1 + random.int(++this.#edges) }];
      default:
        return this.#inserts(1);
    }
  }

  #inserts(count: number): (WriteCall & { op: 'insert' })[] {
    const { random } = this;
    return Array.from({ length: count }, () => {
      this.#records++;
      const words = Array.from({ length: random.int(6) }, () => random.pick(WORDS)).join(' ');
      return insertOf(fixed(random.int(9) - 4, random.int(9) - 4), {
        requestId: requestIdOf(this.#requests++),
        metadata: random.int(4) === 0 ? null : this.#metadata(),
        text: random.int(3) === 0 ? null : words,
      });
    });
  }

  #metadata(): Uint8Array {
    return Buffer.from(JSON.stringify({ n: this.random.int(6) }));
  }
}

function batchOf(calls: readonly WriteCall[]): WriteCall {
  const inserts = calls.flatMap((call) => (call.op === 'insert' ? [call] : []));
  return {
    op: 'insertBatch',
    count: inserts.length,
    vectors: Buffer.concat(inserts.map(({ vector }) => vector)),
    metadata: inserts.map(({ metadata }) => metadata),
    texts: inserts.map(({ text }) => (text === null ? null : Buffer.from(text))),
    requestIds: inserts.map(({ requestId }) => requestId),
  };
}

describe('a search of the past', () => {
  let history: History;
  let random: SeededRandom;
  beforeEach(() => {
    random = seededRandom(testSeed());
    history = new History(random);
  });
  afterEach(() => history.close());

  /** The calls carry a wrong time for ages, which the shard replaces. */
  async function expectAnswers(asOf: AsOf, logIndex: number): Promise<void> {
    const { timeMs, answers, stateHash } = history.moments[logIndex - 1]!;
    const searched = await Promise.all(
      searches(systemClock.nowMs()).map((call) => search(history.collection, { ...call, asOf })),
    );
    const agedTo = 'timeMs' in asOf ? asOf.timeMs : timeMs;
    for (const [n, { asOf: state, ...answer }] of searched.entries()) {
      expect(state).to.deep.equal({ logIndex, timeMs, stateHash, erased: 0 });
      if (agedTo === timeMs) expect(answer, `search ${n} of event ${logIndex}`).to.deep.equal(answers[n]);
      else expect(answer.ids.length, `search ${n} of event ${logIndex}`).to.equal(answers[n]!.ids.length);
    }
    expect(history.receipts.get(logIndex) ?? stateHash).to.equal(stateHash);
  }

  it('returns the answers of that time, with every option, in any order, and after a restart', async () => {
    await history.live(STEPS);
    const events = history.moments.length;
    expect((await replayedLog(history.logs.frames(ID))).stateHash).to.equal(history.moments.at(-1)?.stateHash);
    expect(history.logs.frames(ID).length).to.be.below(events);
    for (let n = 0; n < 60; n++) {
      const logIndex = 1 + random.int(events);
      await expectAnswers({ logIndex }, logIndex);
    }
    await expectAnswers({ logIndex: events }, events);
    await history.collection.hosted.close({ keep: true });
    history.collection = history.host();
    for (let n = 0; n < 30; n++) {
      const logIndex = 1 + random.int(events);
      await expectAnswers({ logIndex }, logIndex);
    }
  });

  it('returns equal answers while the collection is written to', async () => {
    await history.live(30);
    const asked = [5, 17, history.moments.length];
    for (const logIndex of asked) await expectAnswers({ logIndex }, logIndex);
    await history.live(30);
    for (const logIndex of asked) await expectAnswers({ logIndex }, logIndex);
  });

  it('for an instant uses the last event at or before it', async () => {
    await history.live(80);
    const { moments } = history;
    const { createdAtMs } = configOf(ID);
    const lastAt = (timeMs: number): number => moments.findLastIndex((moment) => moment.timeMs <= timeMs) + 1;
    expect(new Set(moments.map(({ timeMs }) => timeMs)).size).to.be.below(moments.length);
    for (let n = 0; n < 60; n++) {
      const timeMs = random.pick(moments).timeMs + random.pick([-1, 0, 0, 0, 1]);
      if (lastAt(timeMs) > 0) await expectAnswers({ timeMs }, lastAt(timeMs));
    }
    const later = moments.at(-1)!.timeMs + 60_000;
    await expectAnswers({ timeMs: later }, moments.length);
    for (const call of searches(later)) {
      const wrong = call.decay && { decay: { ...call.decay, nowMs: later + 1e9 } };
      const { asOf: _, ...past } = await search(history.collection, { ...call, ...wrong, asOf: { timeMs: later } });
      expect(past).to.deep.equal(await search(history.collection, call));
    }
    const early = { ...searches(0)[3]!, asOf: { timeMs: createdAtMs - 1 } };
    const { ids, asOf } = await search(history.collection, early);
    expect(ids).to.have.length(0);
    expect(asOf).to.include({ logIndex: 0, timeMs: null });
  });

  it('before the first event is empty, with one state hash at any time', async () => {
    const asOf = { logIndex: 0 };
    const before = await Promise.all(
      searches(systemClock.nowMs()).map((call) => search(history.collection, { ...call, asOf })),
    );
    const plain = await Promise.all(searches(systemClock.nowMs()).map((call) => search(history.collection, call)));
    await history.live(5);
    const after = await Promise.all(
      searches(systemClock.nowMs()).map((call) => search(history.collection, { ...call, asOf })),
    );
    expect(after).to.deep.equal(before);
    for (const [n, { asOf: state, ...answer }] of before.entries()) {
      expect(answer).to.deep.equal(plain[n]);
      expect(answer.ids).to.have.length(0);
      expect(state).to.include({ logIndex: 0, timeMs: null });
      expect(state?.stateHash).to.match(/^[0-9a-f]{64}$/);
    }
    const error = await expectCode(
      search(history.collection, { ...searches(0)[0]!, asOf: { logIndex: history.moments.length + 1 } }),
      'validation_error',
    );
    expect(error.message).to.contain(`${history.moments.length} events`);
  });
});

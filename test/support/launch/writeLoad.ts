/** Writers that continue through faults: they repeat unanswered writes, and remember every answer. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { verifyReceipt, type WriteReceipt } from '../../../verifier/receipt.js';
import type { Client } from './client.js';

const RETRY_MS = 50;
/** Pause of each writer between an answer and its next write, which leaves the machine to the service. */
const PAUSE_MS = 25;
const EVENTS_A_PAGE = 1_000;
/** Largest component of a vector. */
const VALUES_MAX = 32_000;
const VALUES_EACH = 8_000;

/** One answered write, as the collection's timeline must list it. */
export interface Answered {
  /** `log_index` of a change, or `sequence` of an insert's receipt: one numbering. */
  readonly logIndex: number;
  readonly type: 'insert' | 'update_metadata';
  readonly recordId: number;
}

export interface Inserted extends Answered {
  readonly value: number;
  readonly requestId: string;
}

export class WriteLoad {
  readonly inserted: Inserted[] = [];
  readonly updated: Answered[] = [];
  /** Rejects at the first wrong answer. */
  ended: Promise<unknown> = Promise.resolve();
  #running = true;

  constructor(
    private readonly client: Client,
    private readonly collection: string,
  ) {}

  start(writers: number): void {
    this.ended = Promise.all(Array.from({ length: writers }, (_, writer) => this.#write(writer)));
    this.ended.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.ended;
  }

  get answered(): readonly Answered[] {
    return [...this.inserted, ...this.updated];
  }

  insertOnce(value: number, requestId: string): ReturnType<Client['post']> {
    return this.client.post('/v1/records', { collection: this.collection, values: [value], request_id: requestId });
  }

  /** Repeats an insert until it is answered. */
  async insert(value: number, requestId: string): Promise<Inserted> {
    const { id, receipt } = await untilAnswered(() => this.insertOnce(value, requestId));
    expect(verifyReceipt(receipt as WriteReceipt)).to.deep.equal([]);
    const inserted = { logIndex: receipt.sequence, type: 'insert', recordId: id, value, requestId } as const;
    this.inserted.push(inserted);
    return inserted;
  }

  /** Sends an answered insert again until it is answered. */
  repeat({ value, requestId }: Inserted): Promise<object> {
    return untilAnswered(() => this.insertOnce(value, requestId));
  }

  /**
   * The timeline counts from 1 without gap or repeat. Every answered write is where its answer said, and no insert
   * appears twice, however often it was sent.
   */
  async expectInLog(): Promise<void> {
    const events = await this.#timeline();
    expect(events.map(({ log_index }) => log_index)).to.deep.equal(events.map((_, i) => i + 1));
    const answered = this.answered;
    expect(new Set(answered.map(({ logIndex }) => logIndex)).size, 'two answers have the same index').to.equal(
      answered.length,
    );
    for (const { logIndex, type, recordId } of answered)
      expect(events[logIndex - 1]).to.include({ event_type: type, record_id: recordId });
    const inserts = events.filter(({ event_type }) => event_type === 'insert');
    expect(inserts.length, 'a retry made a second record').to.equal(this.inserted.length);
  }

  async #timeline(): Promise<{ log_index: number; event_type: string; record_id: number }[]> {
    const events = [];
    for (;;) {
      const query = `collection=${this.collection}&after=${events.length}&limit=${EVENTS_A_PAGE}`;
      const page = await untilAnswered(() => this.client.get(`/v1/timeline?${query}`));
      events.push(...page.events);
      if (page.events.length < EVENTS_A_PAGE) return events;
    }
  }

  async #write(writer: number): Promise<void> {
    for (let n = 0; this.#running; n++) {
      const value = (writer * VALUES_EACH + n) % VALUES_MAX;
      const { recordId } = await this.insert(value, requestIdOf(writer, n));
      await delay(PAUSE_MS);
      if (n % 4 !== 3) continue;
      const path = `/v1/records/${recordId}/metadata?collection=${this.collection}`;
      const { log_index } = await untilAnswered(() => this.client.patch(path, { value }));
      this.updated.push({ logIndex: log_index, type: 'update_metadata', recordId });
    }
  }
}

export const requestIdOf = (writer: number, n: number): string =>
  `${writer.toString(16).padStart(8, '0')}${n.toString(16).padStart(24, '0')}`;

/** Any answer except success or a 503 with a Retry-After is a fault. */
// biome-ignore lint/suspicious/noExplicitAny: as of `Answer`
async function untilAnswered(ask: () => ReturnType<Client['get']>): Promise<any> {
  for (;;) {
    const answer = await ask();
    if (answer.status === 200) return answer.body;
    expect([answer.status, answer.body?.code], answer.text).to.deep.equal([503, 'unavailable']);
    expect(answer.headers.get('retry-after')).to.match(/^\d+$/);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

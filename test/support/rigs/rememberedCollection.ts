/** A collection over HTTP. Its answers after each write are remembered, and later compared with its past states. */
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import { readProof } from '../../../verifier/receipt.js';
import type { Answer } from '../launch/client.js';
import type { Hit } from '../launch/searchClient.js';
import type { Project, Service } from '../launch/service.js';

export interface Receipt {
  readonly sequence: number;
  readonly timestamp: number;
  readonly state_hash: string;
  readonly proof: string;
}

/** Fields of an answer about the past besides its results. */
export interface Past {
  readonly results: readonly Hit[];
  readonly as_of_log_index: number;
  readonly as_of_timestamp: number | null;
  readonly as_of_state_hash: string;
}

export interface Remembered {
  readonly logIndex: number;
  /** An instant, to the millisecond, at which this was the state. */
  readonly as_of: string;
  /** Results of each search at that time. */
  readonly results: readonly (readonly Hit[])[];
  /** Receipt of the last event, if it had one. */
  readonly receipt: Receipt | undefined;
  /** Unix seconds; the last event lies between them. */
  readonly timestamps: readonly [least: number, most: number];
}

export const timeMsOf = ({ proof }: Receipt): number => Number(readProof(proof).timeMs);
export const iso = (timeMs: number): string => new Date(timeMs).toISOString();
const secondsOf = (timeMs: number): number => Math.floor(timeMs / 1000);

export class RememberedCollection {
  readonly states: Remembered[] = [];

  /** `searches`: options of the remembered searches. */
  constructor(
    private readonly service: Service,
    private readonly project: Project,
    readonly name: string,
    private readonly searches: readonly object[] = [],
  ) {}

  async create(dimension: number, index?: string): Promise<this> {
    answered(await this.project.rw.post('/v1/namespaces', { name: this.name, dimension, metric: 'squared_l2', index }));
    return this;
  }

  async post(path: string, body: object): Promise<Answer['body']> {
    return answered(await this.project.rw.post(path, { collection: this.name, ...body }));
  }

  async patch(id: number, metadata: object): Promise<undefined> {
    answered(await this.project.rw.patch(`/v1/records/${id}/metadata?collection=${this.name}`, metadata));
  }

  /** `path`: of a node or an edge. */
  async delete(path: string): Promise<undefined> {
    answered(await this.project.rw.delete(`${path}?collection=${this.name}`));
  }

  async insert(values: readonly number[], fields: object = {}): Promise<Receipt> {
    return (await this.post('/v1/records', { values, ...fields })).receipt;
  }

  ask(options: object): Promise<Answer> {
    return this.project.ro.post('/v1/search', { collection: this.name, ...options });
  }

  multi(options: object): Promise<Answer> {
    return this.project.ro.post('/v1/search/multi', { collections: [this.name], ...options });
  }

  async search(options: object): Promise<Past> {
    return answered(await this.ask(options));
  }

  /**
   * Makes a write of `events` events, and remembers the new state. The write has a millisecond of its own: the clock
   * advances before and after it.
   */
  async write(events: number, write: () => Promise<Receipt | undefined>): Promise<void> {
    const logIndex = (this.states.at(-1)?.logIndex ?? 0) + events;
    const fromMs = systemClock.nowMs();
    const receipt = await write();
    const toMs = systemClock.nowMs();
    const results: (readonly Hit[])[] = [];
    for (const options of this.searches) results.push((await this.search(options)).results);
    const timestamps = [secondsOf(fromMs), secondsOf(toMs)] as const;
    this.states.push({ logIndex, as_of: iso(toMs), results, receipt, timestamps });
    await this.service.until(async () => systemClock.nowMs() > toMs);
  }

  /**
   * Reads the state again by log index and by time. Requires equal results to the last bit, and the right name of the
   * state.
   */
  async expectRemembered({ logIndex, as_of, results, receipt, timestamps }: Remembered): Promise<void> {
    const what = `${this.name} after ${logIndex} events`;
    const hashes = new Set(receipt === undefined ? [] : [receipt.state_hash]);
    for (const moment of [{ as_of_log_index: logIndex }, { as_of }])
      for (const [i, options] of this.searches.entries()) {
        const past = await this.search({ ...options, ...moment });
        expect(past.results, `${what}: ${JSON.stringify({ ...options, ...moment })}`).to.deep.equal(results[i]);
        expect(past.as_of_log_index, what).to.equal(logIndex);
        expect(past.as_of_timestamp, what).to.be.within(...timestamps);
        if (receipt !== undefined) expect(past.as_of_timestamp, what).to.equal(receipt.timestamp);
        expect(past.as_of_state_hash, what).to.match(/^[0-9a-f]{64}$/);
        hashes.add(past.as_of_state_hash);
      }
    expect([...hashes], what).to.have.length(1);
  }
}

function answered({ status, text, body }: Answer): Answer['body'] {
  expect(status, text).to.equal(200);
  return body;
}

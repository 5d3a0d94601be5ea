/**
 * Clients that write and search while the cluster changes under them. Each searches for its own writes. Wrong answers
 * and failed requests are recorded.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import { seededRandom, testSeed } from '../model/random.js';
import type { Answer } from './client.js';
import type { Client, Project, Service } from './service.js';

export interface Acknowledged {
  readonly collection: string;
  readonly id: number;
  readonly values: readonly number[];
}

export interface Failed {
  readonly what: string;
  /** 0: no answer. */
  readonly status: number;
  readonly text: string;
}

/**
 * Pause of each client between an answer and its next request. Together the clients send a hundred requests a second,
 * which leaves the machine to the service.
 */
export const PAUSE_MS = 40;

const COLLECTIONS = Array.from({ length: 9 }, (_, i) => `c${i}`);
const CLIENTS = 6;

type Random = ReturnType<typeof seededRandom>;

export class ClusterLoad {
  /** Every answered write. */
  readonly written: Acknowledged[] = [];
  readonly failed: Failed[] = [];
  /** Answers that lack an earlier answered write. */
  readonly wrong: string[] = [];
  searches = 0;
  /** Longest time that one client has waited for an answer. */
  longestPauseMs = 0;
  readonly #clients: Promise<void>[];
  #running = true;

  /** `clients`: of one project, at any coordinators. The collections have dimension 3. */
  constructor(clients: readonly Client[], collections: readonly string[], random: Random) {
    this.#clients = clients.map((client, number) => this.#run(client, collections, number, random));
  }

  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#clients);
  }

  /** Resets the longest pause. */
  forgetPauses(): void {
    this.longestPauseMs = 0;
  }

  async #run(client: Client, collections: readonly string[], number: number, random: Random): Promise<void> {
    let answeredMs = systemClock.monotonicMs();
    for (let i = 0; this.#running; i++) {
      const collection = random.pick(collections);
      const values = [number, i, random.int(1_000)];
      const mine = this.written.findLast((one) => one.collection === collection && one.values[0] === number);
      if (mine === undefined || random.int(3) > 0) await this.#write(client, collection, values);
      else await this.#search(client, mine);
      this.longestPauseMs = Math.max(this.longestPauseMs, systemClock.monotonicMs() - answeredMs);
      await delay(PAUSE_MS);
      answeredMs = systemClock.monotonicMs();
    }
  }

  async #write(client: Client, collection: string, values: readonly number[]): Promise<void> {
    const answer = await this.#ask(`write to ${collection}`, client.post('/v1/records', { collection, values }));
    if (answer !== undefined) this.written.push({ collection, id: answer.body.id, values });
  }

  async #search(client: Client, { collection, id, values }: Acknowledged): Promise<void> {
    const asked = client.post('/v1/search', { collection, query: values, k: 1 });
    const answer = await this.#ask(`search of ${collection}`, asked);
    if (answer === undefined) return;
    this.searches++;
    const expected = JSON.stringify([{ id, score: 0 }]);
    const found = JSON.stringify(answer.body.results);
    if (found !== expected) this.wrong.push(`${collection}: ${found} instead of ${expected}`);
  }

  async #ask(what: string, asked: Promise<Answer>): Promise<Answer | undefined> {
    try {
      const answer = await asked;
      if (answer.status === 200) return answer;
      this.failed.push({ what, status: answer.status, text: answer.text });
    } catch (error) {
      this.failed.push({ what, status: 0, text: String(error) });
    }
    return undefined;
  }
}

/** Creates collections for the load. */
export async function createAll(project: Project, names = COLLECTIONS): Promise<void> {
  for (const name of names) {
    const { status } = await project.rw.post('/v1/namespaces', { name, dimension: 3, metric: 'squared_l2' });
    expect(status).to.equal(200);
  }
}

/** Begins the load of six clients of a project, at these coordinators. */
export const loadOn = (
  service: Service,
  project: Project,
  coordinators: readonly string[] = ['coordinator'],
  names = COLLECTIONS,
): ClusterLoad =>
  new ClusterLoad(
    Array.from({ length: CLIENTS }, (_, i) => service.client(project.rw.key, coordinators[i % coordinators.length])),
    names,
    seededRandom(testSeed()),
  );

/** Resolves after a hundred more writes and fifty more searches. */
export const busy = (service: Service, load: ClusterLoad): Promise<void> => {
  const [writes, searches] = [load.written.length, load.searches];
  return service.until(async () => load.written.length > writes + 100 && load.searches > searches + 50);
};

/** Asserts that every answered write is there exactly once. */
export async function expectAllThere(project: Project, { written }: ClusterLoad): Promise<void> {
  const { body } = await project.rw.get('/v1/namespaces');
  for (const { name, record_count } of body.collections) {
    const mine = written.filter(({ collection }) => collection === name);
    expect(new Set(mine.map(({ id }) => id)).size, `ids of ${name}`).to.equal(mine.length);
    expect(record_count).to.be.at.least(mine.length);
    for (const { id, values } of mine.filter((_, i) => i % 7 === 0 || i > mine.length - 20)) {
      const got = await project.rw.get(`/v1/records/${id}?collection=${name}`);
      expect(got.body.vector, `record ${id} of ${name}`).to.deep.equal(values);
    }
  }
}

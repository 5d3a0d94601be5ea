/** One client: calls, waits for the answer, pauses, and calls again. Most of its calls are about one collection. */
import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../shared/clock.js';
import type { Call } from '../history.js';
import type { SeededRandom } from '../random.js';
import type { Wanted } from './calls/call.js';
import { outcomeOf, requestOf } from './calls.js';
import { Choice, type ChoiceOptions } from './choice.js';
import type { MakeExchange } from './httpCall.js';
import type { Known } from './known.js';
import type { Recorder } from './recorder.js';

/** Longer than the service's own time-outs. */
const PATIENCE_MS = 15_000;
const IMPATIENT_MS = 150;
const RETRIES_MAX = 6;
/** One search in this many is sent many times at once: busy owners share searches with followers. */
const BURST_ONE_IN = 6;
const BURST = 10;

export interface ClientOptions extends ChoiceOptions {
  readonly number: number;
  /** Name → base address. */
  readonly coordinators: ReadonlyMap<string, string>;
  readonly key: string;
  /** Its own collection first. */
  readonly collections: readonly string[];
  readonly recorder: Recorder;
  readonly random: SeededRandom;
  /** Mean pause between an answer and the next call. */
  readonly thinkMs: number;
  readonly exchange: MakeExchange;
  /** Awaited before each call; undefined: never rests. */
  readonly restOver?: (() => Promise<void> | undefined) | undefined;
}

export class Client {
  readonly #choice: Choice;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #addresses: readonly (readonly [string, string])[];
  #asked = 0;
  #running = true;
  #loop: Promise<void> | undefined;

  constructor(private readonly options: ClientOptions) {
    this.#choice = new Choice(options.number, options.random, options);
    this.#addresses = [...options.coordinators];
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Resolves when its last call is answered. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
    this.#agent.destroy();
  }

  async #run(): Promise<void> {
    const { random, collections, known, thinkMs, restOver } = this.options;
    while (this.#running) {
      if (restOver !== undefined) await restOver();
      const collection = random.int(8) === 0 ? random.pick(collections) : collections[0]!;
      const wanted = this.#choice.next(collection, known.get(collection) as Known);
      if (wanted.op === 'search' && random.int(BURST_ONE_IN) === 0)
        await Promise.all(Array.from({ length: BURST }, () => this.#ask(wanted)));
      else await this.#askUntilSettled(wanted);
      await wait(2 * random.next() * thinkMs);
    }
  }

  /** Mostly repeats an insert with an unknown outcome. Some of those, and everything else, stay unknown. */
  async #askUntilSettled(wanted: Wanted): Promise<void> {
    const { random } = this.options;
    const sent = whatIsInserted(wanted);
    const mayRepeat = sent.length > 0 && sent.every(({ requestId }) => requestId !== null);
    for (let left = RETRIES_MAX; ; left--) {
      const { outcome } = await this.#ask(wanted);
      const isSettled = outcome.kind !== 'unknown' || !mayRepeat || left === 0 || !this.#running;
      if (isSettled || random.int(4) === 0) return;
      await wait(random.int(400));
    }
  }

  async #ask(wanted: Wanted): Promise<Call> {
    const { number: client, random, key, recorder, exchange } = this.options;
    const [via, address] = random.pick(this.#addresses);
    const { method, path, body, type, idempotencyKey } = requestOf(wanted);
    const patienceMs = random.int(25) === 0 ? random.int(IMPATIENT_MS) : PATIENCE_MS;
    const startMs = systemClock.monotonicMs();
    const requestId = `${client}-${++this.#asked}`;
    const sent = { method, url: `${address}${path}`, key, body, type, idempotencyKey, requestId };
    const answer = await exchange({ ...sent, patienceMs, agent: this.#agent });
    const endMs = systemClock.monotonicMs();
    const call = { ...wanted, client, requestId, via, startMs, endMs, outcome: outcomeOf(wanted, answer) } as Call;
    recorder.add(call);
    this.options.known.get(call.collection)?.learn(call);
    if (call.op === 'shred' && call.outcome.kind === 'ok') this.options.keys.gone(call.keyId);
    return call;
  }
}

function whatIsInserted(wanted: Wanted): readonly { readonly requestId: string | null }[] {
  switch (wanted.op) {
    case 'insert':
      return [wanted.row];
    case 'insertBatch':
      return wanted.rows;
    case 'insertEncrypted':
      return [wanted.secret];
    default:
      return [];
  }
}

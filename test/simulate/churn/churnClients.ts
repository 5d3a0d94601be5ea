/**
 * Clients that create and delete collections in a project of their own. They use few names, so that they use each
 * other's collections, and create new ones under the names of deleted ones.
 */
import { Agent } from 'node:http';
import { systemClock } from '../../../shared/clock.js';
import type { MakeExchange } from '../../soak/clients/httpCall.js';
import type { SeededRandom } from '../../soak/random.js';
import {
  type ChurnCall,
  type ChurnOutcome,
  type ChurnWanted,
  describeCall,
  outcomeOf,
  requestOf,
} from './churnCalls.js';

/** Names of collections: more than the project may have collections. */
const NAMES = ['p1', 'p2', 'p3', 'p4', 'p5'];
const OPS = [
  ...(['create', 'create', 'delete', 'insert', 'insert', 'search', 'search', 'list'] as const),
  ...(['move', 'searchAlias', 'searchAlias'] as const),
  ...(['insertUnderKey', 'insertUnderKey', 'searchPast', 'shred'] as const),
];
/** Keys that inserts name at a time: a shredded one is replaced. */
const KEYS = 3;
/** One insert in this many names the key before, which is shredded. */
const FORMER_ONE_IN = 8;
/** Greatest age of the states that are searched. */
const PAST_MS = 20_000;
/** Time after which a client gives up: longer than the service's own time-outs. */
const PATIENCE_MS = 15_000;
/** One call in this many has a client that gives up within IMPATIENT_MS. */
const IMPATIENT_ONE_IN = 25;
const IMPATIENT_MS = 150;

export interface ChurnOptions {
  /** Key of the project. */
  readonly key: string;
  /** Name → base address. */
  readonly coordinators: ReadonlyMap<string, string>;
  readonly exchange: MakeExchange;
  /** Receives a line about each call. */
  readonly note: (line: string) => void;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const keyIdOf = (place: number, number: number): string => (KEYS * number + place).toString(16).padStart(32, '0');

export class ChurnClients {
  readonly calls: ChurnCall[] = [];
  readonly #agent = new Agent();
  readonly #loops: Promise<void>[] = [];
  #tags = 0;
  /** Number of keys that were shredded, or may be, in the place of each. */
  readonly #shreds = new Array<number>(KEYS).fill(0);

  constructor(private readonly options: ChurnOptions) {}

  /** Starts clients that call for `forMs`. Each pauses for `thinkMs` on average between two calls. */
  begin(clients: number, forMs: number, thinkMs: number, seeds: SeededRandom): void {
    const untilMs = systemClock.monotonicMs() + forMs;
    for (let i = 0; i < clients; i++) this.#loops.push(this.#askUntil(untilMs, thinkMs, seeds));
  }

  /** Resolves when the last call is answered. */
  async over(): Promise<void> {
    await Promise.all(this.#loops);
  }

  /** Sends one call to one coordinator. */
  async ask(via: string, wanted: ChurnWanted, patienceMs = PATIENCE_MS): Promise<ChurnOutcome> {
    const { key, coordinators, exchange, note } = this.options;
    const { method, path, body } = requestOf(wanted);
    const startMs = systemClock.monotonicMs();
    const url = `${coordinators.get(via)}${path}`;
    const answer = await exchange({ method, url, key, body, patienceMs, agent: this.#agent });
    const outcome = outcomeOf(wanted, answer);
    const call = { wanted, via, startMs, endMs: systemClock.monotonicMs(), outcome };
    this.calls.push(call);
    note(describeCall(call));
    return outcome;
  }

  async #askUntil(untilMs: number, thinkMs: number, random: SeededRandom): Promise<void> {
    const vias = [...this.options.coordinators.keys()];
    while (systemClock.monotonicMs() < untilMs) {
      const wanted = this.#wanted(random);
      const patienceMs = random.int(IMPATIENT_ONE_IN) === 0 ? random.int(IMPATIENT_MS) : PATIENCE_MS;
      const { kind } = await this.ask(random.pick(vias), wanted, patienceMs);
      // Search at once, perhaps at a coordinator that has not received the move.
      if (wanted.op === 'move' && kind === 'done') await this.ask(random.pick(vias), { op: 'searchAlias' });
      await wait(2 * random.next() * thinkMs);
    }
  }

  #wanted(random: SeededRandom): ChurnWanted {
    const op = random.pick(OPS);
    const name = random.pick(NAMES);
    switch (op) {
      case 'insert':
        return { op, name, tag: ++this.#tags };
      case 'insertUnderKey':
        return { op: 'insert', name, tag: ++this.#tags, keyId: this.#key(random, random.int(FORMER_ONE_IN) === 0) };
      case 'searchPast':
        return { op, name, asOf: new Date(systemClock.nowMs() - random.int(PAST_MS)).toISOString() };
      case 'shred':
        return { op, keyId: this.#endedKey(random) };
      case 'list':
      case 'searchAlias':
        return { op };
      default:
        return { op, name };
    }
  }

  #key(random: SeededRandom, isFormer: boolean): string {
    const place = random.int(KEYS);
    return keyIdOf(place, Math.max(0, this.#shreds[place]! - Number(isFormer)));
  }

  #endedKey(random: SeededRandom): string {
    const place = random.int(KEYS);
    return keyIdOf(place, this.#shreds[place]!++);
  }
}

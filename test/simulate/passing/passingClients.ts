/**
 * Clients that create and delete collections in a project of their own. Names are few, so that clients meet each
 * other's collections, and earlier ones of a name.
 */
import { Agent } from 'node:http';
import { systemClock } from '../../../shared/clock.js';
import type { MakeExchange } from '../../soak/clients/httpCall.js';
import type { SeededRandom } from '../../soak/random.js';
import {
  describeCall,
  outcomeOf,
  type PassingCall,
  type PassingOutcome,
  type PassingWanted,
  requestOf,
} from './passingCalls.js';

/** Names, more than the project may have collections. */
const NAMES = ['p1', 'p2', 'p3', 'p4', 'p5'];
const OPS = [
  ...(['create', 'create', 'delete', 'insert', 'insert', 'search', 'search', 'list'] as const),
  ...(['move', 'searchAlias', 'searchAlias'] as const),
];
/** Longer than the service's own time-outs. */
const PATIENCE_MS = 15_000;
const IMPATIENT_ONE_IN = 25;
const IMPATIENT_MS = 150;

export interface PassingOptions {
  /** Key of the project. */
  readonly key: string;
  /** Name → base address. */
  readonly coordinators: ReadonlyMap<string, string>;
  readonly exchange: MakeExchange;
  /** Called with a line for each call. */
  readonly note: (line: string) => void;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class PassingClients {
  readonly calls: PassingCall[] = [];
  readonly #agent = new Agent();
  readonly #loops: Promise<void>[] = [];
  #marks = 0;

  constructor(private readonly options: PassingOptions) {}

  /** Starts the clients: each calls until `forMs` have passed, and pauses for `thinkMs` on average. */
  begin(clients: number, forMs: number, thinkMs: number, seeds: SeededRandom): void {
    const untilMs = systemClock.monotonicMs() + forMs;
    for (let i = 0; i < clients; i++) this.#loops.push(this.#askUntil(untilMs, thinkMs, seeds));
  }

  /** Resolves when the last call is answered. */
  async over(): Promise<void> {
    await Promise.all(this.#loops);
  }

  /** Sends one call to one coordinator. */
  async ask(via: string, wanted: PassingWanted, patienceMs = PATIENCE_MS): Promise<PassingOutcome> {
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
      // At once, perhaps at a coordinator that has not received the move.
      if (wanted.op === 'move' && kind === 'done') await this.ask(random.pick(vias), { op: 'searchAlias' });
      await wait(2 * random.next() * thinkMs);
    }
  }

  #wanted(random: SeededRandom): PassingWanted {
    const op = random.pick(OPS);
    const name = random.pick(NAMES);
    if (op === 'insert') return { op, name, mark: ++this.#marks };
    return op === 'list' || op === 'searchAlias' ? { op } : { op, name };
  }
}

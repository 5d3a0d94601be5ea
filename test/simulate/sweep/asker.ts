/** The only client of a sweep. */
import { Agent } from 'node:http';
import { systemClock } from '../../../shared/clock.js';
import type { HttpRequest, Wanted } from '../../soak/clients/calls/call.js';
import { outcomeOf, requestOf } from '../../soak/clients/calls.js';
import type { Draws } from '../../soak/clients/choices/draws.js';
import { type Exchange, exchange as exchangeByHttp, type MakeExchange } from '../../soak/clients/httpCall.js';
import type { Recorder } from '../../soak/clients/recorder.js';
import type { Call } from '../../soak/history.js';

const PATIENCE_MS = 15_000;

export interface AskerOptions {
  /** Base address of a coordinator, and its name. */
  readonly address: string;
  readonly via: string;
  readonly key: string;
  readonly draws: Draws;
  readonly recorder: Recorder;
  readonly exchange?: MakeExchange;
}

export class Asker {
  readonly #agent = new Agent();

  constructor(private readonly options: AskerOptions) {}

  get draws(): Draws {
    return this.options.draws;
  }

  /** Makes a call that is part of the history. */
  async call(wanted: Wanted): Promise<Call> {
    const { via, recorder } = this.options;
    const startMs = systemClock.monotonicMs();
    const answer = await this.ask(requestOf(wanted));
    const endMs = systemClock.monotonicMs();
    const call = { ...wanted, client: 0, via, startMs, endMs, outcome: outcomeOf(wanted, answer) } as Call;
    recorder.add(call);
    return call;
  }

  ask({ method, path, body, idempotencyKey }: HttpRequest): Promise<Exchange> {
    const { address, key, exchange = exchangeByHttp } = this.options;
    const request = { method, url: `${address}${path}`, key, body, idempotencyKey };
    return exchange({ ...request, patienceMs: PATIENCE_MS, agent: this.#agent });
  }
}

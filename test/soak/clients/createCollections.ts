/** Creates the collections of a soak before any fault. */
import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../shared/clock.js';
import type { Call } from '../history.js';
import type { LogOf } from '../readLogs.js';
import type { CollectionShape } from '../shapes.js';
import type { Wanted } from './calls/call.js';
import { outcomeOf, requestOf } from './calls.js';
import type { Draws } from './choices/draws.js';
import type { Asking, Exchange, MakeExchange } from './httpCall.js';
import type { Recorder } from './recorder.js';

const WITHIN_MS = 60_000;
const PATIENCE_MS = 15_000;
const AGAIN_MS = 200;
const BATCH_ROWS = 500;

export interface CreateOptions {
  /** Base address of a coordinator, and its name. */
  readonly address: string;
  readonly via: string;
  readonly key: string;
  readonly draws: Draws;
  /** Records the writes. */
  readonly recorder: Recorder;
  readonly exchange: MakeExchange;
}

/** Creates them one after another, each with retries: a new cluster may need a while. */
export async function createCollections(shapes: readonly CollectionShape[], options: CreateOptions): Promise<LogOf[]> {
  const agent = new Agent({ keepAlive: true });
  const made: LogOf[] = [];
  for (const shape of shapes) {
    const id = await create(shape, options, agent);
    for (let rows = 0; rows < shape.rows; rows += BATCH_ROWS) await fill(shape, options, agent);
    if (shape.index !== 'none') await configure(shape, options, agent);
    made.push({ name: shape.name, id });
  }
  agent.destroy();
  return made;
}

async function create(shape: CollectionShape, options: CreateOptions, agent: Agent): Promise<number> {
  const { name, dimension, auditReads, accessRetentionDays, ttlSecs, normalise } = shape;
  const chosen = {
    ...(auditReads && { audit_reads: true }),
    ...(accessRetentionDays && { access_retention_days: accessRetentionDays }),
    ...(ttlSecs && { ttl_secs: ttlSecs }),
    ...(normalise && { normalise }),
  };
  const body = { name, dimension, metric: 'squared_l2', ...chosen };
  const answer = await insist(
    asking(options, agent, { method: 'POST', path: '/v1/namespaces', body }),
    `collection ${name} cannot be created`,
    options.exchange,
  );
  return (answer.body as { id: number }).id;
}

function fill({ name, dimension }: CollectionShape, options: CreateOptions, agent: Agent): Promise<void> {
  const rows = Array.from({ length: BATCH_ROWS }, () => ({ ...options.draws.row(dimension), requestId: null }));
  return record({ op: 'insertBatch', collection: name, rows }, options, agent);
}

function configure({ name, index }: CollectionShape, options: CreateOptions, agent: Agent): Promise<void> {
  return record({ op: 'configureIndex', collection: name, kind: index }, options, agent);
}

/** Makes a call that is part of the history, whatever its outcome. */
async function record(wanted: Wanted, options: CreateOptions, agent: Agent): Promise<void> {
  const { exchange } = options;
  const startMs = systemClock.monotonicMs();
  const answer = await exchange(asking(options, agent, requestOf(wanted)));
  const endMs = systemClock.monotonicMs();
  const outcome = outcomeOf(wanted, answer);
  options.recorder.add({ ...wanted, client: 0, via: options.via, startMs, endMs, outcome } as Call);
}

const asking = (
  { address, key }: CreateOptions,
  agent: Agent,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body?: object },
): Asking => ({ method, url: `${address}${path}`, key, body, patienceMs: PATIENCE_MS, agent });

async function insist(
  asked: Asking,
  complaint: string,
  exchange: MakeExchange,
): Promise<Exchange & { readonly status: number }> {
  const giveUpMs = systemClock.monotonicMs() + WITHIN_MS;
  for (;;) {
    const answer = await exchange(asked);
    if (answer.status === 200) return answer;
    if (systemClock.monotonicMs() > giveUpMs) throw new Error(`${complaint}: ${JSON.stringify(answer)}`);
    await wait(AGAIN_MS);
  }
}

/** Copies the swept collection by an export and an import, and continues an interrupted import. */
import type { Exchange } from '../../soak/clients/httpCall.js';
import { COLLECTION, type Stage } from './stage.js';

interface Exported {
  readonly origin: object;
  readonly dimension: number;
  readonly metric: string;
  readonly created_at_ms: number;
  readonly created_by?: object;
  readonly sequence: number;
  readonly chain_head: string;
  readonly state_hash: string;
}

/** Each export is made once: a repeated import uses it, whatever was written since. */
const exported = new WeakMap<Stage, { readonly facts: Exported; readonly frames: Buffer }>();

/** Throws an Error if the import cannot be finished. */
export async function importAgain(stage: Stage): Promise<void> {
  const { ask, number } = stage;
  let known = exported.get(stage);
  if (known === undefined) {
    const facts = answerOf<Exported>(await ask.ask({ method: 'GET', path: `/v1/export?collection=${COLLECTION}` }));
    const path = `/v1/export/log?collection=${COLLECTION}`;
    known = { facts, frames: answerOf<Buffer>(await ask.ask({ method: 'GET', path })) };
    exported.set(stage, known);
  }
  const { origin, dimension, metric, created_at_ms, created_by, sequence, chain_head, state_hash } = known.facts;
  const name = `i${number}`;
  const announced = { name, origin, dimension, metric, created_at_ms, created_by, sequence, chain_head, state_hash };
  const begun = await ask.ask({ method: 'POST', path: '/v1/import', body: announced });
  if (answerOf<{ status: string }>(begun).status === 'finished') return;
  answerOf(await ask.ask({ method: 'POST', path: `/v1/import/${name}/log`, body: known.frames }));
  answerOf(await ask.ask({ method: 'POST', path: `/v1/import/${name}/finish` }));
}

function answerOf<T>(exchange: Exchange): T {
  if (exchange.status !== 200) throw new Error(`the import is refused: ${JSON.stringify(exchange)}`);
  return exchange.body as T;
}

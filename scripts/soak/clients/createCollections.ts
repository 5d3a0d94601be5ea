import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../shared/clock.js';
import type { LogOf } from '../readLogs.js';
import { DIMENSION } from './choice.js';
import { exchange } from './httpCall.js';

const WITHIN_MS = 60_000;
const PATIENCE_MS = 15_000;
const AGAIN_MS = 200;

/** Makes them one after another, each tried until it is there: a cluster that has just begun may need a while. */
export async function createCollections(address: string, key: string, names: readonly string[]): Promise<LogOf[]> {
  const agent = new Agent({ keepAlive: true });
  const giveUpMs = systemClock.monotonicMs() + WITHIN_MS;
  const create = async (name: string): Promise<LogOf> => {
    for (;;) {
      const body = { name, dimension: DIMENSION, metric: 'squared_l2' };
      const asking = { method: 'POST', url: `${address}/v1/namespaces`, key, body, patienceMs: PATIENCE_MS, agent };
      const answer = await exchange(asking);
      if (answer.status === 200) return { name, id: (answer.body as { id: number }).id };
      if (systemClock.monotonicMs() > giveUpMs)
        throw new Error(`collection ${name} cannot be made: ${JSON.stringify(answer)}`);
      await wait(AGAIN_MS);
    }
  };
  const made: LogOf[] = [];
  for (const name of names) made.push(await create(name));
  agent.destroy();
  return made;
}

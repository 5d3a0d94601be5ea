/** Checks at the end that every index has the requested type. */
import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../shared/clock.js';
import { exchange } from './httpCall.js';

const PATIENCE_MS = 10_000;
const AGAIN_MS = 250;

/** Waits up to `withinMs`. Returns the indexes that still differ, with their states. */
export async function unbuiltIndexes(
  address: string,
  key: string,
  collections: Iterable<string>,
  withinMs: number,
): Promise<string[]> {
  const agent = new Agent({ keepAlive: true });
  const giveUpMs = systemClock.monotonicMs() + withinMs;
  const wrongWith = async (name: string): Promise<string | undefined> => {
    for (;;) {
      const url = `${address}/v1/namespaces/${name}/index`;
      const { status, ...exchanged } = await exchange({ method: 'GET', url, key, patienceMs: PATIENCE_MS, agent });
      const state = 'body' in exchanged ? (exchanged.body as { active_type?: string; desired_type?: string }) : {};
      if (status === 200 && state.active_type === state.desired_type) return undefined;
      if (systemClock.monotonicMs() > giveUpMs) return `the index of ${name}: ${JSON.stringify(exchanged)}`;
      await wait(AGAIN_MS);
    }
  };
  const wrong = await Promise.all([...collections].map(wrongWith));
  agent.destroy();
  return wrong.filter((what) => what !== undefined);
}

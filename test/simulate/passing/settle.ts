/** Checks the end of a run: every coordinator lists the same collections, and no leftovers of other ones exist. */
import type { SimulatedService } from '../cluster/simulatedService.js';
import { leftoversIn } from './leftovers.js';
import type { Listed } from './passingCalls.js';
import type { PassingClients } from './passingClients.js';

/** Longest time until that holds, in milliseconds. */
const SETTLED_MS = 300_000;
const AGAIN_MS = 1_000;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns what is still wrong after that time; empty if nothing is. `others`: ids of other projects' collections. */
export async function settlePassing(
  service: SimulatedService,
  passing: PassingClients,
  others: readonly number[],
): Promise<string[]> {
  await passing.over();
  const untilMs = service.world.monotonicMs() + SETTLED_MS;
  for (;;) {
    const wrong = await unsettled(service, passing, others);
    if (wrong.length === 0 || service.world.monotonicMs() > untilMs) return wrong;
    await wait(AGAIN_MS);
  }
}

async function unsettled(
  service: SimulatedService,
  passing: PassingClients,
  others: readonly number[],
): Promise<string[]> {
  const lists: string[] = [];
  let listed: readonly Listed[] = [];
  for (const via of service.coordinatorNames) {
    const outcome = await passing.ask(via, { op: 'list' });
    if (outcome.kind !== 'listed') return [`${via} does not list the collections: ${JSON.stringify(outcome)}`];
    listed = outcome.collections;
    lists.push(JSON.stringify(listed));
  }
  if (new Set(lists).size > 1) return [`the coordinators list different collections: ${lists.join(' ')}`];
  const left = leftoversIn(service, new Set([...others, ...listed.map(({ id }) => id)]));
  return left.length === 0 ? [] : [`left of deleted collections: ${left.join(', ')}`];
}

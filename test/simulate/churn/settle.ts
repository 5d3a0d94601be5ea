/** The end of a run: every coordinator lists equal collections, and nothing is left of deleted ones. */
import type { SimulatedService } from '../cluster/simulatedService.js';
import type { Listed } from './churnCalls.js';
import type { ChurnClients } from './churnClients.js';
import { leftoversIn, plainContentsIn } from './leftovers.js';

/** Longest wait for a settled state. */
const SETTLED_MS = 300_000;
/** Pause between two checks. */
const AGAIN_MS = 1_000;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Waits until nothing is wrong, for at most SETTLED_MS of simulated time. Returns what is wrong then. `others`: ids of
 * other projects' collections.
 */
export async function churnUnsettled(
  service: SimulatedService,
  churn: ChurnClients,
  others: readonly number[],
): Promise<string[]> {
  await churn.over();
  const untilMs = service.world.monotonicMs() + SETTLED_MS;
  for (;;) {
    const wrong = await unsettled(service, churn, others);
    if (wrong.length === 0 || service.world.monotonicMs() > untilMs) return wrong;
    await wait(AGAIN_MS);
  }
}

/** Returns what is wrong now. */
async function unsettled(service: SimulatedService, churn: ChurnClients, others: readonly number[]): Promise<string[]> {
  const lists: string[] = [];
  let listed: readonly Listed[] = [];
  for (const via of service.coordinatorNames) {
    const outcome = await churn.ask(via, { op: 'list' });
    if (outcome.kind !== 'listed') return [`${via} does not list the collections: ${JSON.stringify(outcome)}`];
    listed = outcome.collections;
    lists.push(JSON.stringify(listed));
  }
  if (new Set(lists).size > 1) return [`the coordinators list different collections: ${lists.join(' ')}`];
  const left = leftoversIn(service, new Set([...others, ...listed.map(({ id }) => id)]));
  const plain = plainContentsIn(service);
  return [
    ...(left.length === 0 ? [] : [`left of deleted collections: ${left.join(', ')}`]),
    ...(plain.length === 0 ? [] : [`content of records under keys, not encrypted: ${plain.join(', ')}`]),
  ];
}

/** Whether the simulation finds faults that are put into the product on purpose. */
import { grouped, say, seconds } from '../../scripts/terminal/line.js';
import { systemClock } from '../../shared/clock.js';
import { Child, type ToldResult } from './children.js';
import { shapeOf } from './cluster/shape.js';
import { makeMutant } from './mutants.js';
import { MUTATIONS, type Mutation } from './mutations.js';
import type { SimulateOptions } from './options.js';
import { paceOf } from './pace.js';
import { World } from './world/world.js';

interface Search {
  readonly found: ToldResult | undefined;
  readonly clusters: number;
  readonly tookMs: number;
}

/** Returns the exit code: 1 where one was not found. */
export async function findMutations(options: SimulateOptions, signal: AbortSignal): Promise<number> {
  const wanted = MUTATIONS.filter(({ name }) => name.includes(options.only));
  let missed = 0;
  for (const mutation of wanted) {
    if (signal.aborted) break;
    const { found, clusters, tookMs } = await search(mutation, options, signal);
    if (found === undefined) missed++;
    const where = `${grouped(clusters)} clusters, ${seconds(tookMs)}`;
    const text =
      found === undefined
        ? `NOT found: ${mutation.name} (${where})`
        : `found: ${mutation.name} (${where}, seed ${found.seed})`;
    say(found === undefined ? 'failed' : 'done', 'mutation', text);
    if (found !== undefined) process.stdout.write(`    ${found.failures[0]!.split('\n')[0]!.slice(0, 160)}\n`);
  }
  say(missed > 0 ? 'failed' : 'done', 'mutations', `${wanted.length - missed} of ${wanted.length} found`);
  return missed > 0 ? 1 : 0;
}

async function search(mutation: Mutation, options: SimulateOptions, signal: AbortSignal): Promise<Search> {
  const { seed, pace, jobs, withinMs } = options;
  const { durationMs } = paceOf(seed, pace);
  const program = await makeMutant(mutation);
  const begunMs = systemClock.monotonicMs();
  const children = Array.from({ length: jobs }, () => new Child(program));
  let found: ToldResult | undefined;
  let clusters = 0;
  const isOver = (): boolean => found !== undefined || signal.aborted || systemClock.monotonicMs() - begunMs > withinMs;
  let last = seed - 1;
  const nextSeed = (): number => {
    do last++;
    while (!mutation.isIn(shapeOf(new World(last).random('shape'), durationMs)));
    return last;
  };
  const work = async (child: Child): Promise<void> => {
    while (!isOver()) {
      clusters++;
      const result = await child.run({ seed: nextSeed(), durationMs });
      if (result.failures.length > 0) found ??= result;
    }
  };
  await Promise.all(children.map(work));
  await Promise.all(children.map((child) => child.end()));
  return { found, clusters, tookMs: systemClock.monotonicMs() - begunMs };
}

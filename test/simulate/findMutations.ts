/** Checks that the simulation finds mutations: a cluster fails with the mutation and passes without it. */
import { grouped, say, seconds } from '../../scripts/terminal/line.js';
import { systemClock } from '../../shared/clock.js';
import { Child, type ChildResult } from './children.js';
import { shapeOf } from './cluster/shape.js';
import { makeMutant } from './mutants.js';
import { MUTATIONS, type Mutation } from './mutations.js';
import type { SimulateOptions } from './options.js';
import { paceOf } from './pace.js';
import { World } from './world/world.js';

interface Search {
  readonly found: ChildResult | undefined;
  /** Clusters that fail without the mutation too. */
  readonly others: readonly ChildResult[];
  readonly clusters: number;
  readonly tookMs: number;
}

/** Returns the exit code: 1 if a mutation was not found or a cluster fails without one. */
export async function findMutations(options: SimulateOptions, signal: AbortSignal): Promise<number> {
  const wanted = MUTATIONS.filter(({ name }) => name.includes(options.only));
  let missed = 0;
  let others = 0;
  for (const mutation of wanted) {
    if (signal.aborted) break;
    const { found, others: alike, clusters, tookMs } = await search(mutation, options, signal);
    others += alike.length;
    if (found === undefined) missed++;
    const where = `${grouped(clusters)} clusters, ${seconds(tookMs)}`;
    const text =
      found === undefined
        ? `NOT found: ${mutation.name} (${where})`
        : `found: ${mutation.name} (${where}, seed ${found.seed})`;
    say(found === undefined ? 'failed' : 'done', 'mutation', text);
    if (found !== undefined) showFirst(found);
    for (const other of alike) {
      say('failed', 'mutation', `seed ${other.seed} fails without any`);
      showFirst(other);
    }
  }
  say(missed > 0 ? 'failed' : 'done', 'mutations', `${wanted.length - missed} of ${wanted.length} found`);
  return missed > 0 || others > 0 ? 1 : 0;
}

const showFirst = ({ failures }: ChildResult): void =>
  void process.stdout.write(`    ${failures[0]!.split('\n')[0]!.slice(0, 160)}\n`);

async function search(mutation: Mutation, options: SimulateOptions, signal: AbortSignal): Promise<Search> {
  const { seed, pace, jobs, withinMs } = options;
  const { durationMs } = paceOf(seed, pace);
  const program = await makeMutant(mutation);
  const begunMs = systemClock.monotonicMs();
  const children = Array.from({ length: jobs }, () => [new Child(program), new Child()] as const);
  const others: ChildResult[] = [];
  let found: ChildResult | undefined;
  let clusters = 0;
  const isOver = (): boolean => found !== undefined || signal.aborted || systemClock.monotonicMs() - begunMs > withinMs;
  let last = seed - 1;
  const nextSeed = (): number => {
    do last++;
    while (!mutation.isIn(shapeOf(new World(last).random('shape'), durationMs)));
    return last;
  };
  const work = async ([mutant, sound]: (typeof children)[number]): Promise<void> => {
    while (!isOver()) {
      clusters++;
      const order = { seed: nextSeed(), durationMs };
      const result = await mutant.run(order);
      if (result.failures.length === 0) continue;
      const without = await sound.run(order);
      if (without.failures.length > 0) others.push(without);
      else found ??= result;
    }
  };
  await Promise.all(children.map(work));
  await Promise.all(children.flat().map((child) => child.end()));
  return { found, others, clusters, tookMs: systemClock.monotonicMs() - begunMs };
}

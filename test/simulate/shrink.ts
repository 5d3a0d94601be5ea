/** Shrinks a failing cluster: removes every fault, and as much time, that the failure does not need. */
import type { RunOrder } from './child.js';
import type { ChildResult } from './children.js';

type Run = (order: RunOrder) => Promise<ChildResult>;

const MS_PER_SECOND = 1_000;

export interface Shrunk {
  readonly order: RunOrder;
  readonly result: ChildResult;
  /** Numbers of the remaining faults. */
  readonly faults: readonly number[];
}

/** Kind of a failure: its first words. */
export const kindOf = (failure: string): string => failure.split(/[(:\n]/, 1)[0]!.trim();

/** `faults`: the numbers of the plan's faults that were carried out. Throws an Error if the cluster does not fail. */
export async function shrink(first: RunOrder, run: Run, report: (text: string) => void): Promise<Shrunk> {
  let result = await run(first);
  if (result.failures.length === 0) throw new Error(`the cluster of seed ${first.seed} does not fail`);
  const wanted = new Set(result.failures.map(kindOf));
  const isAlike = ({ failures }: ChildResult): boolean => failures.some((failure) => wanted.has(kindOf(failure)));
  let order = first;
  const attempt = async (smaller: RunOrder): Promise<boolean> => {
    const tried = await run(smaller);
    if (!isAlike(tried)) return false;
    order = smaller;
    result = tried;
    return true;
  };
  /** A later fault changes nothing earlier, so the shortest failing time is found by bisection. */
  const shorten = async (): Promise<void> => {
    let enough = order.durationMs / MS_PER_SECOND;
    for (let tooShort = 0; enough - tooShort > 1; ) {
      const middle = Math.floor((enough + tooShort) / 2);
      if (await attempt({ ...order, durationMs: middle * MS_PER_SECOND })) enough = middle;
      else tooShort = middle;
    }
    report(`${enough} s are left`);
  };
  let faults = numbersIn(result);
  report(`${faults.length} faults in ${order.durationMs / MS_PER_SECOND} s`);
  await shorten();
  faults = numbersIn(result);
  for (let size = Math.ceil(faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < faults.length; ) {
      const left = [...faults.slice(0, at), ...faults.slice(at + size)];
      const without = [...new Set([...(first.without ?? []), ...allBut(left, result)])];
      if (await attempt({ ...order, without })) {
        faults = left;
        report(`${faults.length} faults are left`);
      } else at += size;
    }
  if (faults.length > 0) await shorten();
  return { order, result, faults };
}

const numbersIn = ({ done }: ChildResult): number[] => done.map(({ number }) => number);

/** Numbers of the planned faults that are left out. */
function allBut(left: readonly number[], { planned }: ChildResult): number[] {
  const kept = new Set(left);
  return Array.from({ length: planned }, (_, number) => number).filter((number) => !kept.has(number));
}

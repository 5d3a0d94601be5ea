/** Makes a failing cluster smaller: leaves out every fault, and as much time, without which it fails alike. */
import type { RunOrder } from './child.js';
import type { ToldResult } from './children.js';

type Run = (order: RunOrder) => Promise<ToldResult>;

/** Time after the last fault that is needed, in milliseconds. */
const SETTLE_MS = 2_000;

export interface Shrunk {
  readonly order: RunOrder;
  readonly result: ToldResult;
  /** The numbers of the faults that are left. */
  readonly faults: readonly number[];
}

/** What a failure is about: its first words. */
export const kindOf = (failure: string): string => failure.split(/[(:\n]/, 1)[0]!.trim();

/** `faults`: the numbers of the plan that were carried out. Throws an Error where the cluster does not fail. */
export async function shrink(first: RunOrder, run: Run, tell: (text: string) => void): Promise<Shrunk> {
  let result = await run(first);
  if (result.failures.length === 0) throw new Error(`the cluster of seed ${first.seed} does not fail`);
  const wanted = new Set(result.failures.map(kindOf));
  const isAlike = ({ failures }: ToldResult): boolean => failures.some((failure) => wanted.has(kindOf(failure)));
  let order = first;
  const attempt = async (smaller: RunOrder): Promise<boolean> => {
    const tried = await run(smaller);
    if (!isAlike(tried)) return false;
    order = smaller;
    result = tried;
    return true;
  };
  let faults = numbersIn(result);
  for (let size = Math.ceil(faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < faults.length; ) {
      const left = [...faults.slice(0, at), ...faults.slice(at + size)];
      const without = [...new Set([...(first.without ?? []), ...allBut(left, result)])];
      if (await attempt({ ...order, without })) {
        faults = left;
        tell(`${faults.length} faults are left`);
      } else at += size;
    }
  const shorter = Math.ceil(lastFaultMs(result) + SETTLE_MS);
  if (
    shorter < order.durationMs &&
    (await attempt({ ...order, planMs: order.planMs ?? order.durationMs, durationMs: shorter }))
  )
    tell(`${shorter / 1_000} s are left`);
  return { order, result, faults };
}

const numbersIn = ({ done }: ToldResult): number[] => done.map(({ number }) => number);

const lastFaultMs = ({ done }: ToldResult): number => Math.max(0, ...done.map(({ atMs }) => atMs));

/** Every number of the plan but those that are left. */
function allBut(left: readonly number[], { planned }: ToldResult): number[] {
  const kept = new Set(left);
  return Array.from({ length: planned }, (_, number) => number).filter((number) => !kept.has(number));
}

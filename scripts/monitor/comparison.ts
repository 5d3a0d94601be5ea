/**
 * Compares the checkpoints in the service log with the collections' own logs, which the service serves to a project's API key.
 * Each logged checkpoint must have the root that the collection's log has at the checkpoint's size. It must also continue the
 * previously logged one. Pending comparisons
 * are plain JSON, so that they can be stored while the service does not answer.
 */
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { LogAlarm, type LogEntry, toHex, verifyConsistency } from '../../verifier/index.js';
import { counted } from '../terminal/line.js';

/** A log at one size. */
export interface SizeAndRoot {
  readonly size: number;
  /** Hex. */
  readonly root: string;
}

/** A pending comparison of a logged checkpoint. */
export interface ToCompare {
  readonly id: number;
  /** Index of the entry. */
  readonly index: number;
  /** The previously logged checkpoint; null without one. */
  readonly from: SizeAndRoot | null;
  readonly to: SizeAndRoot;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Access to the service with a key. */
export interface KeyHolder {
  /** Asks for a path. Throws an Error if no answer arrives. */
  ask(path: string): Promise<Answer>;
  /** Names by id of the existing collections. */
  listed(): Promise<ReadonlyMap<string, string>>;
}

const AT_ONCE = 8;
const [OK, INVALID] = [200, 400];
/** Statuses of a collection that was just deleted, or is being imported and cannot be read yet. */
const [NOT_FOUND, CONFLICT] = [404, 409];

/** Lists the comparisons for new entries, and stores the newest checkpoint of each collection in `last`. */
export function toCompare(
  entries: readonly LogEntry[],
  firstIndex: number,
  isWanted: (id: string) => boolean,
  last: Map<string, SizeAndRoot>,
): ToCompare[] {
  return entries.flatMap((entry, i) => {
    if (entry.type !== 'checkpoint' || !isWanted(String(entry.collectionId))) return [];
    const { collectionId: id, size, root } = entry;
    const from = last.get(String(id)) ?? null;
    last.set(String(id), { size, root });
    return [{ id, index: firstIndex + i, from, to: { size, root } }];
  });
}

/**
 * Compares these checkpoints. Returns those that could not be compared yet, with the first error as the reason. Throws LogAlarm
 * if a checkpoint is not of the served log.
 * `names`: of the existing collections, by id.
 */
export async function compare(
  checkpoints: readonly ToCompare[],
  names: ReadonlyMap<string, string>,
  holder: KeyHolder,
): Promise<{ readonly left: ToCompare[]; readonly reason: string | undefined }> {
  let reason: string | undefined;
  const outcomes = await mapConcurrent(checkpoints, AT_ONCE, async (one) => {
    const name = names.get(String(one.id));
    if (name === undefined) return [one];
    try {
      return (await isCompared(one, name, holder)) ? [] : [one];
    } catch (error) {
      if (error instanceof LogAlarm) throw error;
      reason ??= (error as Error).message;
      return [one];
    }
  });
  return { left: outcomes.flat(), reason };
}

/** False if it cannot be compared yet. Throws LogAlarm, and an Error if the service does not answer. */
async function isCompared(one: ToCompare, name: string, holder: KeyHolder): Promise<boolean> {
  const { from, to, id, index } = one;
  const query = new URLSearchParams({
    ...{ collection: name, from: String((from ?? to).size - 1), to: String(to.size - 1) },
  });
  const answer = await holder.ask(`/v1/proof/consistency?${query}`);
  if (answer.status === NOT_FOUND || answer.status === CONFLICT) return false;
  if (answer.status !== OK && answer.status !== INVALID)
    throw new Error(`the log of ${name} cannot be compared: the service answers ${answer.status}`);
  const difference = answer.status === OK ? differenceIn(answer.text, from, to) : `it has no event ${to.size - 1}`;
  if (difference === undefined) return true;
  // Another collection may have the name now.
  if ((await holder.listed()).get(String(id)) !== name) return false;
  const signed = await holder.ask(`/v1/proof/checkpoint?${new URLSearchParams({ collection: name })}`);
  throw new LogAlarm(
    `the log of the collection ${name}, id ${id}, is not the one that was logged as entry ${index}: ${difference}`,
    [`${JSON.stringify(one)}\n`, `${answer.text}\n`, `${signed.text}\n`],
  );
}

/** The difference between the served log and the logged checkpoint; undefined without one. */
function differenceIn(text: string, from: SizeAndRoot | null, to: SizeAndRoot): string | undefined {
  try {
    const served = verifyConsistency(JSON.parse(text));
    const other = [
      [served.from, from ?? to],
      [served.to, to],
    ] as const;
    const [, logged] =
      other.find(([log, { size, root }]) => Number(log.size) !== size || toHex(log.root) !== root) ?? [];
    return logged && `its first ${counted(logged.size, 'event has', 'events have')} another root`;
  } catch (error) {
    return `the proof does not hold: ${(error as Error).message}`;
  }
}

/**
 * The seals of a vault on its NATS servers: each server keeps all of them. Like a message of the Raft log, a seal is stored when
 * a majority has it. It is erased when one of its halves is on no server.
 */
import { unavailable } from '../errors/errors.js';
import { commandText } from '../process/commandText.js';
import type { EntryName } from './entryName.js';
import type { Half, Seal } from './seal.js';
import type { SealReplica } from './sealReplica.js';

const NOT_ERASED = 'may still have the seal that is being erased';

export class Seals {
  constructor(private readonly replicas: readonly SealReplica[]) {}

  /** `partly`: a majority has it; `complete` copies it to the rest. Throws `unavailable` without a majority. */
  async put(name: EntryName, seal: Seal): Promise<'everywhere' | 'partly' | 'erased'> {
    const outcomes = await Promise.allSettled(this.replicas.map((replica) => replica.put(name, seal)));
    const answers = answersIn(outcomes);
    if (answers.includes('erased')) return 'erased';
    if (answers.length * 2 <= outcomes.length) throw failureOf(outcomes);
    return answers.length === outcomes.length ? 'everywhere' : 'partly';
  }

  /** The seal with these parts. Undefined if no server has one of them. Throws `unavailable` if a server that is away may have it. */
  async find(name: EntryName, ids: readonly string[]): Promise<Seal | 'erased' | undefined> {
    const found = await Promise.all(ids.map((id) => this.#findPart(name, id)));
    if (found.includes('erased')) return 'erased';
    return found.includes(undefined) ? undefined : (found as Seal);
  }

  async #findPart(name: EntryName, id: string): Promise<Uint8Array | 'erased' | undefined> {
    const asked = this.replicas.map((replica) => replica.find(name, id));
    const seals = asked.map(async (found) => keyIn(await found));
    const first = await Promise.any(seals).catch(() => undefined);
    if (first !== undefined) return first;
    const outcomes = await Promise.allSettled(asked);
    const answers = answersIn(outcomes);
    if (answers.includes('erased')) return 'erased';
    if (answers.length < outcomes.length) throw failureOf(outcomes);
    return undefined;
  }

  /** The trace of the entry on the servers; `none` if a majority has none. Throws `unavailable` without a majority. */
  async traceOf(name: EntryName): Promise<'none' | 'sealed' | 'erased'> {
    const outcomes = await Promise.allSettled(this.replicas.map((replica) => replica.traceOf(name)));
    const answers = answersIn(outcomes);
    if (answers.includes('erased')) return 'erased';
    if (answers.includes('sealed')) return 'sealed';
    if (answers.length * 2 <= outcomes.length) throw failureOf(outcomes);
    return 'none';
  }

  /** Copies the entry's seal, of these parts, to every server that lacks it, and erases older ones. */
  async complete(name: EntryName, ids: readonly string[]): Promise<void> {
    const seal = await this.find(name, ids);
    if (seal === undefined || seal === 'erased') return;
    await this.#onEach('cannot get the seal of a vault entry', async (replica) => {
      await replica.put(name, seal);
      await replica.eraseBefore(name, ids);
    });
  }

  /**
   * Resolves when no seal of this entry can be put together from the files of the servers, and no seal can be added. The second
   * halves are erased after the first ones, so a server that is killed can keep only one of them. Throws `unavailable` that names
   * the servers that are away; the others have erased their seals, unless one failed after it had begun to.
   */
  async erase(name: EntryName): Promise<void> {
    const closed = await this.#outcomesOf((replica) => replica.close(name));
    const reached = this.replicas.filter((_, index) => closed[index]!.status === 'fulfilled');
    const isFirstGone = await this.#eraseHalf(name, 0, reached, true);
    const isSecondGone = await this.#eraseHalf(name, 1, reached, !isFirstGone);
    this.#resultsOf(closed, NOT_ERASED);
    await this.#onEach(NOT_ERASED, (replica) => replica.tidy(name));
    if (!isFirstGone && !isSecondGone)
      throw unavailable(
        `NATS servers were killed twice while they erased key ${name.keyId}, and may have both halves of its seal in their ` +
          `files; run ${commandText('keys', 'rotate-master')}, and repeat the shred`,
      );
  }

  /** Records that remains of the seals open nothing, on any server. */
  async writeOff(name: EntryName): Promise<void> {
    await this.#onEach(NOT_ERASED, (replica) => replica.writeOff(name));
  }

  /** Whether a server has fewer seals than another, as after the loss of its disk; undefined while that cannot be known. */
  async areUneven(): Promise<boolean | undefined> {
    const counts = await Promise.all(this.replicas.map((replica) => replica.count()));
    if (new Set(counts.filter((count) => count !== undefined)).size > 1) return true;
    return counts.includes(undefined) ? undefined : false;
  }

  /** False if a server may have that half in its files although it is deleted. */
  async #eraseHalf(name: EntryName, half: Half, on: readonly SealReplica[], isAwaited: boolean): Promise<boolean> {
    const outcomes = await this.#outcomesOf((replica) => replica.erase(name, half, isAwaited), on);
    return this.#resultsOf(outcomes, NOT_ERASED, on).every((isGone) => isGone);
  }

  /** Runs `work` on every server. Throws `unavailable` that names the servers where it failed. */
  async #onEach(problem: string, work: (place: SealReplica) => Promise<unknown>): Promise<void> {
    this.#resultsOf(await this.#outcomesOf(work), problem);
  }

  #outcomesOf<T>(work: (place: SealReplica) => Promise<T>, on = this.replicas): Promise<PromiseSettledResult<T>[]> {
    return Promise.allSettled(on.map(work));
  }

  #resultsOf<T>(outcomes: readonly PromiseSettledResult<T>[], problem: string, on = this.replicas): readonly T[] {
    const away = on.filter((_, index) => outcomes[index]!.status === 'rejected');
    if (away.length === 0) return answersIn(outcomes);
    const servers = away.map(({ name }) => name).join(', ');
    throw unavailable(
      `NATS servers are away (${servers}) and ${problem}; it is done when they are back`,
      failureOf(outcomes),
    );
  }
}

function keyIn(found: Uint8Array | 'erased' | undefined): Uint8Array {
  if (found instanceof Uint8Array) return found;
  throw new Error('not here');
}

const answersIn = <T>(outcomes: readonly PromiseSettledResult<T>[]): T[] =>
  outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));

const failureOf = (outcomes: readonly PromiseSettledResult<unknown>[]): unknown =>
  outcomes.find((outcome) => outcome.status === 'rejected')?.reason;

/**
 * The seals of a vault on several NATS servers: each server keeps all of them. Like a message of the Raft log, a seal is stored when
 * a majority has it. It is erased when no server has it.
 */
import { unavailable } from '../errors/errors.js';
import type { EntryName } from './entryName.js';
import type { SealReplica } from './sealReplica.js';

export class Seals {
  constructor(private readonly replicas: readonly SealReplica[]) {}

  /** `partly`: a majority has it; `complete` copies it to the rest. Throws `unavailable` without a majority. */
  async put(name: EntryName, seal: Uint8Array): Promise<'everywhere' | 'partly' | 'erased'> {
    const outcomes = await Promise.allSettled(this.replicas.map((replica) => replica.put(name, seal)));
    const answers = answersIn(outcomes);
    if (answers.includes('erased')) return 'erased';
    if (answers.length * 2 <= outcomes.length) throw failureOf(outcomes);
    return answers.length === outcomes.length ? 'everywhere' : 'partly';
  }

  /** Undefined if no server has it. Throws `unavailable` if a server that is away may have it. */
  async find(name: EntryName, id: string): Promise<Uint8Array | 'erased' | undefined> {
    const asked = this.replicas.map((replica) => replica.find(name, id));
    const seals = asked.map(async (found) => sealIn(await found));
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

  /** Copies the entry's seal, of that id, to every server that lacks it, and erases older ones. */
  async complete(name: EntryName, id: string): Promise<void> {
    const seal = await this.find(name, id);
    if (!(seal instanceof Uint8Array)) return;
    await this.#onEach('cannot get the seal of a vault entry', async (replica) => {
      await replica.put(name, seal);
      await replica.eraseBefore(name, id);
    });
  }

  /** Resolves when no byte of a seal of this entry is left on any server, and no seal can be added. */
  erase(name: EntryName): Promise<void> {
    return this.#onEach('may still have the seal that is being erased', (replica) => replica.erase(name));
  }

  /** Whether a server has fewer seals than another, as after the loss of its disk; undefined while that cannot be known. */
  async areUneven(): Promise<boolean | undefined> {
    const counts = await Promise.all(this.replicas.map((replica) => replica.count()));
    if (new Set(counts.filter((count) => count !== undefined)).size > 1) return true;
    return counts.includes(undefined) ? undefined : false;
  }

  /** Runs `work` on every server. Throws `unavailable` that names the servers where it failed. */
  async #onEach(problem: string, work: (place: SealReplica) => Promise<unknown>): Promise<void> {
    const outcomes = await Promise.allSettled(this.replicas.map(work));
    const away = this.replicas.filter((_, index) => outcomes[index]!.status === 'rejected');
    if (away.length === 0) return;
    const servers = away.map(({ name }) => name).join(', ');
    throw unavailable(
      `NATS servers are away (${servers}) and ${problem}; it is done when they are back`,
      failureOf(outcomes),
    );
  }
}

function sealIn(found: Uint8Array | 'erased' | undefined): Uint8Array {
  if (found instanceof Uint8Array) return found;
  throw new Error('not here');
}

const answersIn = <T>(outcomes: readonly PromiseSettledResult<T>[]): T[] =>
  outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));

const failureOf = (outcomes: readonly PromiseSettledResult<unknown>[]): unknown =>
  outcomes.find((outcome) => outcome.status === 'rejected')?.reason;

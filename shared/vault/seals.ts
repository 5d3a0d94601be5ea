/**
 * The seals of a vault that several NATS servers hold: each server keeps all of them, in a stream of its own. A seal counts
 * as stored when most of the servers have it, as every message of the Raft log does, and as erased when none has.
 */
import { unavailable } from '../errors.js';
import type { EntryName } from './seal.js';
import type { SealPlace } from './sealPlace.js';

export class Seals {
  /** One a server. */
  constructor(private readonly places: readonly SealPlace[]) {}

  /** `partly`: most have it, and `complete` is to bring it to the rest. Throws `unavailable` where most cannot be reached. */
  async put(name: EntryName, seal: Uint8Array): Promise<'everywhere' | 'partly' | 'erased'> {
    const outcomes = await Promise.allSettled(this.places.map((place) => place.put(name, seal)));
    if (outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value === 'erased')) return 'erased';
    const stored = outcomes.filter(({ status }) => status === 'fulfilled').length;
    if (stored * 2 <= outcomes.length) throw failureOf(outcomes);
    return stored === outcomes.length ? 'everywhere' : 'partly';
  }

  /** Undefined where no server has it. Throws `unavailable` where one that is away may. */
  async find(name: EntryName, id: string): Promise<Uint8Array | 'erased' | undefined> {
    const asked = this.places.map((place) => place.find(name, id));
    const first = await Promise.any(asked.map(async (found) => whole(await found))).catch(() => undefined);
    if (first !== undefined) return first;
    const outcomes = await Promise.allSettled(asked);
    if (outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value === 'erased')) return 'erased';
    if (outcomes.some(({ status }) => status === 'rejected')) throw failureOf(outcomes);
    return undefined;
  }

  /** What the servers know of the entry; `none` where most have nothing of it. Throws `unavailable` where most cannot be reached. */
  async traceOf(name: EntryName): Promise<'none' | 'sealed' | 'erased'> {
    const outcomes = await Promise.allSettled(this.places.map((place) => place.traceOf(name)));
    const told = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    if (told.includes('erased')) return 'erased';
    if (told.includes('sealed')) return 'sealed';
    if (told.length * 2 <= outcomes.length) throw failureOf(outcomes);
    return 'none';
  }

  /** Brings the seal of that id, which the entry is under, to every server that has it not, and erases those before it. */
  async complete(name: EntryName, id: string): Promise<void> {
    const seal = await this.find(name, id);
    if (!(seal instanceof Uint8Array)) return;
    await this.#onEach('cannot be given the seal of a vault entry', async (place) => {
      await place.put(name, seal);
      await place.eraseBefore(name, id);
    });
  }

  /** Resolves when no byte of a seal of this entry is left on any server, and none can come any more. */
  erase(name: EntryName): Promise<void> {
    return this.#onEach('may still hold what is being erased', (place) => place.erase(name));
  }

  /** Whether a server that is there has fewer than another, as one whose disk was lost. */
  async areUneven(): Promise<boolean> {
    const counts = await Promise.all(this.places.map((place) => place.count()));
    return new Set(counts.filter((count) => count !== undefined)).size > 1;
  }

  /** Does what can be done, and then throws `unavailable` that names the servers where it could not. */
  async #onEach(problem: string, work: (place: SealPlace) => Promise<unknown>): Promise<void> {
    const outcomes = await Promise.allSettled(this.places.map(work));
    const away = this.places.filter((_, index) => outcomes[index]!.status === 'rejected');
    if (away.length === 0) return;
    const servers = away.map(({ name }) => name).join(', ');
    throw unavailable(
      `NATS servers are away (${servers}) and ${problem}; it is done when they are back`,
      failureOf(outcomes),
    );
  }
}

function whole(found: Uint8Array | 'erased' | undefined): Uint8Array {
  if (found instanceof Uint8Array) return found;
  throw new Error('not here');
}

const failureOf = (outcomes: readonly PromiseSettledResult<unknown>[]): unknown =>
  outcomes.find((outcome) => outcome.status === 'rejected')?.reason;

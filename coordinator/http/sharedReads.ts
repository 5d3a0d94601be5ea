import { SharedRun } from '../../shared/scheduling/sharedRun.js';
import { nextTurn } from '../../shared/scheduling/slice.js';
import { inBytes, type Reply } from './reply.js';

interface Shared {
  /** From the newest request, which has the latest deadline. */
  make: () => Promise<Reply>;
  readonly run: SharedRun<Reply>;
}

/**
 * Shared listings of a project's resources. A long one takes milliseconds, and one for each of many requests would block the
 * event loop. Requests that arrive while an answer is made share the next one.
 */
export class SharedReads {
  /** Listing and project → its answers. Only projects with keys appear, so the map is small. */
  readonly #shared = new Map<string, Shared>();

  /** Resolves to an answer begun after this call, in another turn of the event loop. Throws the errors of `make`. */
  next(what: string, make: () => Promise<Reply>): Promise<Reply> {
    let shared = this.#shared.get(what);
    if (shared === undefined) {
      const made: Shared = { make, run: new SharedRun(() => this.#made(made)) };
      shared = made;
      this.#shared.set(what, shared);
    }
    shared.make = make;
    return shared.run.next();
  }

  async #made(shared: Shared): Promise<Reply> {
    const { make } = shared;
    await nextTurn();
    return inBytes(await make());
  }
}

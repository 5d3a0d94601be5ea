import { SharedRun } from '../../shared/scheduling/sharedRun.js';
import { nextTurn } from '../../shared/scheduling/slice.js';
import { inBytes, type Reply } from './reply.js';

interface Shared {
  /** As the newest request makes it: its deadline is the latest. */
  make: () => Promise<Reply>;
  readonly run: SharedRun<Reply>;
}

/**
 * Answers that list all that a project has, in milliseconds where that is much: made one by one, those of many requests would
 * hold the event loop for as long as all of them take. Requests that arrive while an answer is made share the next one.
 */
export class SharedReads {
  /** By what is read. Projects have keys, so there are not many. */
  readonly #shared = new Map<string, Shared>();

  /** Resolves to an answer that is begun after this call, in another turn of the event loop. Throws what `make` throws. */
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

import { refusal } from '../../shared/errors/errors.js';
import { moved } from '../../shared/transport/transportErrors.js';

/** A hold on the writes of a collection. It ends by itself, in case its owner has died. */
export class WriteHold {
  #token: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** `onEnd` is called when the hold ends. */
  constructor(private readonly onEnd: () => void) {}

  get isHeld(): boolean {
    return this.#token !== undefined;
  }

  /**
   * Begins or extends the hold to `holdMs` from now. Throws `conflict` during another's hold, and `unavailable` after
   * `over`.
   */
  take(token: string, holdMs: number): void {
    if (this.#isOver) throw moved();
    if (this.#token !== undefined && this.#token !== token) throw refusal('conflict', 'rebuilding');
    this.#token = token;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), holdMs).unref();
  }

  release(token: string): void {
    if (this.#token === token) this.#end();
  }

  /** Ends the hold, and allows no other. */
  over(): void {
    this.#isOver = true;
    this.#end();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#token = undefined;
    this.onEnd();
  }
}

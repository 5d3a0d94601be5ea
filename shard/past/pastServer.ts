import type { Clock } from '../../shared/clock.js';
import { unreachable } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import { Pace } from '../graph/pace.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { moved } from '../moving.js';
import { checkLog, type LogPlace } from './checkLog.js';
import { type CallCount, CheckPace } from './checkPace.js';
import { FedLogs } from './fedLog.js';
import type { Answer, AskSearch, FromWorker, PastAnswer, ToWorker } from './messages.js';
import { Opening } from './opening.js';
import { outcomeOf } from './outcome.js';
import { PastStates } from './pastStates.js';
import { searchState } from './searchState.js';
import type { Snapshots } from './snapshots.js';

export interface PastServerOptions {
  readonly boundBytes: number;
  readonly memory: VectorMemory;
  readonly clock: Clock;
  readonly snapshots: Snapshots;
  /** Of the shard. */
  readonly calls: CallCount;
}

/** The worker's side: does what it is told, and answers. */
export class PastServer {
  readonly #openings = new Map<number, Opening>();
  readonly #logs: FedLogs;
  readonly #states: PastStates;
  /** The last check of each opening's log: resolves when it does not read any more. */
  readonly #checks = new Map<Opening, Promise<unknown>>();

  constructor(
    private readonly options: PastServerOptions,
    private readonly post: (message: FromWorker) => void,
  ) {
    this.#logs = new FedLogs(post);
    this.#states = new PastStates({
      ...options,
      measured: (measured) => post({ op: 'measured', measured }),
      setAside: ({ number }, snapshot) => post({ op: 'setAside', opening: number, snapshot }),
    });
  }

  take(message: ToWorker): void {
    switch (message.op) {
      case 'open': {
        const { opening, config, place } = message;
        this.#openings.set(opening, new Opening(opening, config, this.#logs.logOf(opening), place));
        return;
      }
      case 'search':
        void this.#answer(message.id, () => this.#search(message));
        return;
      case 'snapshot':
        void this.#answer(message.id, () => this.#states.snapshot(this.#opened(message.opening), message.upTo));
        return;
      case 'check':
        void this.#answer(message.id, () => this.#check(message));
        return;
      case 'close':
        void this.#answer(message.id, () => this.#close(message.opening));
        return;
      case 'frames':
        this.#logs.frames(message.feed, message);
        return;
      case 'end':
        this.#logs.end(message.feed, message.outcome);
        return;
      default:
        unreachable(message);
    }
  }

  async #answer(id: number, work: () => Promise<Answer>): Promise<void> {
    this.post({ op: 'answer', id, outcome: await outcomeOf(work) });
  }

  #search({ opening, sequence, remainingMs, query, options }: AskSearch): Promise<PastAnswer> {
    const { clock } = this.options;
    const deadlineMs = clock.nowMs() + remainingMs;
    return this.#states.use(this.#opened(opening), sequence, deadlineMs, async (past) => {
      const { state, timeMs } = past;
      const stateHash = toHex(past.hash());
      const found = await searchState(state, timeMs, query, options, () => new Pace(clock, deadlineMs));
      return { found, timeMs, stateHash };
    });
  }

  #check({ id, opening: number, from, upTo }: ToWorker & { op: 'check' }): Promise<boolean> {
    const opening = this.#opened(number);
    const pace = new CheckPace(this.options.calls, this.options.clock);
    const onReached = (reached: LogPlace): void => this.post({ op: 'checked', id, reached });
    const check = checkLog(opening, { from, upTo, pace, onReached });
    this.#checks.set(
      opening,
      check.catch(() => undefined),
    );
    return check;
  }

  async #close(number: number): Promise<undefined> {
    const opening = this.#opened(number);
    await Promise.all([this.#states.close(opening, moved()), this.#checks.get(opening)]);
    this.#checks.delete(opening);
    this.#openings.delete(number);
  }

  #opened(number: number): Opening {
    const opening = this.#openings.get(number);
    if (opening === undefined) throw moved();
    return opening;
  }
}

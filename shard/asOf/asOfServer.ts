/**
 * The thread of past states itself: keeps the openings that the owner's thread announces, and answers their requests.
 */
import type { MessagePort } from 'node:worker_threads';
import { unreachable } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { type CallCount, CheckPace } from '../../shared/scheduling/checkPace.js';
import { FairSemaphore } from '../../shared/scheduling/fairSemaphore.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { moved } from '../../shared/transport/transportErrors.js';
import { checkLog, type LogPlace } from '../snapshot/checkLog.js';
import { Opening } from '../snapshot/opening.js';
import type { HistoricalState } from './historicalState.js';
import { HistoricalStateCache, type HistoricalStateCacheOptions } from './historicalStateCache.js';
import { fedKeys } from './keyFeed.js';
import { fedLog } from './logFeed.js';
import {
  type AskSearch,
  type AsOfAnswer,
  type AsOfReply,
  asOfOutcome,
  type FromWorker,
  type ToWorker,
} from './messages.js';
import { searchState } from './searchState.js';

/** Concurrent searches, in all and per project, like the bounds of `CallAdmission` in the owner's thread. */
const SEARCHES = { atOnce: 16, ofProject: 4 };

/** `calls`: the count of the shard's calls. */
type AsOfServerOptions = Omit<HistoricalStateCacheOptions, 'measured' | 'setAside'> & { readonly calls: CallCount };

/** The worker's side of the thread of past states: executes requests and answers them. */
export class AsOfServer {
  readonly #openings = new Map<number, Opening>();
  readonly #states: HistoricalStateCache;
  readonly #searches: FairSemaphore;
  /** Last check of each opening's log. It resolves when the log is no longer read. */
  readonly #checks = new Map<Opening, Promise<unknown>>();

  constructor(
    private readonly options: AsOfServerOptions,
    private readonly post: (message: FromWorker, transfer?: MessagePort[]) => void,
  ) {
    this.#searches = new FairSemaphore(SEARCHES, options.clock);
    this.#states = new HistoricalStateCache({
      ...options,
      measured: (measured) => post({ op: 'measured', measured }),
      setAside: ({ number }, snapshot) => post({ op: 'setAside', opening: number, snapshot }),
    });
  }

  take(message: ToWorker): void {
    switch (message.op) {
      case 'open': {
        const { opening, config, place } = message;
        const log = fedLog((request) => this.post({ op: 'read', opening, ...request }, [request.port]));
        const keys = fedKeys((request) => this.post({ op: 'keys', opening, ...request }, [request.port]));
        this.#openings.set(opening, new Opening(opening, config, log, { place, keys }));
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
      default:
        unreachable(message);
    }
  }

  async #answer(id: number, work: () => Promise<AsOfReply>): Promise<void> {
    this.post({ op: 'answer', id, outcome: await asOfOutcome(work) });
  }

  #search({ opening, sequence, remainingMs, query, options }: AskSearch): Promise<AsOfAnswer> {
    const { clock } = this.options;
    const deadlineMs = clock.nowMs() + remainingMs;
    const opened = this.#opened(opening);
    const search = async (past: HistoricalState): Promise<AsOfAnswer> => {
      const { state, timeMs } = past;
      const slice = new Slice(clock, deadlineMs);
      // Throws if the deadline has passed during the wait.
      await slice.next();
      const stateHash = toHex(past.hash());
      const found = await searchState({ state, timeMs }, query, options, () => new Slice(clock, deadlineMs));
      return { found, timeMs, stateHash, erased: state.encrypted.lostCount };
    };
    return this.#states.use(opened, sequence, deadlineMs, (past) =>
      this.#searches.run(opened.config, () => search(past), opened.closing),
    );
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
    opening.contents?.close();
    this.#checks.delete(opening);
    this.#openings.delete(number);
  }

  #opened(number: number): Opening {
    const opening = this.#openings.get(number);
    if (opening === undefined) throw moved();
    return opening;
  }
}

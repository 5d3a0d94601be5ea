/** Searches of one collection as it was: which state is meant, where it is, and what it is called in the answer. */
import type { AsOf, CollectionConfig, SearchCall, SearchResult } from '../../shared/calls.js';
import { VouchError } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { CollectionState } from '../collection/collectionState.js';
import type { Journal } from '../collection/journal.js';
import type { Pace } from '../graph/pace.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { moving } from '../moving.js';
import { nextTurn } from '../pause.js';
import type { Found } from '../search/found.js';
import { type Searched, search } from '../search/search.js';
import type { Opening } from './opening.js';
import type { PastMetrics } from './pastMetrics.js';
import type { PastStates } from './pastStates.js';

export interface PastSearch {
  readonly call: SearchCall;
  readonly asOf: AsOf;
  /** Components. */
  readonly query: Int32Array;
  readonly deadlineMs: number;
  readonly pace: () => Pace;
}

export interface PastFound {
  readonly found: Found;
  readonly asOf: NonNullable<SearchResult['asOf']>;
}

export class CollectionPast {
  readonly #opening: Opening;

  constructor(
    config: CollectionConfig,
    log: EventLog,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly states: PastStates,
    private readonly metrics: PastMetrics,
  ) {
    this.#opening = states.open(config, log);
  }

  /** Always exact. Throws `validation_error` where the log is not so long, and what `PastStates.use` throws. */
  async search(wanted: PastSearch): Promise<PastFound> {
    const sequence = await this.#sequenceOf(wanted.asOf);
    const current = await this.#searchCurrent(sequence, wanted);
    if (current !== undefined) return current;
    return this.states.use(this.#opening, sequence, wanted.deadlineMs, (past) => {
      const asOf = { logIndex: sequence, timeMs: past.timeMs, stateHash: toHex(past.hash()) };
      return searchState(past.state, asOf, wanted);
    });
  }

  /** Rebuilds end; the collection is about to be closed. Resolves when its log is not read any more. */
  close(): Promise<void> {
    return this.states.close(this.#opening, moving());
  }

  async #sequenceOf(asOf: AsOf): Promise<number> {
    if ('timeMs' in asOf) return this.journal.sequenceAt(asOf.timeMs);
    const { sequence } = this.journal;
    if (asOf.logIndex > sequence)
      throw new VouchError(
        'validation_error',
        `as_of_log_index is ${asOf.logIndex}, and the collection has ${sequence} events`,
      );
    return asOf.logIndex;
  }

  /**
   * The state meant is the one that is there: no other is needed. Undefined where it is not, and where a write came in
   * between while the search gave way. A plain scan sees its rows as they were at the call, so no write can matter to it.
   */
  async #searchCurrent(sequence: number, wanted: PastSearch): Promise<PastFound | undefined> {
    const { journal, state } = this;
    if (sequence === 0 || !journal.isAt(sequence)) return undefined;
    const asOf = { logIndex: sequence, timeMs: journal.timeMs, stateHash: toHex(journal.stateHash()) };
    const answer = await searchState(state, asOf, wanted);
    const { filter, decay, text, graph } = wanted.call;
    const isPlain = filter === undefined && decay === undefined && text === undefined && graph === undefined;
    if (!isPlain && !journal.isAt(sequence)) return undefined;
    this.metrics.searched('current');
    return answer;
  }
}

async function searchState(
  { vectors, metadata, texts, graph, insertions }: CollectionState,
  asOf: PastFound['asOf'],
  { call, asOf: wanted, query, pace }: PastSearch,
): Promise<PastFound> {
  const searched = { vectors, metadata, texts, graph, insertions, index: exact(vectors) };
  const agedToMs = 'timeMs' in wanted ? wanted.timeMs : asOf.timeMs;
  return { found: await search(searched, query, agedTo(agedToMs, call), pace), asOf };
}

/** Null: before the first event, where there is nothing to age. */
function agedTo(nowMs: number | null, call: SearchCall): SearchCall {
  return nowMs === null || call.decay === undefined ? call : { ...call, decay: { ...call.decay, nowMs } };
}

const exact = (vectors: VectorBlocks): Searched['index'] => ({
  serving: 'brute',
  search: (query, k, eligible) => vectors.search(query, k, nextTurn, { eligible }),
});

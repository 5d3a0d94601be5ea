/** The searches of one collection: of the present state through its index, of past states, and several of one state. */

import type { Clock } from '../../shared/clock.js';
import type { Results, SearchBatchCall, SearchCall } from '../../shared/protocol/calls.js';
import { Slice } from '../../shared/scheduling/slice.js';
import type { CollectionAsOf } from '../asOf/collectionAsOf.js';
import type { CollectionIndex } from '../index/collectionIndex.js';
import { componentsOf, type FoundFields, resultOf } from '../search/found.js';
import { notedSelection, type Searched, type SearchOptions, searchCollection } from '../search/search.js';
import type { ReplayedCollection } from '../state/replayedCollection.js';

type BatchedSearch = SearchBatchCall['searches'][number];

export class CollectionSearch {
  constructor(
    private readonly collection: Pick<ReplayedCollection, 'state' | 'journal'>,
    private readonly index: CollectionIndex,
    private readonly asOf: CollectionAsOf,
    private readonly clock: Clock,
  ) {}

  async search(call: SearchCall, deadlineMs: number): Promise<Results['search']> {
    const query = queryOf(call);
    const slice = (): Slice => new Slice(this.clock, deadlineMs);
    const { asOf } = call;
    const seen = call.tellSequence && { sequence: this.collection.journal.seenSequence };
    if (asOf === undefined) {
      const metadata = seen
        ? notedSelection(this.collection.state.metadata, this.collection.journal, seen)
        : this.collection.state.metadata;
      const found = searchCollection(this.#present(metadata), query, call, slice);
      const result = resultOf(found instanceof Promise ? await found : found);
      return seen ? { ...result, ...seen } : result;
    }
    const past = await this.asOf.search({ call, asOf, query, deadlineMs, slice, hasTurn: false });
    return { ...resultOf(past.found), ...seen, asOf: past.asOf };
  }

  /**
   * Searches one after another, all of one state: the present one, through the index. If a write ends that state, the
   * remaining searches are of the past: exact, at the cost of a scan each.
   */
  async batch({ searches, asOf, maxBytes }: SearchBatchCall, deadlineMs: number): Promise<Results['searchBatch']> {
    const slice = (): Slice => new Slice(this.clock, deadlineMs);
    const resting = slice();
    while (!this.collection.journal.isWhole) await resting.next();
    const sequence = asOf === undefined ? this.collection.journal.sequence : this.asOf.sequenceOf(asOf);
    const answers: Results['search'][] = [];
    let leftBytes = maxBytes;
    for (const search of searches) {
      const call = search.fields || search.group ? { ...search, maxBytes: leftBytes } : search;
      const present = asOf === undefined ? await this.#ifPresent(call, sequence, slice) : undefined;
      const found =
        present ??
        (
          await this.asOf.search({
            call,
            asOf: asOf ?? { logIndex: sequence },
            query: queryOf(call),
            deadlineMs,
            slice,
            hasTurn: asOf === undefined,
          })
        ).found;
      leftBytes -= found.takenBytes ?? 0;
      answers.push(resultOf(found));
      if (resting.due) await resting.next();
    }
    return { answers, sequence };
  }

  /** Returns undefined if the state is another one, before or after the search. */
  async #ifPresent(
    call: BatchedSearch & SearchOptions,
    sequence: number,
    slice: () => Slice,
  ): Promise<FoundFields | undefined> {
    if (!this.collection.journal.isAt(sequence)) return undefined;
    const found = await searchCollection(this.#present(this.collection.state.metadata), queryOf(call), call, slice);
    return this.collection.journal.isAt(sequence) ? found : undefined;
  }

  #present(metadata: Searched['metadata']): Searched {
    const { vectors, texts, graph, insertions } = this.collection.state;
    return { vectors, metadata, texts, graph, insertions, index: this.index, records: this.collection.state };
  }
}

const queryOf = ({ query }: Pick<SearchCall, 'query'>): Int32Array | undefined => query && componentsOf(query);

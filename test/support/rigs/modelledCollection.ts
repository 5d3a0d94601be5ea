/**
 * A collection beside a simple model of it: every search is checked against the model, whatever writes, builds and
 * swaps run meanwhile.
 *
 * Rules for each answer, whatever the index:
 * 1. It contains no record twice; scores are exact; nearest first, equal ones by id.
 * 2. It contains no record whose deletion was answered before the search began.
 * 3. It has k hits, or all records that were live throughout the search.
 * 4. Without absorption: it contains every fresh record that is nearer than the last hit. Fresh means: the insert was
 *    answered before the search began, and its sequence is behind the base of every build.
 */
import { expect } from 'chai';
import type { CollectionHandle } from '../../../shard/collection/collectionHandle.js';
import type { IndexSpec, IndexState } from '../../../shared/model/indexSpec.js';
import type { Call, Results } from '../../../shared/protocol/calls.js';
import { nextTurn } from '../../../shared/scheduling/slice.js';
import { eventually } from '../expectations.js';
import { bytesOf, mean, type Near, nearest, recallOf, scoreOf, type Vector } from '../model/indexVectors.js';
import { batchOf, insertOf, receiptIn, soon } from './engine.js';

interface Known {
  readonly vector: Vector;
  /** Sequence of its insert; 0 if it came in a batch. */
  readonly sequence: number;
  /** Times of the insert's answer, of the deletion's request, and of its answer, by the model's clock. */
  readonly insertedAt: number;
  deletingAt: number;
  deletedAt: number;
}

const NEVER = Number.POSITIVE_INFINITY;

export class ModelledCollection {
  readonly #known = new Map<number, Known>();
  readonly #live = new Map<number, Vector>();
  /** Inserted records, in the order of the answers. */
  readonly #inserted: Known[] = [];
  /** Searches to check once the running inserts are answered. */
  readonly #unchecked: { readonly query: Vector; readonly hits: readonly Near[]; readonly from: number }[] = [];
  #now = 0;
  /** Newest base of a build, as far as it was observed. */
  #baseSequence = 0;

  /** `absorbs`: whether rows enter the index in the background. */
  constructor(
    public hosted: CollectionHandle,
    private readonly absorbs: boolean,
  ) {}

  /** Live records by id. */
  get records(): ReadonlyMap<number, Vector> {
    return this.#live;
  }

  async insertAll(vectors: readonly Vector[]): Promise<number[]> {
    const ids: number[] = [];
    for (let from = 0; from < vectors.length; from += 500) {
      const part = vectors.slice(from, from + 500);
      const answer = (await this.hosted.run(batchOf(part.map(bytesOf)), soon())) as Results['insertBatch'];
      const given = [...numbersOf(answer.ids)];
      for (const [i, id] of given.entries()) this.#learn(id, part[i]!, 0);
      ids.push(...given);
    }
    return ids;
  }

  async insert(vector: Vector): Promise<number> {
    await nextTurn();
    const answer = (await this.hosted.run(insertOf(bytesOf(vector)), soon())) as Results['insert'];
    this.#learn(answer.id, vector, receiptIn(answer).sequence);
    return answer.id;
  }

  async delete(id: number, op: 'delete' | 'softDelete' = 'delete'): Promise<void> {
    const known = this.#known.get(id)!;
    known.deletingAt = ++this.#now;
    this.#live.delete(id);
    await this.hosted.run({ op, id }, soon());
    known.deletedAt = ++this.#now;
  }

  async configure(kind: IndexSpec['kind'], parameters: IndexSpec['parameters'] = {}): Promise<IndexState> {
    const state = await this.#control<'configureIndex'>({ op: 'configureIndex', spec: { kind, parameters } });
    this.#sawBase(state);
    return state;
  }

  rebuild(kind: IndexSpec['kind'] | null): Promise<Results['rebuild']> {
    return this.#control<'rebuild'>({ op: 'rebuild', kind });
  }

  async state(): Promise<IndexState> {
    const state = (await this.hosted.run({ op: 'indexState' }, soon())) as IndexState;
    this.#sawBase(state);
    return state;
  }

  /** Waits until the desired index serves or has failed and no build runs. Returns the state. */
  async settled(): Promise<IndexState> {
    let state = await this.state();
    await eventually('no build is running', async () => {
      state = await this.state();
      const isComing = state.status === 'none' && state.desiredKind !== 'brute';
      return state.buildingGeneration === null && !isComing;
    });
    return state;
  }

  async search(query: Vector, k: number): Promise<Near[]> {
    // With a log in memory, a test of nothing except calls would leave no turn to background work.
    await nextTurn();
    const from = ++this.#now;
    await this.state();
    const call = { op: 'search', query: bytesOf(query), k } as const;
    const answer = (await this.hosted.run(call, soon())) as Results['search'];
    const scores = numbersOf(answer.scores);
    const hits = [...numbersOf(answer.ids)].map((id, i): Near => ({ id, score: scores[i]! }));
    await this.state();
    this.#checkCount(hits, k, from);
    if (!this.absorbs) this.#checkFresh(query, hits, k, from);
    this.#unchecked.push({ query, hits, from });
    return hits;
  }

  /** Checks the hits of all searches since the last call. Inserts that ran then must be answered by now. */
  check(): void {
    for (const { query, hits, from } of this.#unchecked.splice(0))
      for (const [i, hit] of hits.entries()) {
        const wrong = this.#wrongIn(query, hit, from);
        if (wrong !== undefined) expect.fail(`record ${hit.id}: ${wrong}`);
        if (i > 0 && !isBefore(hits[i - 1]!, hit)) expect.fail(`records are not in order at ${i}`);
      }
  }

  #wrongIn(query: Vector, { id, score }: Near, from: number): string | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return 'was never inserted';
    if (score !== scoreOf(known.vector, query)) return `its score is not ${score}`;
    return known.deletedAt > from ? undefined : 'was deleted before the search';
  }

  /** Mean recall@k. Requires that no writes run meanwhile. */
  async recall(queries: readonly Vector[], k: number): Promise<number> {
    const { records } = this;
    const each: number[] = [];
    for (const query of queries) each.push(recallOf(await this.search(query, k), nearest(records, query, k)));
    this.check();
    return mean(each);
  }

  /** Inserts the vector. The very next search must find it, unless it was deleted meanwhile. */
  async insertAndFind(vector: Vector): Promise<number> {
    const id = await this.insert(vector);
    const hits = await this.search(vector, 10);
    if (this.#known.get(id)!.deletingAt !== NEVER) return id;
    expect(
      hits.map((hit) => hit.id),
      `record ${id} is found as soon as its insert is answered`,
    ).to.include(id);
    return id;
  }

  #control<Op extends 'configureIndex' | 'rebuild'>(call: Extract<Call, { op: Op }>): Promise<Results[Op]> {
    return this.hosted.run(call, soon()) as Promise<Results[Op]>;
  }

  #learn(id: number, vector: Vector, sequence: number): void {
    const at = ++this.#now;
    const known = { vector, sequence, insertedAt: at, deletingAt: NEVER, deletedAt: NEVER };
    this.#known.set(id, known);
    this.#live.set(id, vector);
    this.#inserted.push(known);
  }

  #sawBase({ baseSequence }: IndexState): void {
    this.#baseSequence = Math.max(this.#baseSequence, baseSequence ?? 0);
  }

  #checkCount(hits: readonly Near[], k: number, from: number): void {
    let throughout = this.#live.size;
    for (let i = this.#inserted.length - 1; i >= 0 && this.#inserted[i]!.insertedAt >= from; i--)
      if (this.#inserted[i]!.deletingAt === NEVER) throughout--;
    expect(hits.length).to.be.within(Math.min(k, throughout), k);
  }

  #checkFresh(query: Vector, hits: readonly Near[], k: number, from: number): void {
    const found = new Set(hits.map(({ id }) => id));
    const last = hits.length < k ? undefined : hits.at(-1);
    for (const [id, { vector, sequence, insertedAt, deletingAt }] of this.#known) {
      if (sequence <= this.#baseSequence || insertedAt > from || deletingAt !== NEVER) continue;
      const hit: Near = { id, score: scoreOf(vector, query) };
      if ((last === undefined || isBefore(hit, last)) && !found.has(id)) expect.fail(`fresh record ${id} is not found`);
    }
  }
}

const isBefore = (one: Near, other: Near): boolean =>
  one.score < other.score || (one.score === other.score && one.id < other.id);

const numbersOf = (bytes: Uint8Array): Float64Array => new Float64Array(new Uint8Array(bytes).buffer);

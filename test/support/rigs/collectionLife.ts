/** Writes a random history of a collection, with every kind of write, through the calls of a coordinator. */

import { VouchError } from '../../../shared/errors/errors.js';
import type { GraphWrite } from '../../../shared/model/graph.js';
import type { Results } from '../../../shared/protocol/calls.js';
import type { WriteCall } from '../../../shared/protocol/writes.js';
import type { SeededRandom } from '../model/random.js';
import { batchOf, DIMENSION, fixed, insertOf, requestIdOf, type TestCollection } from './engine.js';

const WORDS = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord'];
const KEYS = ['a', 'b', 'c'].map((letter) => letter.repeat(32));
const DOCUMENTS = ['d1', 'd2', 'ď3', 'd4', 'd5', 'd6'];
const NODE_KINDS = 7;
const REFUSALS: readonly string[] = ['record_not_found', 'not_found', 'validation_error'];

export class CollectionLife {
  /** Ids of all records so far. */
  readonly #ids: number[] = [];
  readonly #nodes: number[] = [];
  readonly #edges: number[] = [];
  #requests = 0;

  constructor(
    /** The collection as it is open now. */
    private readonly collection: () => TestCollection,
    private readonly random: SeededRandom,
  ) {}

  /** Number of request ids used so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Makes random writes. Some are refused, such as those of deleted records; that is intended. */
  async live(writes: number): Promise<void> {
    for (let n = 0; n < writes; n++) {
      const call = this.#next();
      try {
        this.#learn(call, await this.collection().write(call));
      } catch (error) {
        if (!(error instanceof VouchError) || !REFUSALS.includes(error.code)) throw error;
      }
    }
  }

  #next(): WriteCall {
    const { random } = this;
    const dice = random.int(20);
    if (dice < 7) return insertOf(this.#vector(), this.#described());
    if (dice === 7) return this.#upsert();
    if (dice < 9)
      return batchOf(
        Array.from({ length: 1 + random.int(4) }, () => this.#vector()),
        null,
      );
    if (dice === 9 && random.int(4) === 0) return this.#deletion();
    if (dice < 11) return { op: 'softDelete', id: this.#someOf(this.#ids) };
    if (dice < 13) return { op: 'delete', id: this.#someOf(this.#ids) };
    if (dice === 13) return { op: 'updateMetadata', id: this.#someOf(this.#ids), metadata: this.#metadata() };
    if (dice === 14) return this.#patch();
    if (dice < 17) {
      const requestId = random.int(2) === 0 ? requestIdOf(this.#requests++) : null;
      const keyId = random.int(3) === 0 ? null : random.pick(KEYS);
      return { op: 'insertEncrypted', payload: Buffer.from(random.pick(WORDS)), keyId, tag: random.int(9), requestId };
    }
    if (dice === 17 && random.int(8) === 0) return { op: 'shredKey', keyId: random.pick(KEYS) };
    return this.#graphWrite();
  }

  #patch(): WriteCall {
    const { random } = this;
    const patch = this.#metadata();
    if (random.int(3) > 0) return { op: 'patchMetadata', id: this.#someOf(this.#ids), patch };
    return { op: 'patchMany', of: { externalIds: [random.pick(DOCUMENTS), random.pick(DOCUMENTS)] }, patch };
  }

  #deletion(): WriteCall {
    const { random } = this;
    const of = { externalIds: [random.pick(DOCUMENTS), random.pick(DOCUMENTS)] };
    return { op: 'deleteMany', of, ...(random.int(2) === 0 ? {} : { requestId: requestIdOf(this.#requests++) }) };
  }

  #upsert(): WriteCall {
    const { random } = this;
    const externalIds = [...new Set(Array.from({ length: 1 + random.int(3) }, () => random.pick(DOCUMENTS)))];
    const batch = batchOf(
      externalIds.map(() => this.#vector()),
      externalIds.map(() => (random.int(2) === 0 ? null : requestIdOf(this.#requests++))),
    );
    const texts = externalIds.map(() => (random.int(2) === 0 ? null : Buffer.from(random.pick(WORDS))));
    const metadata = externalIds.map(() => (random.int(2) === 0 ? null : this.#metadata()));
    return { ...batch, texts, metadata, tags: externalIds.map(() => random.int(9)), externalIds };
  }

  #graphWrite(): GraphWrite {
    const { random } = this;
    const dice = random.int(6);
    if (dice < 2) {
      const recordId = random.int(3) === 0 ? null : this.#someOf(this.#ids);
      return { op: 'addNode', kind: random.int(NODE_KINDS), recordId };
    }
    if (dice < 4)
      return { op: 'addEdge', from: this.#someOf(this.#nodes), to: this.#someOf(this.#nodes), kind: random.int(9) };
    if (dice === 4) return { op: 'deleteNode', id: this.#someOf(this.#nodes) };
    return { op: 'deleteEdge', id: this.#someOf(this.#edges) };
  }

  #learn(call: WriteCall, answer: unknown): void {
    if (call.op === 'insertBatch') {
      const { ids } = answer as Results['insertBatch'];
      this.#ids.push(...new Float64Array(new Uint8Array(ids).buffer));
      return;
    }
    const { id } = answer as { readonly id?: number };
    if (id === undefined) return;
    if (call.op === 'addNode') this.#nodes.push(id);
    else if (call.op === 'addEdge') this.#edges.push(id);
    else this.#ids.push(id);
  }

  #described(): Parameters<typeof insertOf>[1] {
    const { random } = this;
    return {
      tag: random.int(5),
      metadata: random.int(2) === 0 ? this.#metadata() : null,
      text: random.int(2) === 0 ? `${random.pick(WORDS)} ${random.pick(WORDS)} é` : null,
      requestId: random.int(2) === 0 ? requestIdOf(this.#requests++) : null,
    };
  }

  #metadata(): Uint8Array {
    const metadata = { n: this.random.int(5), word: this.random.pick(WORDS) };
    // Bytes that are not JSON are stored unchanged.
    return Buffer.from(this.random.int(6) === 0 ? 'not JSON' : JSON.stringify(metadata));
  }

  #vector(): Uint8Array {
    return fixed(...Array.from({ length: DIMENSION }, () => this.random.int(40) - 20));
  }

  #someOf(ids: readonly number[]): number {
    return ids.length === 0 ? 1 : this.random.pick(ids);
  }
}

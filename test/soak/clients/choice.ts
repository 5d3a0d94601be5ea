/** Chooses a client's next call, by its seeded numbers. */

import { INDEX_KINDS } from '../../../shared/model/indexKinds.js';
import { NO_ONE_COLLECTION } from '../history/asked.js';
import type { IndexKind } from '../history/indexes.js';
import type { Call } from '../history.js';
import type { SeededRandom } from '../random.js';
import type { Wanted } from './calls/call.js';
import { Draws } from './choices/draws.js';
import { graphRead, graphWrite } from './choices/graph.js';
import { anyPage } from './choices/lists.js';
import { recordWrite } from './choices/records.js';
import { anySearch } from './choices/searches.js';
import { secretRead, secretWrite } from './choices/secrets.js';
import { textSearch } from './choices/texts.js';
import type { Known } from './known.js';
import type { KnownIds } from './knownIds.js';

const INDEXES: readonly IndexKind[] = [...INDEX_KINDS, 'none'];
const TIMELINE_MAX = 50;
const ALIAS_K_MAX = 12;

export interface ChoiceOptions {
  /** Facts that clients know, by collection. */
  readonly known: ReadonlyMap<string, Known>;
  readonly keys: KnownIds<string>;
  /** Whether the service has eventual searches. */
  readonly hasEventual: boolean;
  /** Collections of equal dimension to which the alias is moved; empty: the alias is not used. */
  readonly aliased: readonly string[];
}

export class Choice {
  readonly #draws: Draws;

  constructor(
    client: number,
    private readonly random: SeededRandom,
    private readonly options: ChoiceOptions,
  ) {
    this.#draws = new Draws(client, random);
  }

  next(collection: string, known: Known): Wanted<Call> {
    return this.random.int(100) < 45 ? this.#write(collection, known) : this.#read(collection, known);
  }

  #write(collection: string, known: Known): Wanted<Call> {
    const chance = this.random.int(100);
    if (chance < 70) return recordWrite(this.#draws, collection, known);
    if (chance < 85) return graphWrite(this.#draws, collection, known);
    return secretWrite(this.#draws, collection, known, this.options.keys);
  }

  #read(collection: string, known: Known): Wanted<Call> {
    const { random } = this;
    const { keys, hasEventual, aliased } = this.options;
    const chance = random.int(100);
    if (chance < 50) return anySearch(this.#draws, collection, known, this.#comparable(known), hasEventual);
    if (chance < 54) return textSearch(this.#draws, collection, known);
    if (chance < 58) return anyPage(this.#draws, collection, known);
    if (chance < 60 && aliased.length > 0) return this.#alias(aliased);
    if (chance < 72) return { op: 'get', collection, id: known.anyRecord(random) };
    if (chance < 80) return graphRead(this.#draws, collection, known);
    if (chance < 88) return secretRead(this.#draws, collection, known, keys);
    if (chance < 95) return { op: 'state', collection };
    if (chance < 97) return this.#timeline(collection, known);
    if (known.shape.index !== 'none' && random.int(4) === 0)
      return { op: 'configureIndex', collection, kind: random.pick(INDEXES) };
    return { op: 'indexState', collection };
  }

  #alias(aliased: readonly string[]): Wanted<Call> {
    const { random } = this;
    const collection = NO_ONE_COLLECTION;
    if (random.int(2) === 0) return { op: 'moveAlias', collection, to: random.pick(aliased) };
    const { dimension } = this.options.known.get(aliased[0]!)!.shape;
    return {
      op: 'searchAlias',
      collection,
      query: this.#draws.vector(dimension),
      k: 1 + random.int(ALIAS_K_MAX),
      color: null,
    };
  }

  #comparable({ shape }: Known): readonly string[] {
    const shapes = [...this.options.known.values()].map((other) => other.shape);
    return shapes.filter(({ dimension }) => dimension === shape.dimension).map(({ name }) => name);
  }

  #timeline(collection: string, known: Known): Wanted<Call> {
    const limit = 1 + this.random.int(TIMELINE_MAX);
    const after = Math.max(0, known.sequence - this.random.int(2 * limit));
    return { op: 'timeline', collection, after, limit };
  }
}

/** What a client asks next, drawn from its seeded numbers. */
import type { Metadata, Row } from '../history.js';
import type { SeededRandom } from '../random.js';
import type { Wanted } from './calls.js';
import type { KnownRecords } from './knownRecords.js';

export const DIMENSION = 4;
const COLORS = 4;
/** Few enough for distances that tie. */
const VALUES = 64;
const BATCH_MAX = 16;
const K_MAX = 12;
/** A collection grows to about so many records, and is then kept there by deletions. */
const RECORDS_WANTED = 400;
const TIMELINE_MAX = 50;

export class Choice {
  #marks = 0;

  /** `client`: makes its marks and request ids differ from those of all others. */
  constructor(
    private readonly client: number,
    private readonly random: SeededRandom,
    private readonly hasEventual: boolean,
  ) {}

  next(collection: string, known: KnownRecords): Wanted {
    const { random } = this;
    return random.int(100) < 45 ? this.#write(collection, known) : this.#read(collection, known);
  }

  #write(collection: string, known: KnownRecords): Wanted {
    const { random } = this;
    const chance = random.int(100);
    const full = known.size > RECORDS_WANTED;
    if (known.size === 0 || chance < (full ? 15 : 45)) return { op: 'insert', collection, row: this.#row() };
    if (chance < (full ? 18 : 60)) {
      const rows = Array.from({ length: 1 + random.int(BATCH_MAX) }, () => this.#row());
      return { op: 'insertBatch', collection, rows };
    }
    const id = known.pick(random);
    if (chance < (full ? 50 : 75)) return { op: 'softDelete', collection, id };
    if (chance < (full ? 82 : 85)) return { op: 'delete', collection, id };
    return { op: 'updateMetadata', collection, id, metadata: this.#metadata() };
  }

  #read(collection: string, known: KnownRecords): Wanted {
    const { random } = this;
    const chance = random.int(100);
    if (chance < 60) {
      const color = random.int(3) === 0 ? random.int(COLORS) : null;
      const isEventual = this.hasEventual && random.int(4) === 0;
      return { op: 'search', collection, query: this.#vector(), k: 1 + random.int(K_MAX), color, isEventual };
    }
    if (chance < 85) return { op: 'get', collection, id: known.pick(random) };
    if (chance < 95) return { op: 'state', collection };
    const limit = 1 + random.int(TIMELINE_MAX);
    return { op: 'timeline', collection, after: Math.max(0, known.sequence - random.int(2 * limit)), limit };
  }

  #row(): Row {
    const metadata = this.#metadata();
    const requestId = this.random.int(10) === 0 ? null : metadata.mark.toString(16).padStart(32, '0');
    return { vector: this.#vector(), metadata, requestId };
  }

  #metadata(): Metadata {
    return { color: this.random.int(COLORS), mark: this.client * 1e9 + ++this.#marks };
  }

  #vector(): number[] {
    return Array.from({ length: DIMENSION }, () => this.random.int(VALUES));
  }
}

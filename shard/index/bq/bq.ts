/**
 * An open index of binary quantisation after RaBitQ (arXiv 2405.12497, see `kernel/assembly/signs.ts`): a code of one bit
 * per component. A search estimates distances by the codes, and measures the rows that seem nearest exactly. Takes
 * dimension / 8 + 8 bytes a row.
 */
import type { Hits } from '../../kernel/scanScratch.js';
import { SignCoder, signCodeBytes } from '../../kernel/signCodes.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import { bitmapOf } from '../batchForm.js';
import type { Index, IndexOpener, OpenOrder } from '../kind.js';
import { NO_SLOT } from '../rows.js';
import { costBytesOf } from '../searchQueue.js';
import { CodeBlocks } from './codeBlocks.js';
import { CodeScan } from './codeScan.js';
import { type BqPayload, readBqPayload, stretches, stretchOfCodes, writeBqPayload } from './payload.js';
import { ThreadedCodes } from './threadedCodes.js';

/** Rows that are measured by default: so many per result, and at least so many. */
const CANDIDATES_MIN = 200;
const CANDIDATES_PER_RESULT = 10;

/**
 * Costs in nanoseconds, measured on one thread (3 GHz, AVX-512) from 32 to 768 dimensions. Only their ratios matter, and
 * those differ little between machines. The first is the cost of a search without rows.
 */
const FIXED_NS = 20_000;
/** Cost of a component of the query, which is rotated and made into tables. */
const QUERY_COMPONENT_NS = 10;
/** Cost of a byte of a code that is compared. */
const CODE_BYTE_NS = 0.14;
/** Cost of a candidate, and of each of its bytes: collected by the scan of codes, then fetched and measured. */
const CANDIDATE_NS = 90;
const CANDIDATE_BYTE_NS = 0.1;
/** Cost of a row, and of each of its bytes, that an exact scan measures. */
const MEASURED_NS = 1.5;
const MEASURED_BYTE_NS = 0.04;

class BqIndex implements Index {
  /** No limit: every row has a place for its code. */
  readonly capacityLeft = Number.POSITIVE_INFINITY;
  readonly absorbs = true;
  readonly #coder: SignCoder;
  readonly #threaded: ThreadedCodes | undefined;

  /** `codes`: those of all covered rows; others are ignored. The index frees them. */
  constructor(
    private readonly order: OpenOrder,
    private readonly mean: Int32Array,
    private readonly codes: CodeBlocks,
  ) {
    this.#coder = new SignCoder(mean.length);
    const { threads } = order.vectors.memory;
    this.#threaded = threads && new ThreadedCodes(threads, order, codes);
  }

  get bytes(): number {
    return this.codes.bytes;
  }

  cost(k: number): number {
    const { vectors, rows } = this.order;
    const { dimension, strideBytes } = vectors.shape;
    const covered = rows.covered.count;
    // All rows with the code of the query are measured: with few dimensions, many have it by chance.
    const candidates = Math.min(covered, Math.max(this.#candidatesFor(k), covered / 2 ** dimension));
    const costNs =
      FIXED_NS +
      dimension * QUERY_COMPONENT_NS +
      covered * signCodeBytes(dimension) * CODE_BYTE_NS +
      candidates * (CANDIDATE_NS + strideBytes * CANDIDATE_BYTE_NS);
    return costNs / (MEASURED_NS + strideBytes * MEASURED_BYTE_NS) / vectors.shape.scannedRowCost;
  }

  /** Throws `capacity_exceeded`. */
  absorb(_ordinal: number, slot: number): boolean {
    const components = new Int32Array(this.order.vectors.vectorBytes(slot).buffer);
    this.codes.write(slot, this.#coder.encode(components, this.mean));
    return true;
  }

  /** A search in the event loop reads the codes of covered rows only, one by threads those that are not removed. */
  remove(_ordinal: number, slot: number): void {
    this.codes.remove(slot);
  }

  search(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Hits> | undefined {
    const { vectors, rows } = this.order;
    const { count } = rows.covered;
    if (!this.#threaded?.queue.isOpen || count === 0 || eligible?.count === 0) return undefined;
    const search = {
      query,
      rotated: this.#coder.rotated(query, this.mean),
      k,
      wanted: Math.min(this.#candidatesFor(k), count, eligible?.count ?? count),
      eligible: bitmapOf(eligible, vectors.slots),
    };
    return this.#threaded.queue.add(search, costBytesOf(vectors.shape, this.cost(k), search.eligible));
  }

  async candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array> {
    const { vectors, rows, pause } = this.order;
    const coded = { vectors, covered: rows.covered, codes: this.codes };
    const scan = new CodeScan(coded, this.#coder.rotated(query, this.mean), this.#candidatesFor(k), eligible);
    try {
      while (!scan.step()) await pause();
      return scan.slots();
    } finally {
      scan.close();
    }
  }

  persist(path: string): Promise<void> {
    const { rows, vectors } = this.order;
    const codeOf = codesIn(vectors.dimension);
    return writeBqPayload({ path }, this.mean, rows.count, (into, from, to) => {
      for (let ordinal = from; ordinal < to; ordinal++) {
        const slot = rows.slotOf(ordinal);
        if (slot !== NO_SLOT) this.codes.read(slot, codeOf(into, ordinal - from));
      }
    });
  }

  async free(): Promise<void> {
    this.codes.free();
  }

  #candidatesFor(k: number): number {
    const { candidates } = this.order.parameters;
    return Math.max(k, candidates ?? Math.max(CANDIDATES_PER_RESULT * k, CANDIDATES_MIN));
  }
}

export const bq: IndexOpener = {
  async open(order) {
    const { memory, shape, dimension } = order.vectors;
    const codes = new CodeBlocks(memory, shape, signCodeBytes(dimension));
    try {
      return await readBqPayload(order, dimension, async (payload) => {
        await load(order, payload, codes);
        return new BqIndex(order, payload.mean, codes);
      });
    } catch (error) {
      codes.free();
      throw error;
    }
  },

  sameBuild: () => true,
};

async function load({ rows, vectors }: OpenOrder, { count, read }: BqPayload, codes: CodeBlocks): Promise<void> {
  if (count !== rows.count) throw new Error(`the BQ payload has ${count} rows, not ${rows.count}`);
  const codeOf = codesIn(vectors.dimension);
  const codeBytes = signCodeBytes(vectors.dimension);
  const into = stretchOfCodes(codeBytes);
  for (const [from, to] of stretches(rows.count, codeBytes)) {
    await read(into, from, to);
    for (let ordinal = from; ordinal < to; ordinal++) {
      const slot = rows.slotOf(ordinal);
      if (slot !== NO_SLOT) codes.write(slot, codeOf(into, ordinal - from));
    }
  }
}

/** Returns a function that returns a view of code number `at` of a stretch. */
function codesIn(dimension: number): (stretch: Uint8Array, at: number) => Uint8Array {
  const codeBytes = signCodeBytes(dimension);
  return (stretch, at) => stretch.subarray(at * codeBytes, (at + 1) * codeBytes);
}

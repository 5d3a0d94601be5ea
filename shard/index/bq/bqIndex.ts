import type { SlotSet } from '../../kernel/slotSet.js';
import type { Index, OpenOrder } from '../kind.js';
import { NO_SLOT } from '../rows.js';
import { codeBytesOf, encode } from './code.js';
import type { CodeBlocks } from './codeBlocks.js';
import { CodeScan } from './codeScan.js';
import { searchCost } from './cost.js';
import { writePayload } from './payload.js';

const WORD_BYTES = 4;
const CANDIDATES_MIN = 200;
const CANDIDATES_PER_RESULT = 10;

/** An open BQ index. Which of its codes mean anything is what the rows table says is covered. */
export class BqIndex implements Index {
  /** Every code has its place beside its vector. */
  readonly room = Number.POSITIVE_INFINITY;

  /** `codes`: of all rows that are covered; they are this index's from now on. */
  constructor(
    private readonly order: Pick<OpenOrder, 'vectors' | 'rows' | 'parameters' | 'pause'>,
    private readonly mean: Int32Array,
    private readonly codes: CodeBlocks,
  ) {}

  get bytes(): number {
    return this.codes.bytes;
  }

  cost(k: number): number {
    const { vectors, rows } = this.order;
    const { dimension, strideBytes } = vectors.shape;
    const codeBytes = codeBytesOf(dimension);
    return searchCost({ dimension, strideBytes, codeBytes, covered: rows.covered.count, wanted: this.#wanted(k) });
  }

  /** Throws `capacity_exceeded`. */
  absorb(_ordinal: number, slot: number): boolean {
    const components = new Int32Array(this.order.vectors.vectorBytes(slot).buffer);
    this.codes.write(slot, this.#codeOf(components));
    return true;
  }

  /** What is not covered is not looked at. */
  remove(): void {}

  async candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array> {
    const { vectors, rows, pause } = this.order;
    const among = { covered: rows.covered, eligible };
    const scan = new CodeScan(vectors, this.codes, this.#codeOf(query), this.#wanted(k), among);
    try {
      while (!scan.step()) await pause();
      return scan.slots();
    } finally {
      scan.close();
    }
  }

  persist(path: string): Promise<void> {
    const { rows, vectors } = this.order;
    const codeWords = codeBytesOf(vectors.dimension) / WORD_BYTES;
    return writePayload(path, { mean: this.mean, count: rows.count }, (into, from, to) => {
      for (let ordinal = from; ordinal < to; ordinal++) {
        const slot = rows.slotOf(ordinal);
        if (slot !== NO_SLOT) this.codes.read(slot, into, (ordinal - from) * codeWords);
      }
    });
  }

  async free(): Promise<void> {
    this.codes.free();
  }

  #wanted(k: number): number {
    const { candidates } = this.order.parameters;
    return Math.max(k, candidates ?? Math.max(CANDIDATES_PER_RESULT * k, CANDIDATES_MIN));
  }

  #codeOf(components: Int32Array): Uint32Array {
    const code = new Uint32Array(codeBytesOf(this.mean.length) / WORD_BYTES);
    encode(components, this.mean, code);
    return code;
  }
}

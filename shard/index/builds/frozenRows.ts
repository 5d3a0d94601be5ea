/** The rows of a build as of its order: 8 bytes for the place of each ordinal, and 8 for its record. */
import { BitSet } from '../../kernel/bitSet.js';
import type { BlockShape } from '../../kernel/blockShape.js';
import { Column } from '../../kernel/column.js';
import { RowReader, type RowsIn } from '../../kernel/rowForm.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import type { BuildRows } from '../kind.js';
import { RecordSet } from '../recordSet.js';
import { NO_RECORD } from '../rows.js';
import type { SavedRows } from '../store/rowsFile.js';

const DEAD = 0xffff_ffff;
const NO_ORDINAL = 0xffff_ffff;
const NO_BASE: SavedRows = { recordIds: new Float64Array(0), leftOut: BitSet.ofSize(0) };
const NO_RECORDS: Float64Array = new Float64Array(0);

/** A block of vectors, in memory shared with the build thread, with its live rows as of the order. */
export interface FrozenBlock extends RowsIn {
  readonly idsAddress: number;
  /** Copy of the bitmap of live rows. */
  readonly live: Uint32Array;
}

/**
 * Returns the rows that are live now. They are neither moved nor overwritten until the caller ends a scan that began in
 * this turn of the event loop; see `VectorBlocks.beginScan`.
 */
export const freeze = (vectors: VectorBlocks): FrozenBlock[] =>
  vectors.blocks
    .filter(({ live }) => live.count > 0)
    .map(({ place, idsAddress, live }) => ({ ...place, idsAddress, live: live.words.slice() }));

/**
 * The rows of frozen blocks by ordinal: first those of the base, under their ordinals there, then the others by slot. Rows
 * that the base left out stay left out, and are not live here. `replaced`: records that got another row since the base.
 */
export class FrozenRows implements BuildRows {
  readonly #readers: readonly RowReader[];
  /** Block of each ordinal, and row in the block. The block is DEAD if the row is not live. */
  readonly #block: Uint32Array;
  readonly #row: Uint32Array;
  /** Record of each ordinal. */
  readonly recordIds: Float64Array;
  readonly count: number;
  readonly dimension: number;

  constructor(
    blocks: readonly FrozenBlock[],
    { dimension, strideBytes }: Pick<BlockShape, 'dimension' | 'strideBytes'>,
    private readonly base: SavedRows = NO_BASE,
    replaced = NO_RECORDS,
  ) {
    this.dimension = dimension;
    this.#readers = blocks.map((block) => new RowReader(block, strideBytes, dimension));
    const capacity = countLive(blocks) + base.recordIds.length;
    this.#block = new Uint32Array(capacity).fill(DEAD);
    this.#row = new Uint32Array(capacity);
    const recordIds = new Float64Array(capacity);
    recordIds.set(base.recordIds);
    this.count = this.#assignOrdinals(blocks, recordIds, recordSet(replaced));
    this.recordIds = recordIds.subarray(0, this.count);
  }

  isLive(ordinal: number): boolean {
    return this.#block[ordinal] !== DEAD;
  }

  components(ordinal: number): Int32Array {
    return this.#readers[this.#block[ordinal]!]!.read(this.#row[ordinal]!);
  }

  /** Yields the ordinals of the base that are not live. */
  *dead(): Generator<number> {
    for (let ordinal = 0; ordinal < this.base.recordIds.length; ordinal++) if (!this.isLive(ordinal)) yield ordinal;
  }

  /** Gives each row its ordinal, and returns the number of ordinals. */
  #assignOrdinals(blocks: readonly FrozenBlock[], recordIds: Float64Array, replaced: RecordSet): number {
    const { leftOut, recordIds: baseIds } = this.base;
    // A Map has room for 16 million entries.
    const ordinals = new Column(NO_ORDINAL);
    for (let ordinal = 0; ordinal < baseIds.length; ordinal++) {
      const id = baseIds[ordinal]!;
      if (replaced.has(id)) recordIds[ordinal] = NO_RECORD;
      else if (id !== NO_RECORD) ordinals.set(id, ordinal);
    }
    let next = baseIds.length;
    for (const [block, { buffer, idsAddress, rows, live }] of blocks.entries()) {
      const ids = new Float64Array(buffer, idsAddress, rows);
      for (const row of new BitSet(live)) {
        const id = ids[row]!;
        const known = ordinals.get(id);
        const ordinal = known === NO_ORDINAL ? next++ : known;
        if (leftOut.has(ordinal)) continue;
        this.#block[ordinal] = block;
        this.#row[ordinal] = row;
        recordIds[ordinal] = id;
      }
    }
    return next;
  }
}

function recordSet(ids: Float64Array): RecordSet {
  const records = new RecordSet();
  for (const id of ids) records.add(id);
  return records;
}

const countLive = (blocks: readonly FrozenBlock[]): number =>
  blocks.reduce((sum, { live }) => sum + new BitSet(live).count, 0);

import { bitCount, setBits } from '../../kernel/bits.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import type { BuildRows } from '../kind.js';
import type { SavedRows } from '../store/rowsFile.js';
import type { FrozenBlock } from './order.js';

const COMPONENT_BYTES = 4;

/** What lives now. Valid as long as a scan that began before is not ended: see `VectorBlocks.beginScan`. */
export const freeze = (vectors: VectorBlocks): FrozenBlock[] =>
  vectors.blocks
    .filter(({ liveCount }) => liveCount > 0)
    .map(({ region, firstSlot, rows, vectorsAddress, idsAddress, live }) => ({
      buffer: region.arena.buffer,
      firstSlot,
      rows,
      vectorsAddress,
      idsAddress,
      live: live.slice(),
    }));

interface OpenBlock {
  readonly components: Int32Array;
  readonly ids: Float64Array;
}

const DEAD = 0xffff_ffff;
const NO_BASE: SavedRows = { recordIds: new Float64Array(0), leftOut: new Set() };

/**
 * The rows of frozen blocks, numbered: those of a base as they were numbered there, then the others by slot. What the
 * base left out stays left out, and counts as dead.
 */
export class FrozenRows implements BuildRows {
  readonly #blocks: readonly OpenBlock[];
  /** By ordinal: the block and the row in it; block DEAD where the row has died since the base. */
  readonly #block: Uint32Array;
  readonly #row: Uint32Array;
  /** By ordinal. */
  readonly recordIds: Float64Array;
  readonly count: number;

  constructor(
    blocks: readonly FrozenBlock[],
    readonly dimension: number,
    private readonly strideBytes: number,
    private readonly base: SavedRows = NO_BASE,
  ) {
    this.#blocks = blocks.map(({ buffer, rows, vectorsAddress, idsAddress }) => ({
      components: new Int32Array(buffer, vectorsAddress, (rows * strideBytes) / COMPONENT_BYTES),
      ids: new Float64Array(buffer, idsAddress, rows),
    }));
    const room = countLive(blocks) + base.recordIds.length;
    this.#block = new Uint32Array(room).fill(DEAD);
    this.#row = new Uint32Array(room);
    const recordIds = new Float64Array(room);
    recordIds.set(base.recordIds);
    this.count = this.#number(blocks, recordIds);
    this.recordIds = recordIds.subarray(0, this.count);
  }

  isLive(ordinal: number): boolean {
    return this.#block[ordinal] !== DEAD;
  }

  components(ordinal: number): Int32Array {
    const from = (this.#row[ordinal]! * this.strideBytes) / COMPONENT_BYTES;
    return this.#blocks[this.#block[ordinal]!]!.components.subarray(from, from + this.dimension);
  }

  /** Ordinals of the base that are not live. */
  *dead(): Generator<number> {
    for (let ordinal = 0; ordinal < this.base.recordIds.length; ordinal++) if (!this.isLive(ordinal)) yield ordinal;
  }

  /** Returns how many ordinals there are. */
  #number(blocks: readonly FrozenBlock[], recordIds: Float64Array): number {
    const ordinalOf = ordinalsOf(this.base.recordIds);
    let next = this.base.recordIds.length;
    blocks.forEach(({ live }, block) => {
      const { ids } = this.#blocks[block]!;
      for (const row of setBits(live)) {
        const id = ids[row]!;
        const ordinal = ordinalOf.get(id) ?? next++;
        if (this.base.leftOut.has(ordinal)) continue;
        this.#block[ordinal] = block;
        this.#row[ordinal] = row;
        recordIds[ordinal] = id;
      }
    });
    return next;
  }
}

function ordinalsOf(recordIds: Float64Array): ReadonlyMap<number, number> {
  const ordinals = new Map<number, number>();
  for (let ordinal = 0; ordinal < recordIds.length; ordinal++) ordinals.set(recordIds[ordinal]!, ordinal);
  return ordinals;
}

const countLive = (blocks: readonly FrozenBlock[]): number =>
  blocks.reduce((sum, { live }) => sum + live.reduce((bits, word) => bits + bitCount(word), 0), 0);

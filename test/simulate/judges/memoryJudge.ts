/**
 * Judges the memory of vectors, in all processes of a world. While a search or a build reads rows, none of them is
 * erased or written, and no block of them is freed. An index is not freed during its searches. No two pieces of memory
 * overlap. Freed memory is poisoned: whatever reads it finds numbers that no record has.
 */
import type { Index } from '../../../shard/index/kind.js';
import { OPENERS } from '../../../shard/index/kinds.js';
import { Arena } from '../../../shard/kernel/arena.js';
import { Block } from '../../../shard/kernel/block.js';
import { VectorBlocks } from '../../../shard/kernel/vectorBlocks.js';
import { type Region, VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import type { Findings } from './findings.js';
import { after, before, JudgeOf } from './wrapped.js';

const POISON = 0x7f;

/** Rows of a collection in one process. */
interface Rows {
  /** Running scan → per block, the ids of the rows that it may read; 0: a row that it may not. */
  readonly scans: Map<number, readonly Float64Array[]>;
  /** Slots whose rows no later scan may read. */
  readonly released: Set<number>;
}

const judges = new JudgeOf<MemoryJudge>();

/** Judges the memory of a world from now on. */
export function judgeMemory(findings: Findings): void {
  judges.set(findings.world, new MemoryJudge(findings));
}

class MemoryJudge {
  readonly #rows = new WeakMap<VectorBlocks, Rows>();
  /** Owners of the blocks that a scan may have read; and for their memory, the scans that began while it had rows. */
  readonly #rowsIn = new WeakMap<Block, { readonly rows: Rows; readonly index: number }>();
  readonly #readersOf = new WeakMap<Region, { readonly rows: Rows; readonly scans: Set<number> }>();
  /** Address → size of allocated memory. */
  readonly #allocated = new WeakMap<Arena, Map<number, number>>();

  constructor(private readonly findings: Findings) {}

  begins(vectors: VectorBlocks, scan: number): void {
    const rows = this.#of(vectors);
    const ids = vectors.blocks.map((block, index) => {
      this.#rowsIn.set(block, { rows, index });
      for (const region of block.regions) {
        const readers = this.#readersOf.get(region) ?? { rows, scans: new Set() };
        readers.scans.add(scan);
        this.#readersOf.set(region, readers);
      }
      return block.ids.slice(0, Math.max(0, vectors.slots - block.firstSlot));
    });
    for (const slot of rows.released) {
      const index = vectors.shape.blockOf(slot);
      ids[index]![slot - vectors.shape.firstSlot(index)] = 0;
    }
    rows.scans.set(scan, ids);
  }

  ends(vectors: VectorBlocks, scan: number): void {
    this.#of(vectors).scans.delete(scan);
  }

  releases(vectors: VectorBlocks, slot: number): void {
    this.#of(vectors).released.add(slot);
  }

  writes(vectors: VectorBlocks, slot: number): void {
    this.#of(vectors).released.delete(slot);
  }

  /** Notes that rows of a block are written or erased. */
  changes(block: Block, row: number, count = 1): void {
    const known = this.#rowsIn.get(block);
    if (known === undefined) return;
    for (const ids of known.rows.scans.values())
      for (let at = row; at < row + count; at++)
        if (ids[known.index]?.[at])
          this.#add(`changes the row of record ${ids[known.index]![at]}, which a scan may read`);
  }

  freesBlock(region: Region): void {
    const readers = this.#readersOf.get(region);
    for (const scan of readers?.scans ?? [])
      if (readers!.rows.scans.has(scan)) this.#add('frees rows that a scan may read');
    this.frees(region.arena, region.address, region.sizeBytes);
  }

  allocated(arena: Arena, address: number, sizeBytes: number): void {
    const allocated = this.#allocatedIn(arena);
    for (const [at, bytes] of allocated)
      if (at < address + sizeBytes && address < at + bytes) this.#add(`gives out memory at ${address} that is in use`);
    allocated.set(address, sizeBytes);
  }

  frees(arena: Arena, address: number, sizeBytes: number): void {
    if (!this.#allocatedIn(arena).delete(address)) this.#add(`frees memory at ${address} that is not in use`);
    new Uint8Array(arena.buffer, address, sizeBytes).fill(POISON);
  }

  /** An opened index must not be freed while it is asked for candidates. */
  opened(index: Index): void {
    const { candidates, free } = index;
    let asked = 0;
    const isAnswered = (): void => {
      asked--;
    };
    index.candidates = (...args) => {
      asked++;
      const answer = candidates.apply(index, args);
      answer.then(isAnswered, isAnswered);
      return answer;
    };
    index.free = () => {
      if (asked > 0) this.#add('frees an index that is searched');
      return free.apply(index);
    };
  }

  #add(what: string): void {
    this.findings.add(`${this.findings.world.party.process.name} ${what}`);
  }

  #of(vectors: VectorBlocks): Rows {
    let rows = this.#rows.get(vectors);
    if (rows === undefined) {
      rows = { scans: new Map(), released: new Set() };
      this.#rows.set(vectors, rows);
    }
    return rows;
  }

  #allocatedIn(arena: Arena): Map<number, number> {
    let allocated = this.#allocated.get(arena);
    if (allocated === undefined) {
      allocated = new Map();
      this.#allocated.set(arena, allocated);
    }
    return allocated;
  }
}

after(VectorBlocks.prototype, 'beginScan', (vectors, scan) => judges.current?.begins(vectors, scan));
before(VectorBlocks.prototype, 'endScan', (vectors, [scan]) => judges.current?.ends(vectors, scan));
before(VectorBlocks.prototype, 'release', (vectors, [slot]) => judges.current?.releases(vectors, slot));
before(VectorBlocks.prototype, 'write', (vectors, [slot]) => judges.current?.writes(vectors, slot));
before(Block.prototype, 'write', (block, [row]) => judges.current?.changes(block, row));
before(Block.prototype, 'wrote', (block, [row, count]) => judges.current?.changes(block, row, count));
before(Block.prototype, 'erase', (block, [row]) => judges.current?.changes(block, row));
before(VectorMemory.prototype, 'freeBlock', (_, [region]) => judges.current?.freesBlock(region));
before(Arena.prototype, 'freeScratch', (arena, [address, sizeBytes]) =>
  judges.current?.frees(arena, address, sizeBytes),
);
after(VectorMemory.prototype, 'allocateBlock', (_, { arena, address, sizeBytes }) =>
  judges.current?.allocated(arena, address, sizeBytes),
);
after(VectorMemory.prototype, 'allocatePair', (_, regions) => {
  for (const { arena, address, sizeBytes } of regions) judges.current?.allocated(arena, address, sizeBytes);
});
after(VectorMemory.prototype, 'allocateIn', (_, region) => {
  if (region !== undefined) judges.current?.allocated(region.arena, region.address, region.sizeBytes);
});
after(Arena.prototype, 'allocateScratch', (arena, address, [sizeBytes]) => {
  if (address !== undefined) judges.current?.allocated(arena, address, sizeBytes);
});
for (const kind of Object.values(OPENERS)) {
  const open = kind.open.bind(kind);
  kind.open = async (order) => {
    const index = await open(order);
    judges.current?.opened(index);
    return index;
  };
}

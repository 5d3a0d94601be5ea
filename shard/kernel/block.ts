/**
 * One block of rows in an arena. It keeps an upper bound of all magnitudes, which decides between narrow and wide path.
 *
 * ```text
 * plain ──every row written──▶ split ──many rows erased──▶ plain
 * ```
 */
import { BitSet } from './bitSet.js';
import { type BlockShape, bitmapAfter, bitmapBytesOf, narrowReach } from './blockShape.js';
import { classBytes } from './buddyAllocator.js';
import { BYTE_STEP_MAX, CodePlane, WORD_STEP_MAX } from './codePlane.js';
import { BYTES, PLAIN, type RowForm, type RowsIn, rowBytesOf, WORDS } from './rowForm.js';
import type { SlotReuse } from './slotReuse.js';
import type { BlockMemory, Region } from './vectorMemory.js';

/** The memory that blocks are in, and the running scans that a block waits for before it frees some. */
interface BlockServices {
  readonly memory: BlockMemory;
  readonly reuse: SlotReuse;
}

/** A block of rows: its memory and the views of it. `blockShape.ts` has the layout. */
export class Block {
  /** Region of the ids, the bitmap and the code plane. The block keeps it for life. */
  readonly region: Region;
  readonly firstSlot: number;
  readonly rows: number;
  readonly strideBytes: number;
  readonly idsAddress: number;
  readonly bitmapAddress: number;
  readonly ids: Float64Array;
  /** The live rows, in whole u64 for the kernel. */
  readonly live: BitSet;
  /** Upper bound of the magnitude of all components. It does not shrink when rows are removed. */
  largestComponent = 0;
  /** Largest id of a row that is or was in the block. */
  largestId = 0;
  /** Number of rows that were never written or are erased. */
  #unwritten: number;
  /** Number of writes of rows so far. A row that is written again counts again. */
  #written = 0;
  /** Number of writes from which on the rows may be split. */
  #splitAt = 0;
  /** Rows erased since the split. */
  readonly #erased: number[] = [];
  readonly #plane: CodePlane | undefined;
  #rowsRegion: Region;
  /** Number of the newest scan when the rows moved into their region. */
  #rowsSince: number;
  #form: RowForm = PLAIN;
  #bytes: Uint8Array;
  /** View of the arena's room for one row, which `vectorView` returns for a split row. */
  #joined: Uint8Array | undefined;

  /** Clears ids and bitmap, since the memory may have been used before. `before`: a block whose middles and steps are taken over. */
  constructor(
    private readonly shape: BlockShape,
    index: number,
    private readonly services: BlockServices,
    before?: Block,
  ) {
    this.firstSlot = shape.firstSlot(index);
    this.rows = shape.rows(index);
    this.#unwritten = this.rows;
    this.#rowsSince = services.reuse.newestScan;
    this.strideBytes = shape.strideBytes;
    [this.#rowsRegion, this.region] = services.memory.allocatePair(shape.rowsBytes(index), shape.sideBytes(index));
    const { arena, address } = this.region;
    this.idsAddress = address;
    this.bitmapAddress = bitmapAfter(this.idsAddress, this.rows);
    this.ids = new Float64Array(arena.buffer, this.idsAddress, this.rows).fill(0);
    this.live = new BitSet(new Uint32Array(arena.buffer, this.bitmapAddress, bitmapBytesOf(this.rows) / 4).fill(0));
    this.#bytes = this.#viewOf(this.#rowsRegion, PLAIN);
    if (!shape.hasPlane(index)) return;
    const planeAddress = this.bitmapAddress + bitmapBytesOf(this.rows);
    this.#plane = new CodePlane(this, shape.codeBytes, narrowReach(shape.dimension), planeAddress);
    if (before !== undefined) this.#plane.inherit(before.#plane!);
    this.largestComponent = this.#plane.largest;
  }

  /** Address of the rows, or of their residuals. */
  get vectorsAddress(): number {
    return this.#rowsRegion.address;
  }

  get form(): RowForm {
    return this.#form;
  }

  /** Address of the code plane for the kernel; 0 if the rows have no codes. */
  get planeAddress(): number {
    return this.#plane?.address ?? 0;
  }

  get words(): number {
    return this.live.words.length / 2;
  }

  /** All memory of the block. */
  get regions(): readonly Region[] {
    return [this.region, this.#rowsRegion];
  }

  get bytes(): number {
    return this.region.sizeBytes + this.#rowsRegion.sizeBytes;
  }

  /** Number of erased rows, which can be written only once the block is plain again. */
  get erasedCount(): number {
    return this.#erased.length;
  }

  /** The rows for a reader in any thread. */
  get place(): RowsIn {
    const { region, rows, vectorsAddress, form, planeAddress } = this;
    return { buffer: region.arena.buffer, rows, vectorsAddress, form, planeAddress };
  }

  /** Freezes middles and steps of the code plane until `endRead`, so that other threads can read it. */
  beginRead(): void {
    this.#plane?.beginRead();
  }

  endRead(): void {
    this.#plane?.endRead();
  }

  write(row: number, id: number, vector: Uint8Array): void {
    if (this.#form !== PLAIN) throw new Error(`row ${row} is split`);
    const offset = row * this.strideBytes;
    this.#bytes.set(vector, offset);
    this.#bytes.fill(0, offset + vector.length, offset + this.strideBytes);
    if (this.ids[row] !== 0) this.#unwritten++;
    this.ids[row] = id;
    this.wrote(row, 1);
  }

  /** Records rows whose vectors and ids have been written in place. */
  wrote(row: number, rows: number): void {
    const { kernel } = this.region.arena;
    const address = this.vectorsAddress + row * this.strideBytes;
    const largest = kernel.largestComponent(address, rows * this.strideBytes) >>> 0;
    this.largestComponent = Math.max(this.largestComponent, largest);
    for (let at = row; at < row + rows; at++) this.largestId = Math.max(this.largestId, this.ids[at]!);
    this.#unwritten -= rows;
    this.#written += rows;
    this.#plane?.wrote(row, rows, this.largestComponent);
  }

  /** Returns a view of the vector. A split row is joined in memory of the arena; its view is valid until the next call. */
  vectorView(row: number): Uint8Array {
    const { arena } = this.region;
    const sizeBytes = this.shape.dimension * Int32Array.BYTES_PER_ELEMENT;
    if (this.#form === PLAIN) return this.#bytes.subarray(row * this.strideBytes, row * this.strideBytes + sizeBytes);
    this.copyRow(row, arena.rowAddress);
    this.#joined ??= new Uint8Array(arena.buffer, arena.rowAddress, sizeBytes);
    return this.#joined;
  }

  /** Writes the vector of a row, padded with zeros, to an address in its arena. */
  copyRow(row: number, to: number): void {
    const { vectorsAddress, strideBytes } = this;
    const { arena } = this.region;
    if (this.#form !== PLAIN)
      arena.kernel.joinRow(this.planeAddress, vectorsAddress, strideBytes, row, to, Number(this.#form === BYTES));
    else
      new Uint8Array(arena.buffer, to, strideBytes).set(
        this.#bytes.subarray(row * strideBytes, (row + 1) * strideBytes),
      );
  }

  /** Erases a row. Returns whether it can be written now. */
  erase(row: number): boolean {
    const rowBytes = rowBytesOf(this.#form, this.strideBytes);
    this.#bytes.fill(0, row * rowBytes, (row + 1) * rowBytes);
    if (this.ids[row] !== 0) this.#unwritten++;
    this.ids[row] = 0;
    this.#plane?.erase(row);
    if (this.#form === PLAIN) return true;
    this.#joined?.fill(0);
    this.#erased.push(row);
    return false;
  }

  /** Whether all rows are written, have codes, and were not refused by `split` recently. */
  get isSplittable(): boolean {
    return this.#form === PLAIN && this.#unwritten === 0 && this.#written >= this.#splitAt && this.planeAddress !== 0;
  }

  /**
   * Splits the rows, with residuals of 8 bits if they are enough. Returns false if threads that read the codes must end
   * first. The rows stay plain if 16 bits are not enough, or memory is short.
   */
  split(): boolean {
    const plane = this.#plane!;
    this.#splitAt = 0;
    if (this.#splitInto(BYTES)) return true;
    if (plane.isRead) return false;
    if (plane.fit(BYTE_STEP_MAX, this.largestComponent) && this.#splitInto(BYTES)) return true;
    if (this.#splitInto(WORDS)) return true;
    if (plane.fit(WORD_STEP_MAX, this.largestComponent) && this.#splitInto(WORDS)) return true;
    // A block that stays plain is tried again after as many writes as it has rows.
    this.#splitAt = this.#written + this.rows;
    return true;
  }

  /**
   * Makes the rows plain again, and returns the rows that can be written now; undefined if memory is short. The codes
   * do not change while a scan reads the split rows.
   */
  join(): readonly number[] | undefined {
    const to = this.#allocate(PLAIN);
    if (to === undefined) return undefined;
    new Uint8Array(to.arena.buffer, to.address, to.sizeBytes).fill(0);
    for (let row = 0; row < this.rows; row++)
      if (this.ids[row] !== 0) this.copyRow(row, to.address + row * this.strideBytes);
    this.beginRead();
    this.services.reuse.whenUnread(0, () => this.endRead());
    this.#enter(to, PLAIN);
    return this.#erased.splice(0);
  }

  /** Frees all memory. */
  free(): void {
    for (const region of this.regions) this.services.memory.freeBlock(region);
  }

  #splitInto(form: RowForm): boolean {
    const to = this.#allocate(form);
    if (to === undefined) return false;
    const { kernel } = to.arena;
    const isSplit = kernel.splitRows(
      this.planeAddress,
      this.vectorsAddress,
      this.strideBytes,
      this.rows,
      to.address,
      Number(form === BYTES),
    );
    if (isSplit === 0) this.services.memory.freeBlock(to);
    else this.#enter(to, form);
    return isSplit !== 0;
  }

  #allocate(form: RowForm): Region | undefined {
    const sizeBytes = classBytes(this.rows * rowBytesOf(form, this.strideBytes));
    return this.services.memory.allocateIn(this.region.arena, sizeBytes);
  }

  /** Makes a region that has the rows in this form the current one. Frees the region before once no scan reads it. */
  #enter(region: Region, form: RowForm): void {
    const { reuse, memory } = this.services;
    const before = this.#rowsRegion;
    const since = this.#rowsSince;
    this.#rowsRegion = region;
    this.#rowsSince = reuse.newestScan;
    this.#form = form;
    this.#bytes = this.#viewOf(region, form);
    reuse.whenUnread(since, () => memory.freeBlock(before));
  }

  #viewOf({ arena, address }: Region, form: RowForm): Uint8Array {
    return new Uint8Array(arena.buffer, address, this.rows * rowBytesOf(form, this.strideBytes));
  }
}

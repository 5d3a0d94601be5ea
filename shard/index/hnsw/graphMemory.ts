/**
 * The host's view of a graph in the kernel's memory; `kernel/assembly/graph.ts` has the layout. A node takes its
 * vector, 16 bytes and 8 m bytes of links. About one in m also has upper lists of 4 m bytes a level.
 */
import { classBytes } from '../../kernel/buddyAllocator.js';
import { NO_SLOT } from '../rows.js';
import { type VectorForm, vectorBytesOf } from './vectorForm.js';

/** Header; see `assembly/graph.ts`. */
const HEADER_WORDS = 16;
const COUNT = 0;
const NEXT = 1;
const ENTRY = 2;
const WORD_BYTES = 4;
/** Words of a record behind the vector: slot, lock, place of the upper lists, length of the list. */
const RECORD_WORDS = 4;
const SLOT = 0;
const LOCK = 1;
const UPPER = 2;

export const NO_NODE = 0xffff_ffff;
/** Slot of a node that represents several rows with equal vectors. */
export const SEVERAL = 0xffff_fffe;

/** Size of the largest region. */
export const REGION_BYTES_MAX = 2 ** 31;
/** Room for upper lists, relative to their expected size. */
const UPPER_MARGIN = 1.25;
const UPPER_LEVELS_SPARE = 64;

/** Facts that decide the size and the cost of links. */
export interface LinksShape {
  readonly form: VectorForm;
  readonly neighbours: number;
  readonly constructionWidth: number;
}

export interface GraphShape extends LinksShape {
  /** Largest number of nodes. */
  readonly capacity: number;
}

const recordBytesOf = ({ form, neighbours }: LinksShape): number =>
  vectorBytesOf(form) + WORD_BYTES * (RECORD_WORDS + 2 * neighbours);

/** Cost of comparing a vector, in bytes that are read in that time. */
const COMPARED_BYTES = 64;

/** Bytes that are read to link a node: each found node has about m neighbours that are not yet visited. */
export const linkBytes = ({ form, neighbours, constructionWidth }: LinksShape): number =>
  (COMPARED_BYTES + vectorBytesOf(form)) * constructionWidth * neighbours;

/**
 * Average words of a node's upper lists. One node in m is on level 1, and one in m of those on the next level, and so
 * on.
 */
const upperWordsPerNode = (neighbours: number): number =>
  UPPER_MARGIN * (1 / neighbours + (neighbours + 1) / (neighbours - 1));

const spareUpperWords = (neighbours: number): number => UPPER_LEVELS_SPARE * (neighbours + 2);

const upperBytesOf = ({ neighbours, capacity }: GraphShape): number =>
  16 * Math.ceil((capacity * upperWordsPerNode(neighbours) + spareUpperWords(neighbours)) / 4);

export const graphBytes = (shape: GraphShape): number =>
  HEADER_WORDS * WORD_BYTES + upperBytesOf(shape) + shape.capacity * recordBytesOf(shape);

/**
 * Returns the shape with the most nodes that fit the region of `least` nodes; fewer than `least` if no region is so
 * large.
 */
export function filledUp(shape: LinksShape, least: number): GraphShape {
  const sizeBytes = Math.min(REGION_BYTES_MAX, classBytes(graphBytes({ ...shape, capacity: least })));
  const perNode = recordBytesOf(shape) + WORD_BYTES * upperWordsPerNode(shape.neighbours);
  const capacity = Math.floor((sizeBytes - graphBytes({ ...shape, capacity: 0 }) - 16) / perNode);
  return { ...shape, capacity };
}

/** Returns a reader of the slots of the nodes of a graph: NO_SLOT, SEVERAL, or a slot. */
export function nodeSlots(buffer: SharedArrayBuffer, address: number, shape: GraphShape): (node: number) => number {
  const words = new Uint32Array(buffer);
  const records = address + HEADER_WORDS * WORD_BYTES + upperBytesOf(shape);
  const first = (records + vectorBytesOf(shape.form)) / WORD_BYTES + SLOT;
  const apart = recordBytesOf(shape) / WORD_BYTES;
  return (node) => words[first + node * apart]!;
}

/** A graph in the memory of a kernel, at an address. */
export class GraphMemory {
  /** Words of the upper lists written so far; 0 means no list, so the first starts at 1. */
  upperWords = 1;
  readonly #words: Uint32Array;
  readonly #recordBytes: number;
  readonly #uppers: number;
  readonly #records: number;
  readonly #upperWordsMax: number;

  /** Makes an empty graph. */
  constructor(
    readonly buffer: SharedArrayBuffer,
    readonly address: number,
    readonly shape: GraphShape,
  ) {
    const { form, neighbours, constructionWidth } = shape;
    this.#words = new Uint32Array(buffer);
    this.#recordBytes = recordBytesOf(shape);
    this.#uppers = address + HEADER_WORDS * WORD_BYTES;
    this.#records = this.#uppers + upperBytesOf(shape);
    this.#upperWordsMax = upperBytesOf(shape) / WORD_BYTES;
    const sizes = [neighbours, constructionWidth, vectorBytesOf(form), Number(form.isFloat), this.#recordBytes];
    this.#words.set([0, 0, NO_NODE, 0, ...sizes, this.#records, this.#uppers], address / WORD_BYTES);
    this.#words[this.#uppers / WORD_BYTES] = 0;
  }

  get count(): number {
    return this.#words[this.address / WORD_BYTES + COUNT]!;
  }

  get entry(): number {
    return this.#words[this.address / WORD_BYTES + ENTRY]!;
  }

  /** Completes a graph whose `uppers` and `records` were written for a graph of this shape, with any capacity. */
  restore(count: number, entry: number, upperWords: number): void {
    const at = this.address / WORD_BYTES;
    this.#words[at + COUNT] = count;
    this.#words[at + NEXT] = count;
    this.#words[at + ENTRY] = entry;
    this.upperWords = upperWords;
    // Release all locks: no thread links now, whatever the file contains.
    for (let node = 0; node < count; node++) this.#words[this.#slotWord(node) + LOCK] = 0;
  }

  /** Bytes of the upper lists. `words`: their length in a graph that is to be restored. */
  uppers(words = this.upperWords): Uint8Array {
    if (words > this.#upperWordsMax) throw new Error(`an HNSW payload with ${words} words of higher levels`);
    return new Uint8Array(this.buffer, this.#uppers, words * WORD_BYTES);
  }

  /** The bytes of the first `count` records. */
  records(count = this.count): Uint8Array {
    if (count > this.shape.capacity) throw new Error(`an HNSW payload of ${count} nodes with room for fewer`);
    return new Uint8Array(this.buffer, this.#records, count * this.#recordBytes);
  }

  get hasRoom(): boolean {
    return this.count < this.shape.capacity;
  }

  /** Words of a node's vector. */
  vectorOf(node: number): Int32Array {
    const at = this.#records + node * this.#recordBytes;
    return new Int32Array(this.buffer, at, vectorBytesOf(this.shape.form) / WORD_BYTES);
  }

  /** Writes a node without neighbours, and returns its number. There must be room. `vector`: a result of `encoded`. */
  add(vector: Int32Array): number {
    const { count: node } = this;
    if (!this.hasRoom) throw new Error(`a graph of ${node} nodes is full`);
    const at = this.#records + node * this.#recordBytes;
    const vectorBytes = vectorBytesOf(this.shape.form);
    new Uint8Array(this.buffer, at, this.#recordBytes).fill(0);
    new Int32Array(this.buffer, at, vector.length).set(vector);
    const word = (at + vectorBytes) / WORD_BYTES;
    this.#words[word + SLOT] = NO_SLOT;
    this.#words[word + UPPER] = this.#takeUpper(levelOf(node, this.shape.neighbours));
    this.#words[this.address / WORD_BYTES + COUNT] = node + 1;
    return node;
  }

  /** Sets a node's slot. With NO_SLOT, searches pass through the node and do not return it. */
  setSlot(node: number, slot: number): void {
    this.#words[this.#slotWord(node)] = slot;
  }

  /** Clears the slot of a node, unless it represents several rows. */
  clearSlot(node: number): void {
    const word = this.#slotWord(node);
    if (this.#words[word] !== SEVERAL) this.#words[word] = NO_SLOT;
  }

  /** Marks a node that represents several rows from now on. */
  share(node: number): void {
    this.#words[this.#slotWord(node)] = SEVERAL;
  }

  #slotWord(node: number): number {
    return (this.#records + node * this.#recordBytes + vectorBytesOf(this.shape.form)) / WORD_BYTES + SLOT;
  }

  /** Takes room for the upper lists of `level` levels; 0 if there is not enough. */
  #takeUpper(level: number): number {
    const words = 1 + level * (this.shape.neighbours + 1);
    const at = this.upperWords;
    if (level === 0 || at + words > this.#upperWordsMax) return 0;
    this.#words.fill(0, this.#uppers / WORD_BYTES + at, this.#uppers / WORD_BYTES + at + words);
    this.#words[this.#uppers / WORD_BYTES + at] = level;
    this.upperWords += words;
    return at;
  }
}

/** Draws the level of a node: l with probability m^-l, always the same for a node. */
function levelOf(node: number, neighbours: number): number {
  let hash = Math.imul(node + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  const drawn = (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32;
  return Math.floor(-Math.log(drawn) / Math.log(neighbours));
}

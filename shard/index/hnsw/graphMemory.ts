/**
 * The view that TypeScript has of a graph in the kernel's memory; `kernel/assembly/graph.ts` has the layout. A node takes its
 * vector, 16 bytes and 8 m bytes of links. About one node in m also has upper lists, of 4 m bytes for each level.
 */
import { classBytes } from '../../kernel/buddyAllocator.js';
import { NO_SLOT } from '../rows.js';
import { type VectorForm, vectorBytesOf } from './vectorForm.js';

/** Length of the header, and places in it; see `assembly/graph.ts`. */
const HEADER_WORDS = 16;
const COUNT = 0;
const NEXT = 1;
const ENTRY = 2;
const WORD_BYTES = 4;
/** Words behind the vector in the record of a node, and places among them. The fourth is the length of the lowest list. */
const RECORD_WORDS = 4;
const SLOT = 0;
const LOCK = 1;
const UPPER = 2;

export const NO_NODE = 0xffff_ffff;
/** Slot of a node that represents several rows with equal vectors. */
export const SEVERAL = 0xffff_fffe;

/** Size of the largest region, and so of a graph. A larger index has several graphs. */
export const REGION_BYTES_MAX = 2 ** 31;
/** Memory for upper lists, relative to their expected size. */
const UPPER_MARGIN = 1.25;
/** Levels for which there is memory besides, since a small graph may have more than expected. */
const UPPER_LEVELS_SPARE = 64;

/** Facts that decide the size of links, and the time that they take to make. */
export interface LinksShape {
  readonly form: VectorForm;
  readonly neighbours: number;
  readonly constructionWidth: number;
}

export interface GraphShape extends LinksShape {
  /** Largest number of nodes. */
  readonly capacity: number;
}

/** Returns the bytes of a node without its upper lists. */
export const recordBytesOf = ({ form, neighbours }: LinksShape): number =>
  vectorBytesOf(form) + WORD_BYTES * (RECORD_WORDS + 2 * neighbours);

/** Cost of comparing a vector, in bytes that are read in that time. */
const COMPARED_BYTES = 64;

/** Returns the bytes that are read to link a node: each node found has about m neighbours that were not visited before. */
export const linkBytes = ({ form, neighbours, constructionWidth }: LinksShape): number =>
  (COMPARED_BYTES + vectorBytesOf(form)) * constructionWidth * neighbours;

/**
 * Returns the words of upper lists per node of the graph. One node in m is on level 1, one in m of those is on level 2, and so
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
 * Returns a shape that fills its region. The region is the smallest one for `least` nodes, or one of `bytesMax`, which may be
 * too small for them.
 */
export function filledUp(shape: LinksShape, least: number, bytesMax: number): GraphShape {
  const sizeBytes = Math.min(bytesMax, classBytes(graphBytes({ ...shape, capacity: least })));
  const perNode = recordBytesOf(shape) + WORD_BYTES * upperWordsPerNode(shape.neighbours);
  const capacity = Math.floor((sizeBytes - graphBytes({ ...shape, capacity: 0 }) - 16) / perNode);
  return { ...shape, capacity };
}

/**
 * Returns a function that reads the slot of a node of a graph. It returns a slot, NO_SLOT or SEVERAL. `words`: those of the whole memory.
 */
export function nodeSlots(words: Uint32Array, address: number, shape: GraphShape): (node: number) => number {
  const records = address + HEADER_WORDS * WORD_BYTES + upperBytesOf(shape);
  const first = (records + vectorBytesOf(shape.form)) / WORD_BYTES + SLOT;
  const apart = recordBytesOf(shape) / WORD_BYTES;
  return (node) => words[first + node * apart]!;
}

/** A graph at an address in the memory of a kernel. */
export class GraphMemory {
  /** Words of the upper lists so far. A node without lists has 0 as their place, so the first list is at 1. */
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

  /** Node at which searches begin; NO_NODE in an empty graph. */
  get entry(): number {
    return this.#words[this.address / WORD_BYTES + ENTRY]!;
  }

  /** Completes a graph, after `uppers` and `records` have been filled with those of a saved graph of this shape. */
  restore(count: number, entry: number, upperWords: number): void {
    const at = this.address / WORD_BYTES;
    this.#words[at + COUNT] = count;
    this.#words[at + NEXT] = count;
    this.#words[at + ENTRY] = entry;
    this.upperWords = upperWords;
  }

  /** Releases the locks of nodes that were read from a file, whatever it contains: no thread links now. */
  releaseLocks(from: number, end: number): void {
    for (let node = from; node < end; node++) this.#words[this.#slotWord(node) + LOCK] = 0;
  }

  /** Returns a view of the upper lists. `words`: their length in a saved graph that is to be restored. */
  uppers(words = this.upperWords): Uint8Array {
    if (words > this.#upperWordsMax) throw new Error(`an HNSW payload with ${words} words of higher levels`);
    return new Uint8Array(this.buffer, this.#uppers, words * WORD_BYTES);
  }

  /** Returns a view of the first `count` records, by default of all. */
  records(count = this.count): Uint8Array {
    if (count > this.shape.capacity) throw new Error(`an HNSW payload of ${count} nodes with room for fewer`);
    return new Uint8Array(this.buffer, this.#records, count * this.#recordBytes);
  }

  get hasRoom(): boolean {
    return this.count < this.shape.capacity;
  }

  /** Returns a view of the words of a node's vector. */
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

  /** Sets the slot of a node. With NO_SLOT, searches follow the links of the node and do not return it. */
  setSlot(node: number, slot: number): void {
    this.#words[this.#slotWord(node)] = slot;
  }

  /** Clears the slot of a node, unless it represents several rows. */
  clearSlot(node: number): void {
    const word = this.#slotWord(node);
    if (this.#words[word] !== SEVERAL) this.#words[word] = NO_SLOT;
  }

  /** Overwrites the vector of a node. Its links stay, since other nodes are reached through it. */
  eraseVector(node: number): void {
    this.vectorOf(node).fill(0);
  }

  /** Makes a node represent several rows from now on. */
  share(node: number): void {
    this.#words[this.#slotWord(node)] = SEVERAL;
  }

  #slotWord(node: number): number {
    return (this.#records + node * this.#recordBytes + vectorBytesOf(this.shape.form)) / WORD_BYTES + SLOT;
  }

  /** Reserves the upper lists of a node of that level; returns their place. Returns 0 at level 0, or without memory. */
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

/** Returns the level of a node: at least l for a share m^-l of the nodes. It depends on the node's number alone. */
function levelOf(node: number, neighbours: number): number {
  let hash = Math.imul(node + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  const drawn = (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32;
  return Math.floor(-Math.log(drawn) / Math.log(neighbours));
}

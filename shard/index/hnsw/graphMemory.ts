import { classBytes } from '../../kernel/buddyAllocator.js';
import { NO_SLOT } from '../rows.js';
import { type VectorForm, vectorBytesOf } from './vectorForm.js';

/** `assembly/graph.ts` says what is in it. */
const HEADER_WORDS = 16;
const COUNT = 0;
const NEXT = 1;
const ENTRY = 2;
const WORD_BYTES = 4;
/** Of a record, behind the vector: slot, lock, place on higher levels, length of the list. */
const RECORD_WORDS = 4;
const SLOT = 0;
const LOCK = 1;
const UPPER = 2;

export const NO_NODE = 0xffff_ffff;
/** In place of the slot of a node that stands for several rows with equal vectors. */
const SEVERAL = 0xffff_fffe;

/** The largest region that there is. */
export const REGION_BYTES_MAX = 2 ** 31;
/** How much more of the higher levels there may be than is to be expected. */
const UPPER_MARGIN = 1.25;
const UPPER_LEVELS_SPARE = 64;

/** What links are made of. */
export interface LinksShape {
  readonly form: VectorForm;
  readonly neighbours: number;
  readonly constructionWidth: number;
}

export interface GraphShape extends LinksShape {
  /** Nodes that there is room for. */
  readonly capacity: number;
}

const recordBytesOf = ({ form, neighbours }: LinksShape): number =>
  vectorBytesOf(form) + WORD_BYTES * (RECORD_WORDS + 2 * neighbours);

/** To compare a vector takes as long as to read so many bytes more. */
const COMPARED_BYTES = 64;

/** Read in the time that it takes to link a node, about: a node found has some m neighbours that have not been seen. */
export const linkBytes = ({ form, neighbours, constructionWidth }: LinksShape): number =>
  (COMPARED_BYTES + vectorBytesOf(form)) * constructionWidth * neighbours;

/** The words that a node takes on higher levels, on average: one node in m is on a level, one in m of those on the next. */
const upperWordsPerNode = (neighbours: number): number =>
  UPPER_MARGIN * (1 / neighbours + (neighbours + 1) / (neighbours - 1));

const spareUpperWords = (neighbours: number): number => UPPER_LEVELS_SPARE * (neighbours + 2);

const upperBytesOf = ({ neighbours, capacity }: GraphShape): number =>
  16 * Math.ceil((capacity * upperWordsPerNode(neighbours) + spareUpperWords(neighbours)) / 4);

export const graphBytes = (shape: GraphShape): number =>
  HEADER_WORDS * WORD_BYTES + upperBytesOf(shape) + shape.capacity * recordBytesOf(shape);

/** The shape with room for `least` nodes, and as many more as a region for those has room for; for fewer where none is so large. */
export function filledUp(shape: LinksShape, least: number): GraphShape {
  const sizeBytes = Math.min(REGION_BYTES_MAX, classBytes(graphBytes({ ...shape, capacity: least })));
  const perNode = recordBytesOf(shape) + WORD_BYTES * upperWordsPerNode(shape.neighbours);
  const capacity = Math.floor((sizeBytes - graphBytes({ ...shape, capacity: 0 }) - 16) / perNode);
  return { ...shape, capacity };
}

/** A graph in the memory of a kernel, at an address. */
export class GraphMemory {
  /** What has been written so far of the higher levels, in words; 0 stands for none. */
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

  /** Takes what was written into `uppers` and `records` for a graph of this shape, but its capacity. */
  restore(count: number, entry: number, upperWords: number): void {
    const at = this.address / WORD_BYTES;
    this.#words[at + COUNT] = count;
    this.#words[at + NEXT] = count;
    this.#words[at + ENTRY] = entry;
    this.upperWords = upperWords;
    // Nobody links now, whatever the file says.
    for (let node = 0; node < count; node++) this.#words[this.#slotWord(node) + LOCK] = 0;
  }

  /** The bytes of what there is of higher levels. `words`: of a graph that is to be restored. */
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

  /** The words of the vector of a node. */
  vectorOf(node: number): Int32Array {
    const at = this.#records + node * this.#recordBytes;
    return new Int32Array(this.buffer, at, vectorBytesOf(this.shape.form) / WORD_BYTES);
  }

  /** Writes a node that has no neighbours yet, and returns its number. There must be room. `vector`: as `encoded` returns it. */
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

  /** NO_SLOT: the node is searched, but not found. */
  setSlot(node: number, slot: number): void {
    this.#words[this.#slotWord(node)] = slot;
  }

  /** Of a node that stands for one row. */
  clearSlot(node: number): void {
    const word = this.#slotWord(node);
    if (this.#words[word] !== SEVERAL) this.#words[word] = NO_SLOT;
  }

  /** From now on the node stands for several rows. */
  share(node: number): void {
    this.#words[this.#slotWord(node)] = SEVERAL;
  }

  #slotWord(node: number): number {
    return (this.#records + node * this.#recordBytes + vectorBytesOf(this.shape.form)) / WORD_BYTES + SLOT;
  }

  /** Room for the lists of so many higher levels; 0 where there is none. */
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

/** A level drawn for a node: always the same, and l with the probability m^-l. */
function levelOf(node: number, neighbours: number): number {
  let hash = Math.imul(node + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  const drawn = (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32;
  return Math.floor(-Math.log(drawn) / Math.log(neighbours));
}

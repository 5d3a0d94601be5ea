/** Fits answers into a bounded size: long values are shortened with a mark, or left out, and the answer says so. */

import { counted } from '../../shared/errors/counted.js';
import { pieceOf, sizeOf } from './size.js';

/**
 * Most UTF-8 bytes of an answer, and so most tokens: a token of any model is at least one byte. Clients cut off or refuse
 * answers of more than 25,000 tokens. English takes about a quarter of the tokens, lists of numbers about half.
 */
export const ANSWER_BYTES_MAX = 24_000;
/** Room for the note on what was left out. */
const NOTE_BYTES = 700;
/** Least bytes that the shortened fields of an item keep; with less room, fewer items are answered. */
const ITEM_BYTES_MIN = 160;
/** Least bytes of a part of a shortened value; a shorter part is left out. */
const PART_BYTES_MIN = 24;
/** Room for the mark of a shortened text, list or object. */
const MARK_BYTES = 48;

/** The list that makes up most of an answer. */
export interface Listing {
  readonly name: string;
  /** Fields of its items that may be shortened. */
  readonly shortens: readonly string[];
  /** The field of the last item whose value is the answer's `next`. */
  readonly nextAfter?: string;
  /** How to get what was left out. */
  readonly rest: string;
}

type Item = Readonly<Record<string, unknown>>;
type Answer = Readonly<Record<string, unknown>>;

/** `answer` if it fits; otherwise a shorter one with `left_out`, which says what is missing. Undefined if nothing useful fits. */
export function fitted(answer: Answer, listing: Listing | undefined): Answer | undefined {
  if (sizeOf(answer) <= ANSWER_BYTES_MAX) return answer;
  if (listing === undefined) return undefined;
  const { name, shortens, nextAfter, rest } = listing;
  const room = ANSWER_BYTES_MAX - NOTE_BYTES - sizeOf({ ...answer, [name]: [] });
  const given = answer[name] as readonly Item[];
  const items = given.map((item) => divided(item, shortens, room));
  const kept = items.slice(0, countOf(items, room));
  if (kept.length === 0) return undefined;
  const level = levelOf(
    kept.map(({ softBytes }) => softBytes),
    room - kept.reduce((sum, { firmBytes }) => sum + firmBytes, 0),
  );
  const isShortened = kept.some(({ softBytes }) => softBytes > level);
  const left = [
    ...(kept.length < given.length ? [`${given.length - kept.length} of ${given.length} ${name}`] : []),
    ...(kept.some(({ hasLost }) => hasLost) ? ['vectors that are too large'] : []),
    ...(isShortened ? [`parts of ${shortens.join(' and ')}, each marked …[ ]`] : []),
  ];
  const left_out = `${left.join('; ')}. ${rest}`;
  const isCut = nextAfter !== undefined && kept.length < given.length;
  const next = isCut ? { next: given[kept.length - 1]![nextAfter] } : {};
  return { ...answer, [name]: kept.map((item) => joined(item, level)), ...next, left_out };
}

/** An item in two parts: unchanged fields, and fields that may be shortened. */
interface Divided {
  readonly firm: Item;
  readonly firmBytes: number;
  readonly soft: Item;
  readonly softBytes: number;
  /** Whether its vector is left out, since it fits no answer. */
  readonly hasLost: boolean;
}

function divided(item: Item, shortens: readonly string[], room: number): Divided {
  const entries = Object.entries(item);
  const soft = Object.fromEntries(entries.filter(([name]) => shortens.includes(name)));
  const all = Object.fromEntries(entries.filter(([name]) => !shortens.includes(name)));
  const hasLost = all.vector !== undefined && sizeOf(all) + ITEM_BYTES_MIN > room;
  const { vector: _, ...others } = all;
  const firm = hasLost ? others : all;
  // Each with a comma.
  return { firm, firmBytes: sizeOf(firm) + 1, soft, softBytes: sizeOf(soft) + 1, hasLost };
}

/** The number of first items that fit with their shortened parts. */
function countOf(items: readonly Divided[], room: number): number {
  let used = 0;
  const over = items.findIndex(({ firmBytes, softBytes }) => {
    used += firmBytes + Math.min(softBytes, ITEM_BYTES_MIN);
    return used > room;
  });
  return over < 0 ? items.length : over;
}

function joined({ firm, soft, softBytes }: Divided, level: number): Item {
  if (softBytes <= level) return { ...firm, ...soft };
  const entries = Object.entries(soft);
  const sizes = entries.map(([, value]) => sizeOf(value));
  const names = sizeOf(soft) - sizes.reduce((sum, size) => sum + size, 0);
  const each = levelOf(sizes, level - names);
  return { ...firm, ...Object.fromEntries(entries.map(([name, value]) => [name, shortened(value, each)])) };
}

/** Largest number of bytes of each part, so that all fit into `room`; infinite if they fit unshortened. */
export function levelOf(sizes: readonly number[], room: number): number {
  let left = room;
  const sorted = [...sizes].sort((a, b) => a - b);
  for (const [i, size] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - i));
    if (size > share) return Math.max(share, 0);
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/** The beginning of a value, with marks for missing parts: `…[n more characters]`. It takes `bytes` or hardly more. */
export function shortened(value: unknown, bytes: number): unknown {
  if (sizeOf(value) <= bytes) return value;
  if (typeof value === 'string') {
    const piece = pieceOf(value, 0, Math.max(bytes - MARK_BYTES, 0));
    return `${piece}…[${counted(value.length - piece.length, 'more character')}]`;
  }
  if (Array.isArray(value)) {
    const kept = parts(
      value.map((item) => ['', item] as const),
      bytes,
    );
    const more = value.length - kept.length;
    return [...kept.map(([, item]) => item), ...(more > 0 ? [`…[${counted(more, 'more item')}]`] : [])];
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const kept = parts(entries, bytes);
  const more = entries.length - kept.length;
  return Object.fromEntries([...kept, ...(more > 0 ? [['…', `[${counted(more, 'more key')}]`] as const] : [])]);
}

type Entry = readonly [name: string, value: unknown];

/** The first entries, each shortened to its share. */
function parts(entries: readonly Entry[], bytes: number): Entry[] {
  const room = bytes - MARK_BYTES;
  const nameBytes = entries.map(([name]) => (name === '' ? 1 : sizeOf(name) + 2));
  const least = entries.map(([, value], i) => nameBytes[i]! + Math.min(sizeOf(value), PART_BYTES_MIN + MARK_BYTES));
  let used = 0;
  const over = least.findIndex((size) => {
    used += size;
    return used > room;
  });
  const kept = over < 0 ? entries : entries.slice(0, over);
  const names = nameBytes.slice(0, kept.length).reduce((sum, size) => sum + size, 0);
  const level = levelOf(
    kept.map(([, value]) => sizeOf(value)),
    room - names,
  );
  return kept.map(([name, value]) => [name, shortened(value, level)] as const);
}

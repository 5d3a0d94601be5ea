/** Encodes and decodes events that have only ids, and perhaps a kind, by the table `FIXED`. */
import { Malformed } from '../errors/malformed.js';
import { readU64 } from '../hashing/u64.js';
import type { Event, EventHead } from './event.js';
import { assertLength, assertZero, type ByteView, readId, writeId } from './eventBytes.js';
import { FIXED, type FixedEvent, fixedSizeBytes, PAYLOAD_AT } from './eventLayout.js';

/** Offset of the number after the kind. */
const NUMBER_AT = 4;

export function writeFixed(event: FixedEvent, view: DataView, eventAt: number): void {
  const { ids, kinds, number } = FIXED[event.type];
  const fields = event as unknown as Readonly<Record<string, number | null>>;
  let at = eventAt + PAYLOAD_AT;
  for (const { field, isOptional } of ids) {
    const id = fields[field]!;
    if (!isOptional || id !== null) writeId(view, at, id);
    at += 8;
  }
  if (kinds === undefined) return;
  const kind = fields.kind!;
  if (kinds[kind] === undefined) throw new RangeError(`a kind of ${kind}`);
  view.setUint8(at, kind);
  if (number === undefined) return;
  const value = fields[number.field]!;
  if (value > number.max) throw new RangeError(`a ${number.field} of ${value}`);
  view.setUint32(at + NUMBER_AT, value, true);
}

export function readFixed(
  { type, sequence, timeMs, actor }: EventHead<FixedEvent['type']>,
  source: ByteView,
  eventAt: number,
  end: number,
): Event {
  const { ids, kinds, number } = FIXED[type];
  const { view } = source;
  assertLength(eventAt, end, fixedSizeBytes(type));
  const event: Record<string, unknown> = { type, sequence, timeMs, actor };
  let at = eventAt + PAYLOAD_AT;
  for (const { field, what, isOptional } of ids) {
    event[field] = isOptional ? readU64(view, at) || null : readId(view, at, what);
    at += 8;
  }
  if (kinds !== undefined) {
    const kind = view.getUint8(at);
    if (kinds[kind] === undefined) throw new Malformed(`a kind of ${kind}`, at);
    event.kind = kind;
    assertZero(source, at + 1, number === undefined ? end : at + NUMBER_AT);
    if (number !== undefined) event[number.field] = readNumber(view, at + NUMBER_AT, number.max);
  }
  return event as unknown as Event;
}

function readNumber(view: DataView, at: number, max: number): number {
  const value = view.getUint32(at, true);
  if (value > max) throw new Malformed(`a number of ${value}, above ${max}`, at);
  return value;
}

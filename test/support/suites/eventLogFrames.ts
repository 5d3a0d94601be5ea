/** Frames for the suite of event logs, and how its tests append, read and compare them. */
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import {
  type EventLog,
  type EventLogs,
  LOG_START,
  type Position,
  type StoredFrame,
} from '../../../shared/log/eventLog.js';

export interface LogStorage {
  /** Logs over new, empty storage. */
  readonly logs: EventLogs;
  /** The logs from another process at the same time; missing if the storage has one owner. */
  peer?(): Promise<EventLogs>;
  /** Closes everything and reopens the storage like a restarted process. */
  restart(): Promise<EventLogs>;
  /** Closes everything and erases the storage. */
  dispose(): Promise<void>;
}

export const COLLECTION = 17;

export const soonMs = (): number => systemClock.nowMs() + 20_000;

/** Bytes that differ between frames and within one. */
export function frameOf(label: number, sizeBytes = 64): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  for (let i = 0; i < sizeBytes; i++) bytes[i] = (label * 31 + i * 7 + (i >>> 8)) & 0xff;
  new DataView(bytes.buffer).setUint32(0, label, true);
  return bytes;
}

export const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

export async function readAll(log: EventLog, after: Position = LOG_START): Promise<StoredFrame[]> {
  const frames: StoredFrame[] = [];
  for await (const frame of log.read(after)) frames.push(frame);
  return frames;
}

/** Appends `count` frames one after another. Returns them as readers must find them. */
export async function fill(log: EventLog, count: number, sizeBytes = 64): Promise<StoredFrame[]> {
  const stored: StoredFrame[] = [];
  let position = (await log.head())?.position ?? LOG_START;
  for (let i = 0; i < count; i++) {
    const bytes = frameOf(i + 1, sizeBytes);
    position = await log.append(bytes, position, soonMs());
    stored.push({ position, bytes });
  }
  return stored;
}

export function expectFrames(found: readonly StoredFrame[], wanted: readonly StoredFrame[]): void {
  expect(found.map((frame) => frame.position)).to.deep.equal(wanted.map((frame) => frame.position));
  found.forEach((frame, i) => {
    expect(same(frame.bytes, wanted[i]!.bytes), `bytes of frame ${i}`).to.equal(true);
  });
}

export type Fixture = () => LogStorage;

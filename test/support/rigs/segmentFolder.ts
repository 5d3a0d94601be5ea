/** A folder of local logs; one of them is written, edited as no program would, and read again. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import { type EventLog, LOG_START, LogDamaged } from '../../../shared/log/eventLog.js';
import { encodeReach, REACH_OFFSET, type SegmentReach, segmentName } from '../../../shared/log/segmentFormat.js';
import { LocalLogs, type LocalLogsOptions } from '../../../shared/log/segments.js';
import { rejection } from '../expectations.js';

export const COLLECTION = 5;
/** Size of a segment's header. A frame from `frameOf` takes 116 bytes after it. */
export const HEADER_BYTES = 64;
export const soonMs = (): number => systemClock.nowMs() + 20_000;
export const frameOf = (label: number, sizeBytes = 100): Uint8Array => new Uint8Array(sizeBytes).fill(label & 0xff);

export function flip(bytes: Buffer, at: number, bit = 0): Buffer {
  bytes[at]! ^= 1 << bit;
  return bytes;
}

export async function labels(log: EventLog): Promise<number[]> {
  const found: number[] = [];
  for await (const { bytes } of log.read(LOG_START)) found.push(bytes[0]!);
  return found;
}

export async function append(log: EventLog, ...frameLabels: number[]): Promise<void> {
  for (const label of frameLabels)
    await log.append(frameOf(label), (await log.head())?.position ?? LOG_START, soonMs());
}

export class SegmentFolder {
  #logs: LocalLogs | undefined;

  private constructor(readonly path: string) {}

  static async make(): Promise<SegmentFolder> {
    return new SegmentFolder(await mkdtemp(join(tmpdir(), 'vouch-segments-')));
  }

  get logPath(): string {
    return join(this.path, String(COLLECTION), 'log');
  }

  /** The logs opened last. */
  get logs(): LocalLogs {
    return this.#logs!;
  }

  segmentPath(base = 0): string {
    return join(this.logPath, segmentName(base));
  }

  async openLogs(options: Partial<LocalLogsOptions> = {}): Promise<LocalLogs> {
    this.#logs = await LocalLogs.open({ folder: this.path, ...options });
    return this.#logs;
  }

  async open(options: Partial<LocalLogsOptions> = {}): Promise<EventLog> {
    return (await this.openLogs(options)).open(COLLECTION);
  }

  /** Leaves the files of a process that is gone. */
  async write(options: Partial<LocalLogsOptions>, ...frameLabels: number[]): Promise<void> {
    await append(await this.open(options), ...frameLabels);
    await this.logs.close();
  }

  async edit(base: number, change: (bytes: Buffer) => Uint8Array | undefined): Promise<void> {
    const bytes = await readFile(this.segmentPath(base));
    await writeFile(this.segmentPath(base), change(bytes) ?? bytes);
  }

  setReach(base: number, reach: SegmentReach): Promise<void> {
    return this.edit(base, (bytes) => void bytes.set(encodeReach(reach), REACH_OFFSET));
  }

  /** Text of the damage report. */
  async expectDamage(options: Partial<LocalLogsOptions> = {}): Promise<string> {
    const error = await rejection(this.open(options).then(labels));
    expect(error, error.stack).to.be.instanceOf(LogDamaged);
    await this.logs.close();
    return error.message;
  }

  async remove(): Promise<void> {
    await this.#logs?.close();
    await rm(this.path, { recursive: true, force: true });
  }
}

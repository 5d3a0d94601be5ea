/** The part of the suite about logs whose beginning is removed. */
import { expect } from 'chai';
import type { EventLog, StoredFrame } from '../../../shared/log/eventLog.js';
import { accessLogId } from '../../../shared/model/logId.js';
import { rejection } from '../expectations.js';
import { COLLECTION, expectFrames, type Fixture, fill, frameOf, readAll, soonMs } from './eventLogFrames.js';

export function trimTests(fixture: Fixture): void {
  const ACCESS = accessLogId(COLLECTION);

  /** Appends `count` segments of two frames each. */
  async function fillSegments(log: EventLog, count: number): Promise<StoredFrame[]> {
    const stored: StoredFrame[] = [];
    for (let i = 0; i < count; i++) {
      stored.push(...(await fill(log, 2)));
      await log.endSegment();
    }
    return stored;
  }

  it('removes the ended segments before a frame, now and after a restart', async () => {
    const log = await fixture().logs.open(ACCESS);
    const other = await fixture().logs.open(COLLECTION);
    const [stored, others] = [await fillSegments(log, 4), await fill(other, 2)];
    await log.trim(stored[4]!.position);
    expectFrames(await readAll(log), stored.slice(4));
    expectFrames([(await log.head())!], [stored[7]!]);
    await rejection(log.readAt(stored[3]!.position));
    expectFrames(await readAll(other), others);
    const restarted = await (await fixture().restart()).open(ACCESS);
    await restarted.barrier();
    expectFrames(await readAll(restarted), stored.slice(4));
    const position = await restarted.append(frameOf(9), stored[7]!.position, soonMs());
    await restarted.trim(stored[6]!.position);
    expect((await readAll(restarted)).map((frame) => frame.position)).to.deep.equal([
      ...stored.slice(6).map((frame) => frame.position),
      position,
    ]);
  });

  it('changes nothing when it is repeated, and keeps the last frame', async () => {
    const log = await fixture().logs.open(ACCESS);
    const stored = await fillSegments(log, 2);
    for (let i = 0; i < 2; i++) await log.trim(stored[2]!.position);
    expectFrames(await readAll(log), stored.slice(2));
    await log.trim(stored[3]!.position);
    expectFrames([(await log.head())!], [stored[3]!]);
    expect(await log.append(frameOf(9), stored[3]!.position, soonMs())).to.be.greaterThan(stored[3]!.position);
  });
}

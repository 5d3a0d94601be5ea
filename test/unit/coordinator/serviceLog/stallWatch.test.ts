/** The detection of a stalled service log for each cause, and the log line with the cause. */
import { expect } from 'chai';
import { pino } from 'pino';
import { type LogProgress, STALLED_MS, StallWatch } from '../../../../coordinator/serviceLog/stallWatch.js';

const MOVING: LogProgress = {
  ...{ leads: true, size: 5, provable: 5, contradiction: undefined, unwrittenMs: 0, failing: [] },
};

describe('the watch over the progress of the service log', () => {
  let now: LogProgress;
  let ms: number;
  let lines: { level: number; msg: string; reason?: string }[];
  let watch: StallWatch;
  beforeEach(() => {
    now = MOVING;
    ms = 0;
    lines = [];
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    watch = new StallWatch(() => now, { nowMs: () => ms, monotonicMs: () => ms }, logger);
  });
  /** Checks after a time, with this progress. */
  const stalledAfter = (passedMs: number, progress: Partial<LogProgress> = {}): boolean => {
    ms += passedMs;
    now = { ...now, ...progress };
    watch.look();
    return watch.isStalled;
  };

  it('reports entries that no quorum cosigns once, with the witnesses that do not answer', () => {
    const failing = ['w2 at https://w2.example: no whole answer came within 2000 ms'];
    expect(stalledAfter(0, { size: 6, failing })).to.equal(false);
    expect(stalledAfter(STALLED_MS - 1)).to.equal(false);
    expect(stalledAfter(1)).to.equal(true);
    expect(stalledAfter(STALLED_MS)).to.equal(true);
    expect(lines).to.have.length(1);
    const reason = `of 6 entries 5 are published with the quorum of the policy; ${failing[0]}`;
    expect(lines[0]).to.include({ level: 50, msg: 'the service log is stalled', reason });
    expect(stalledAfter(1, { provable: 6 })).to.equal(false);
    expect(lines.at(-1)!.msg).to.equal('the service log is no longer stalled');
  });

  it('accepts a log that grows all the time and is published a little later', () => {
    for (let size = 6; size < 100; size++)
      expect(stalledAfter(STALLED_MS / 2, { size, provable: size - 1 })).to.equal(false);
    expect(lines).to.deep.equal([]);
  });

  it('reports entries that stay unpublished while more are appended', () => {
    const stalled = Array.from({ length: 4 }, (_, i) => stalledAfter(STALLED_MS / 2, { size: 6 + i }));
    expect(stalled).to.deep.equal([false, false, true, true]);
  });

  it('reports a writer that finishes no round', () => {
    expect(stalledAfter(0, { unwrittenMs: STALLED_MS - 1 })).to.equal(false);
    expect(stalledAfter(1, { unwrittenMs: STALLED_MS })).to.equal(true);
    expect(lines.map(({ reason }) => reason)).to.deep.equal(['its writer has finished no round for 30 s']);
  });

  it('reports a contradiction at once, without a second log line', () => {
    expect(stalledAfter(0, { contradiction: 'w1 says that it has cosigned 3 entries, and there are 1' })).to.equal(
      true,
    );
    expect(lines).to.deep.equal([]);
  });

  it('reports nothing while another process writes the log, and restarts its count when this one leads again', () => {
    expect(stalledAfter(0, { size: 6 })).to.equal(false);
    expect(stalledAfter(STALLED_MS, { leads: false })).to.equal(false);
    expect(stalledAfter(1, { leads: true })).to.equal(false);
    expect(stalledAfter(STALLED_MS)).to.equal(true);
  });
});

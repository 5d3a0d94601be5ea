// Covers: scripts/local/supervisor/supervisedProcess.ts, scripts/local/supervisor/childLog.ts
// Covers: scripts/local/supervisor/lines.ts, scripts/local/supervisor/logFile.ts
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { AlarmBell, alarmOf, isLogged } from '../../../../../scripts/local/supervisor/childLog.js';
import { readLines } from '../../../../../scripts/local/supervisor/lines.js';
import { LogFile } from '../../../../../scripts/local/supervisor/logFile.js';
import {
  nextWaitMs,
  type ProcessObserver,
  type ProcessPlan,
  SupervisedProcess,
} from '../../../../../scripts/local/supervisor/supervisedProcess.js';
import { tableLines } from '../../../../../scripts/terminal/table.js';
import { eventually } from '../../../../support/expectations.js';

describe('the supervisor', () => {
  it('doubles the wait after each failure up to ten seconds, and resets it after a long run', () => {
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) waits.push(nextWaitMs(waits.at(-1), 50));
    expect(waits).to.deep.equal([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    expect(nextWaitMs(6400, 10_000)).to.equal(100);
    expect(nextWaitMs(undefined, 50, 15_000)).to.equal(15_000);
    expect(nextWaitMs(15_000, 50, 15_000), 'never sooner than the first time').to.equal(15_000);
    expect(nextWaitMs(0, 50, 0)).to.equal(0);
  });

  it('reads lines from input in any pieces', async () => {
    const stream = new PassThrough();
    const lines: string[] = [];
    readLines(stream, (line) => lines.push(line));
    const bytes = Buffer.from('one\ntwo ✔\r\n\nlast');
    for (const byte of bytes) stream.write(Uint8Array.of(byte));
    stream.end();
    await new Promise((resolve) => stream.once('close', resolve));
    expect(lines).to.deep.equal(['one', 'two ✔', '', 'last']);
  });

  it('shows warnings and errors that a process logs, their ends, and no other line', () => {
    const nats = (level: string, text: string): string => `[42] 2026/11/21 09:00:00.000000 [${level}] ${text}`;
    const shown: [line: string, alarm: string | undefined][] = [
      ['{"level":30,"msg":"ready"}', undefined],
      ['{"level":30,"msg":"it is back","endsAlarm":true}', 'it is back'],
      ['{"level":40,"msg":"lost it","error":"no route"}', 'lost it: no route'],
      ['{"level":50,"msg":"no route","error":"no route"}', 'no route'],
      ['{"level":60,"err":{"message":"boom"}}', 'something went wrong: boom'],
      ['{"level":50,"msg":"a call failed","error":{"message":"boom","stack":"boom at"}}', 'a call failed: boom'],
      ['{"level":50,"msg":"quarantined","collectionId":7,"reason":"cut"}', 'collection 7: quarantined: cut'],
      ['{"level":40,"msg":"set aside","collection":7,"reason":"cut"}', 'collection 7: set aside: cut'],
      ['{"level":40,"msg":"m","error":null,"reason":3,"collection":{}}', 'm'],
      ['{"level":60', undefined],
      [nats('INF', 'Server is ready'), undefined],
      [nats('WRN', 'Slow consumer'), 'Slow consumer'],
      [nats('WRN', 'Maximum payloads over 8.00 MB are generally discouraged'), undefined],
      [nats('ERR', 'Error trying to connect to route (attempt 1): connection refused'), undefined],
      [nats('FTL', 'no space left'), 'no space left'],
      ['TypeError: x is not a function', 'TypeError: x is not a function'],
      ['    at main (file.js:1:1)', undefined],
    ];
    for (const [line, alarm] of shown) expect(alarmOf(line), line).to.equal(alarm);
    expect(isLogged('{"level":30,"msg":"m"}', 40)).to.equal(false);
    expect(isLogged('{"level":40,"msg":"m"}', 40)).to.equal(true);
    expect(isLogged(nats('INF', 'm'), 60)).to.equal(true);
  });

  it('repeats an alarm only after half a minute', () => {
    let nowMs = 0;
    const bell = new AlarmBell({ nowMs: () => nowMs, monotonicMs: () => nowMs });
    expect(bell.rings('shard s1', 'lost')).to.equal(true);
    nowMs = 29_999;
    expect(bell.rings('shard s1', 'lost')).to.equal(false);
    expect(bell.rings('shard s2', 'lost')).to.equal(true);
    nowMs = 30_000;
    expect(bell.rings('shard s1', 'lost')).to.equal(true);
  });

  describe('with a process', () => {
    const ended: (number | undefined)[] = [];
    const observer: ProcessObserver = {
      line: () => {},
      changed: () => {},
      ended: (_plan, _how, restartInMs) => ended.push(restartInMs),
      recovered: () => {},
    };
    const plan = (restartAfterMs: number | undefined): ProcessPlan => ({
      name: 'p',
      program: process.execPath,
      args: ['-e', 'console.log("ready"); setInterval(() => {}, 1e6)'],
      env: process.env,
      isReady: (line) => line === 'ready',
      startWithinMs: 20_000,
      stopWithinMs: 5_000,
      restartAfterMs,
    });
    const killed = async (supervised: SupervisedProcess): Promise<number | undefined> => {
      const count = ended.length;
      process.kill(supervised.pid!, 'SIGKILL');
      await eventually('the end of the process is reported', () => ended.length > count);
      return ended.at(-1);
    };

    it('restarts it after its wait', async () => {
      const supervised = new SupervisedProcess(plan(1), observer);
      await supervised.start();
      const { pid } = supervised;
      expect(await killed(supervised)).to.equal(1);
      await eventually('a new process runs', () => supervised.pid !== undefined && supervised.pid !== pid);
      await supervised.stop();
      expect(supervised.pid).to.equal(undefined);
    });

    it('does not restart it if the plan has no wait', async () => {
      const supervised = new SupervisedProcess(plan(undefined), observer);
      await supervised.start();
      expect(await killed(supervised)).to.equal(undefined);
      expect(supervised.pid).to.equal(undefined);
      await supervised.stop();
    });
  });

  it('appends to a log over restarts and keeps it to two files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vouch-log-'));
    try {
      const path = join(folder, 'a.log');
      for (const word of ['first', 'second']) {
        const log = await LogFile.open(path, 20);
        log.write(word);
        await log.close();
      }
      expect(readFileSync(path, 'utf8')).to.equal('first\nsecond\n');
      const log = await LogFile.open(path, 20);
      log.write('a line too long');
      await log.close();
      expect(readFileSync(`${path}.1`, 'utf8')).to.equal('first\nsecond\n');
      expect(readFileSync(path, 'utf8')).to.equal('a line too long\n');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('aligns tables, numbers to the right', () => {
    const lines = tableLines(
      [{ title: 'name' }, { title: 'ms', decimals: 2 }, { title: 'records' }],
      [
        ['a', 1.5, 12_345],
        ['longer', 22, 6],
      ],
    );
    expect(lines).to.deep.equal(['name       ms  records', 'a        1.50   12,345', 'longer  22.00        6']);
    expect(tableLines([{ title: 'id' }, { title: 'label' }], [['x', '']])).to.deep.equal(['id  label', 'x']);
  });
});

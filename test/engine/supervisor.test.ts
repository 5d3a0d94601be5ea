import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { nextWaitMs } from '../../scripts/supervisor/backoff.js';
import { AlarmBell, alarmOf, isLogged } from '../../scripts/supervisor/childLog.js';
import { readLines } from '../../scripts/supervisor/lines.js';
import { LogFile } from '../../scripts/supervisor/logFile.js';
import { tableLines } from '../../scripts/terminal/table.js';

describe('supervisor', () => {
  it('waits longer from failure to failure, up to ten seconds, and anew after a run that went well', () => {
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) waits.push(nextWaitMs(waits.at(-1), 50));
    expect(waits).to.deep.equal([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    expect(nextWaitMs(6400, 10_000)).to.equal(100);
  });

  it('reads lines whatever the pieces they come in', async () => {
    const stream = new PassThrough();
    const lines: string[] = [];
    readLines(stream, (line) => lines.push(line));
    const bytes = Buffer.from('one\ntwo ✔\r\n\nlast');
    for (const byte of bytes) stream.write(Uint8Array.of(byte));
    stream.end();
    await new Promise((resolve) => stream.once('close', resolve));
    expect(lines).to.deep.equal(['one', 'two ✔', '', 'last']);
  });

  it('shows warnings and errors of a process, and nothing else of what it logs', () => {
    const nats = (level: string, text: string): string => `[42] 2026/11/21 09:00:00.000000 [${level}] ${text}`;
    const shown: [line: string, alarm: string | undefined][] = [
      ['{"level":30,"msg":"ready"}', undefined],
      ['{"level":40,"msg":"lost it","error":"no route"}', 'lost it: no route'],
      ['{"level":50,"msg":"no route","error":"no route"}', 'no route'],
      ['{"level":60,"err":{"message":"boom"}}', 'something went wrong: boom'],
      ['{"level":60', undefined],
      [nats('INF', 'Server is ready'), undefined],
      [nats('WRN', 'Slow consumer'), 'Slow consumer'],
      [nats('WRN', 'Maximum payloads over 8.00 MB are generally discouraged'), undefined],
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

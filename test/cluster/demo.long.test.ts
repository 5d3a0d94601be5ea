// Covers: scripts/demo.ts, scripts/demo/
/** `npm run demo` as newcomers run it, without a terminal. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type Launched, launchNode } from '../support/launch/process.js';

const DEMO = fileURLToPath(new URL('../../scripts/demo.js', import.meta.url));

describe('npm run demo', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-demo-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const run = (env = {}): Launched => launchNode(DEMO, [], { cwd: folder, env: { TMPDIR: folder, ...env } });

  const expectNothingLeft = (): void => {
    expect(readdirSync(folder), 'temporary files').to.deep.equal([]);
    // Everything it started has inherited its temporary folder, which is this test's own.
    if (process.platform === 'linux') expect(processesWith(`TMPDIR=${folder}`)).to.deep.equal([]);
  };

  it('shows loading, search, a receipt, a dead shard and its recovery, and leaves nothing behind', async () => {
    // Settings of another service do not reach the demo's.
    const demo = run({
      VOUCH_PORT: '1',
      VOUCH_NATS_URL: 'nats://203.0.113.1',
      VOUCH_SHARDS: '7',
      VOUCH_MODE: 'standalone',
    });
    expect(await demo.waitForEnd(), demo.output).to.deep.equal({ code: 0, signal: null });
    for (const line of [
      /^✔ loading +9,996 digits \(\d+\.\d s, [\d,]+ a second\)$/,
      /^✔ even +4,927 records, on shard (s1|s2)$/,
      /^✔ odd +5,069 records, on shard (s1|s2)$/,
      /^ +a 4( +a [49]){4}$/,
      /^ +even #\d+( +(even|odd) #\d+){4}$/,
      /^ +score \d+\.\d{3}( +score \d+\.\d{3}){4}$/,
      /^✔ time +\d+\.?\d* ms over HTTP, .*4,927 vectors/,
      /^✔ time +\d+\.?\d* ms over HTTP, .*9,996 vectors/,
      /^ +state_hash +[0-9a-f]{24} … [0-9a-f]{8}$/,
      /^✔ verified +this write added record 4928/,
      /^✘ refused +one bit of the proof changed: state_hash does not follow/,
      /^✘ refused +one grey value changed by 1\/65536: it is not about this record/,
      /^! shard s[12] +ended by SIGKILL/,
      // Complete if the shard is back in time; else the answer names what is missing.
      /^✔ answered +\d.* after the kill, and whole$|^! partial +partial_failures:/,
      /^✔ even +is served by shard s[12], which (came back|took over)$/,
      /^✔ recovered +\d.* after the kill: the same results as before it$/,
      /^✔ same receipt/,
      /^✔ verified +record 4928 is still/,
      /^✔ the end +every check passed/,
    ])
      expect(
        demo.lines.some((text) => line.test(text)),
        `${line} in:\n${demo.output}`,
      ).to.equal(true);
    expect(demo.lines.filter((line) => [...line].length > 80)).to.deep.equal([]);
    expectNothingLeft();
  });

  it('ends at Ctrl-C at any step', async () => {
    for (const at of [/^✔ nats-server/, /^ +loading/, /refused/]) {
      const demo = run();
      await demo.waitForLine(at);
      demo.signal('SIGINT');
      expect(await demo.waitForEnd(), demo.output).to.deep.equal({ code: 130, signal: null });
      expectNothingLeft();
    }
  });

  it('reports in one line why it cannot continue', async () => {
    const demo = run({ VOUCH_NATS_SERVER: join(folder, 'missing') });
    expect(await demo.waitForEnd(), demo.output).to.deep.equal({ code: 1, signal: null });
    expect(demo.output).to.match(/^✘ demo +.*VOUCH_NATS_SERVER/m);
    expect(demo.output).to.not.match(/^ +at /m);
    expectNothingLeft();
  });
});

/** Ids of the processes with this line in their environment, without zombies. */
function processesWith(line: string): string[] {
  const environmentOf = (pid: string): string[] => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    } catch {
      // Another user's process, or gone by now.
      return [];
    }
  };
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(line));
}

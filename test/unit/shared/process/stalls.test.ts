import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { pino } from 'pino';
import { guarded } from '../../../../scripts/local/supervisor/guarded.js';
import { systemClock } from '../../../../shared/clock.js';
import { cpuTimeMs, onStall, reportStall, type Stall, watchStalls } from '../../../../shared/process/stalls.js';
import { noteWork, takeLongest } from '../../../../shared/scheduling/currentWork.js';
import { nextTurn, Slice } from '../../../../shared/scheduling/slice.js';
import { PATIENCE_MS } from '../../../support/patience.js';

const A = { id: 1, project: 'acme', name: 'words' };
const B = { id: 2, project: 'other', name: 'pictures' };

/** Works until this CPU time and this wall time have passed; other threads of the process use CPU time too. */
function work(ms: number): void {
  const untilMs = systemClock.monotonicMs() + ms;
  const untilCpuMs = cpuTimeMs() + ms;
  while (cpuTimeMs() < untilCpuMs || systemClock.monotonicMs() < untilMs);
}

describe('the current work', () => {
  it('is the work noted before the longest gap, however many notes follow', () => {
    takeLongest();
    noteWork('get', B);
    noteWork('facets', A);
    work(60);
    for (let i = 0; i < 100; i++) noteWork('search', B);
    const { ms, works } = takeLongest();
    expect(ms).to.be.at.least(50);
    expect(works).to.deep.equal([
      { op: 'facets', subject: A },
      { op: 'get', subject: B },
    ]);
  });

  it('is unknown if no work began or resumed since the last look', () => {
    noteWork('facets', A);
    takeLongest();
    work(60);
    expect(takeLongest().works).to.deep.equal([]);
  });

  it('is the work of a slice that resumes, although other work began in between', async () => {
    noteWork('facets', A);
    const slice = new Slice(systemClock);
    const resumed = slice.next();
    noteWork('get', B);
    await nextTurn();
    takeLongest();
    await resumed;
    const another = slice.next();
    await another;
    work(60);
    expect(takeLongest().works[0]).to.deep.equal({ op: 'facets', subject: A });
  });
});

describe('a stall of the event loop', () => {
  let lines: { readonly [field: string]: unknown }[] = [];
  let stalls: Stall[] = [];
  let ends: (() => void)[] = [];

  beforeEach(() => {
    lines = [];
    stalls = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    ends = [watchStalls(logger), onStall((stall) => stalls.push(stall))];
  });
  afterEach(() => {
    for (const end of ends) end();
  });

  it('is logged and reported with its call, collection and project', async () => {
    // If the process gets less than half a CPU, the stall counts as a pause. More threads get a larger share.
    const busy: Worker[] = [];
    const untilMs = systemClock.monotonicMs() + PATIENCE_MS;
    let found: (typeof lines)[number] | undefined;
    try {
      while (found === undefined && systemClock.monotonicMs() < untilMs) {
        await delay(50);
        noteWork('facets', A);
        work(300);
        await delay(50);
        found = lines.find(({ op }) => op === 'facets');
        if (found === undefined && busy.length < 16) busy.push(new Worker('for (;;);', { eval: true }));
      }
    } finally {
      await Promise.all(busy.map((one) => one.terminate()));
    }
    expect(found).to.deep.include({ thread: 'loop', op: 'facets', collectionId: 1, project: 'acme', name: 'words' });
    expect(found?.ms).to.be.at.least(100);
    expect(found?.cpuMs).to.be.at.least(100);
    expect(stalls.some(({ cause, works }) => cause === 'work' && works[0]?.subject === A)).to.equal(true);
  });

  it('with little CPU time of the process is a pause and names no work', () => {
    reportStall({ thread: 'loop', ms: 5_000, cpuMs: 40, works: [{ op: 'facets', subject: A }] });
    expect(stalls.map(({ cause }) => cause)).to.deep.equal(['pause']);
    expect(lines).to.have.length(1);
    expect(JSON.stringify(lines)).not.to.match(/facets|acme|words/);
  });

  it('is logged once a second at most, with the number of omitted ones', () => {
    for (let i = 0; i < 5; i++)
      reportStall({ thread: 'body', ms: 2_000, cpuMs: 2_000, works: [{ op: 'batch', subject: B }] });
    expect(lines).to.have.length(1);
    expect(stalls).to.have.length(5);
  });
});

describe('a process that is stopped by SIGSTOP', () => {
  it('reports a pause when it continues, and no stall', async () => {
    const file = (path: string): string => new URL(`../../../../shared/${path}`, import.meta.url).href;
    const program = `
      import { makeLogger } from '${file('logger.js')}';
      import { watchStalls } from '${file('process/stalls.js')}';
      watchStalls(makeLogger('child', 'info'));
      setInterval(() => {}, 1_000);
      console.log('ready');`;
    const child = guarded(
      spawn(process.execPath, ['--input-type=module', '-e', program], {
        cwd: fileURLToPath(new URL('.', import.meta.url)),
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    try {
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      expect((await lines.next()).value).to.equal('ready');
      child.kill('SIGSTOP');
      await delay(1_000);
      child.kill('SIGCONT');
      let line = '';
      while (!line.includes('did not run')) line = String((await lines.next()).value);
      const { ms, cpuMs, op } = JSON.parse(line);
      expect(op).to.equal(undefined);
      expect(ms).to.be.at.least(100);
      expect(cpuMs).to.be.below(ms);
    } finally {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
  });
});

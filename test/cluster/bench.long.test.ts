/** `npm run bench`, small: checks that every figure is measured, not its value. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Report } from '../../bench/report.js';
import { PARTS } from '../../bench/row.js';
import { quantise } from '../../shared/fixedPoint.js';
import { compileHnswlib } from '../support/launch/compiledHnswlib.js';
import { type Launched, launchNode } from '../support/launch/process.js';
import { drawnOneIn, seededRandom } from '../support/model/random.js';

const BENCH = fileURLToPath(new URL('../../bench/main.js', import.meta.url));
const BENCH_WITHIN_MS = 420_000;
/** Long times, so that no shard of a busy machine counts as dead. One shard unless a part names another number. */
const SETTINGS = { VOUCH_LEASE_MS: '6000', VOUCH_FAILOVER_MS: '9000', VOUCH_SHARDS: '1' };

const DIMENSION = 100;
const ROWS = 1_500;
const QUERIES = 20;
const KNOWN = 100;

describe('npm run bench', function () {
  this.timeout(BENCH_WITHIN_MS + 10_000);
  let folder: string;

  before(async function () {
    await compileHnswlib(this);
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-bench-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const bench = async (code: number, ...args: string[]): Promise<Launched> => {
    const run = launchNode(BENCH, args, {
      cwd: folder,
      env: { ...SETTINGS, VOUCH_BENCH_DATA: undefined, VOUCH_BENCH_POSTGRES: undefined },
    });
    expect(await run.waitForEnd(BENCH_WITHIN_MS), run.output).to.deep.equal({ code, signal: null });
    return run;
  };
  const rowsIn = (file: string): Report['rows'] => (JSON.parse(readFileSync(file, 'utf8')) as Report).rows;

  it('measures each of a random quarter of its parts, and finds all nearest records', async () => {
    const parts = drawnOneIn(
      4,
      PARTS.filter((part) => part !== 'peers'),
    );
    writeVectors(folder);
    const json = join(folder, 'figures.json');
    const run = await bench(0, '--quick', '--only', parts.join(), '--data', folder, '--json', json);
    const rows = rowsIn(json);
    expect([...new Set(rows.map(({ part }) => part))]).to.deep.equal(parts);
    for (const { name, value } of rows) expect(Number.isFinite(value), `${name}: ${value}`).to.equal(true);
    expect(new Set(rows.map(({ part, name }) => `${part} ${name}`)).size, 'each figure once').to.equal(rows.length);
    const recalls = rows.filter(({ name }) => name.startsWith('recall'));
    const exact = ['engine', 'http'].filter((part) => (parts as readonly string[]).includes(part));
    expect(recalls.map(({ part, value }) => [part, value])).to.deep.equal(exact.map((part) => [part, 1]));
    for (const { name } of rows) expect(run.output).to.include(name);
  });

  it('measures only the requested parts', async () => {
    const json = join(folder, 'figures.json');
    await bench(0, '--quick', '--only', 'kernel', '--json', json);
    expect([...new Set(rowsIn(json).map(({ part }) => part))]).to.deep.equal(['kernel']);
  });

  it('compares with pgvector where it is given a database', async () => {
    const run = await bench(0, '--quick', '--only', 'peers');
    expect(run.output).to.match(/peers\s+skipped: --postgres <URL> names a database with pgvector/);
  });

  it('refuses an unknown part, and lists the known ones', async () => {
    const run = await bench(2, '--only', 'disk');
    expect(run.output).to.include(
      'there is no part "disk": there are kernel, engine, index, segments, search, proof, restart, erasure, http, memory, large, scale, overload, stalls, sync, peers',
    );
  });
});

/** A folder for `--data`, with its ground truth found the slow way. */
function writeVectors(folder: string): void {
  const random = seededRandom(1);
  const rowsOf = (count: number): Float32Array[] =>
    Array.from({ length: count }, () => Float32Array.from({ length: DIMENSION }, () => random.next() * 4 - 2));
  const base = rowsOf(ROWS);
  const queries = rowsOf(QUERIES);
  const fixed = base.map((row) => quantise([...row]));
  const nearest = queries.flatMap((query) => nearestRows(quantise([...query]), fixed));
  const write = (name: string, parts: readonly (Float32Array | Int32Array)[]): void =>
    writeFileSync(join(folder, name), Buffer.concat(parts.map((part) => Buffer.from(part.buffer))));
  write('glove100k.f32', base);
  write('glove.queries.f32', queries);
  write('glove.gt100.i32', [Int32Array.from(nearest)]);
}

function nearestRows(query: Int32Array, rows: readonly Int32Array[]): number[] {
  const distances = rows.map((row) => row.reduce((sum, component, i) => sum + (component - query[i]!) ** 2, 0));
  const order = rows.map((_, row) => row).sort((a, b) => distances[a]! - distances[b]! || a - b);
  return order.slice(0, KNOWN);
}

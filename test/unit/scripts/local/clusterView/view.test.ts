// Covers: scripts/local/clusterView/view.ts, scripts/local/clusterView/request.ts, scripts/local/clusterView/screen.ts
/**
 * The output of `npm run cluster` as functions of a snapshot (the screen and the summary line), and its command line.
 */
import { PassThrough } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { expect } from 'chai';
import { CLUSTER_USAGE, parseClusterRequest } from '../../../../../scripts/local/clusterView/request.js';
import { Screen } from '../../../../../scripts/local/clusterView/screen.js';
import type { ClusterSnapshot, ShardState } from '../../../../../scripts/local/clusterView/snapshot.js';
import { summaryOf, viewLines } from '../../../../../scripts/local/clusterView/view.js';
import { replicasFor } from '../../../../../scripts/local/natsServer/serverPlan.js';
import { UsageError } from '../../../../../scripts/terminal/commandLine.js';

const FIRST_MS = new Date(2026, 10, 21, 18, 40, 1).getTime();

const shard = (name: string, fields: Partial<ShardState> = {}): ShardState => ({
  name,
  pid: 2000 + Number(name.slice(1)),
  owned: 1_250,
  open: 12,
  followed: 3,
  records: 1_000_000,
  commitsPerSecond: 300.4,
  searchesPerSecond: 2.26,
  memoryBytes: 182_400_000,
  lease: { kind: 'valid', leftMs: 1_640 },
  ...fields,
});

const SNAPSHOT: ClusterSnapshot = {
  url: 'http://127.0.0.1:8080',
  keyFile: 'data/cluster/keys/default.key',
  upMs: 125_000,
  servers: [
    { name: 'n1', pid: 1001, leadsMeta: false, logsLed: ['0', '2'], othersLed: 4, storedBytes: 12_345_678 },
    { name: 'n2', pid: 1002, leadsMeta: true, logsLed: ['1'], othersLed: 1, storedBytes: 12_345_678 },
    { name: 'n3', pid: undefined, leadsMeta: false, logsLed: [], othersLed: 0, storedBytes: undefined },
  ],
  coordinators: [
    {
      name: 'c1',
      pid: 1500,
      leadsPlacement: true,
      countsRequests: false,
      requestsPerSecond: 1_204.4,
      p50Ms: 0.84,
      p99Ms: 13.1,
      refusedPerSecond: 0,
      inFlight: 4,
    },
    {
      name: 'c2',
      pid: 1501,
      leadsPlacement: false,
      countsRequests: true,
      requestsPerSecond: 0,
      p50Ms: undefined,
      p99Ms: undefined,
      refusedPerSecond: 0.5,
      inFlight: 0,
    },
  ],
  shards: [
    shard('s1'),
    shard('s2', { pid: undefined, lease: { kind: 'none' }, memoryBytes: undefined }),
    shard('s3', { lease: { kind: 'leaving' } }),
    shard('s9', { pid: 'elsewhere' }),
  ],
  moves: [{ collectionId: 17, name: 'orders', from: 's3', to: 's1', sinceMs: 1_230 }],
  news: [
    { atMs: FIRST_MS, sign: 'warning', text: 'shard s2 ended by SIGKILL; starts again in 10.0 s', isComplaint: false },
    {
      atMs: FIRST_MS + 3_000,
      sign: 'done',
      text: 'failover of s2 took 3.4 s: all its collections have other owners',
      isComplaint: false,
    },
  ],
};

const texts = (snapshot: ClusterSnapshot, columns: number, rows: number): string[] =>
  viewLines(snapshot, { columns, rows }).map(({ text }) => text);

describe('the view of a cluster', () => {
  it('shows servers, coordinators, shards, moves and events', () => {
    expect(texts(SNAPSHOT, 80, 40)).to.deep.equal([
      'Vouch  http://127.0.0.1:8080/console              up 2 m 05 s   q or Ctrl-C ends',
      'try    curl -s http://127.0.0.1:8080/v1/namespaces \\',
      '         -H "Authorization: Bearer $(cat data/cluster/keys/default.key)"',
      '',
      'NATS       pid   stored  leads',
      'n1        1001    12 MB  logs 0 2, 4 other streams',
      'n2        1002    12 MB  meta, logs 1, 1 other stream',
      'n3        down        ·',
      '',
      'COORD.     pid requests/s p50 ms p99 ms 503/s in flight  leads',
      'c1        1500      1,204    0.8     13     0         4  placement',
      'c2        1501          0      ·      ·   0.5         0  limits',
      '',
      'SHARD      pid  owns  open follows   records commits/s search/s  memory   lease',
      's1        2001 1,250    12       3 1,000,000       300      2.3  182 MB   1.6 s',
      's2        down 1,250    12       3 1,000,000       300      2.3       ·    over',
      's3        2003 1,250    12       3 1,000,000       300      2.3  182 MB leaving',
      's9       other 1,250    12       3 1,000,000       300      2.3  182 MB   1.6 s',
      '',
      'MOVES UNDER WAY  1',
      'orders (17)  s3 → s1  1.2 s',
      '',
      'EVENTS',
      '18:40:01  shard s2 ended by SIGKILL; starts again in 10.0 s',
      '18:40:04  failover of s2 took 3.4 s: all its collections have other owners',
    ]);
  });

  it('marks servers and shards that are down', () => {
    const lines = viewLines(SNAPSHOT, { columns: 80, rows: 40 });
    const toneOf = (name: string) => lines.find(({ text }) => text.startsWith(`${name} `))?.tone;
    expect(['n1', 'n3', 'c1', 's1', 's2'].map(toneOf)).to.deep.equal(['plain', 'bad', 'plain', 'plain', 'bad']);
  });

  it('never exceeds the terminal, and drops the oldest events first, then shards', () => {
    const many = Array.from({ length: 64 }, (_, i) => shard(`s${i + 1}`));
    const news = Array.from(
      { length: 50 },
      (_, i) => ({ atMs: FIRST_MS, sign: 'plain', text: `event ${i} ${'x'.repeat(90)}`, isComplaint: false }) as const,
    );
    const moves = Array.from({ length: 30 }, (_, i) => ({ ...SNAPSHOT.moves[0]!, collectionId: i }));
    const crowded = { ...SNAPSHOT, shards: many, news, moves };
    for (const [columns, rows] of [
      [80, 24],
      [80, 40],
      [40, 10],
      [200, 100],
      [1, 1],
    ] as const) {
      const lines = texts(crowded, columns, rows);
      expect(lines.length, `${columns}x${rows}`).to.be.at.most(rows);
      expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(columns);
    }
    const lines = texts(crowded, 80, 40);
    expect(lines.find((line) => line.startsWith('…'))).to.equal('… and 50 more shards');
    expect(lines).to.include('MOVES UNDER WAY  30, of which 4 are shown');
    expect(lines.at(-1)).to.match(/^18:40:01 {2}event 49 x+…$/);
    expect(lines.filter((line) => line.includes('event'))).to.have.length(3);
  });

  it('keeps events visible among many complaints of processes', () => {
    const item = (i: number, isComplaint: boolean) => ({
      atMs: FIRST_MS,
      sign: 'plain' as const,
      text: `${isComplaint ? 'complaint' : 'event'} ${i}`,
      isComplaint,
    });
    const news = [
      ...Array.from({ length: 20 }, (_, i) => item(i, false)),
      ...Array.from({ length: 90 }, (_, i) => item(i, true)),
    ];
    const shown = (rows: number, of = news): string[] =>
      texts({ ...SNAPSHOT, news: of }, 80, rows)
        .filter((line) => /^\d\d:/.test(line))
        .map((line) => line.slice(10));
    expect(shown(29)).to.deep.equal(['event 16', 'event 17', 'event 18', 'event 19', 'complaint 88', 'complaint 89']);
    expect(shown(29, news.slice(18))).to.have.members([
      ...['event 18', 'event 19', 'complaint 86', 'complaint 87', 'complaint 88', 'complaint 89'],
    ]);
    expect(shown(29, news.slice(0, 21))).to.deep.equal([
      'event 15',
      'event 16',
      'event 17',
      'event 18',
      'event 19',
      'complaint 0',
    ]);
  });

  it('keeps its columns in place while figures change', () => {
    const busy = shard('s1', { records: 5, commitsPerSecond: 12_345, searchesPerSecond: undefined, open: 0 });
    const line = (state: ShardState): string =>
      texts({ ...SNAPSHOT, shards: [state] }, 80, 40).find((text) => text.startsWith('s1'))!;
    expect(line(busy)).to.have.length(line(shard('s1')).length);
  });

  it('is one line without a terminal', () => {
    expect(summaryOf(SNAPSHOT)).to.equal(
      'up: nats 2/3, coordinators 2/2 (c1 leads), shards 3/4; 5,000 collections, 4,000,000 records; 1,204 requests/s; ' +
        'p99 13 ms; 0.5 refused/s; 1 move',
    );
  });

  it('redraws over the previous view and restores the terminal at the end', () => {
    const terminal = Object.assign(new PassThrough(), { columns: 100, rows: 30 });
    const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => keyboard });
    let quits = 0;
    const screen = new Screen(terminal as unknown as WriteStream, keyboard as unknown as ReadStream, true, {
      onResize: () => {},
      onQuit: () => {
        quits++;
      },
    });
    const written = (): string => String(terminal.read() ?? '');
    screen.draw([{ text: 'too early', tone: 'plain' }]);
    expect(written()).to.equal('');
    screen.open();
    expect(written()).to.equal('\x1b[?1049h\x1b[?25l');
    screen.draw([
      { text: 'one', tone: 'plain' },
      { text: 'two', tone: 'bad' },
    ]);
    expect(written()).to.equal('\x1b[?2026h\x1b[Hone\x1b[K\r\n\x1b[31mtwo\x1b[0m\x1b[K\x1b[J\x1b[?2026l');
    keyboard.emit('data', Buffer.from('aq\x03'));
    expect(quits, 'for q and Ctrl-C').to.equal(2);
    expect(screen.size).to.deep.equal({ columns: 100, rows: 30 });
    screen.close();
    screen.close();
    keyboard.emit('data', Buffer.from('q'));
    expect(quits, 'not after it is closed').to.equal(2);
    expect(written()).to.equal('\x1b[?25h\x1b[?1049l');
  });
});

describe('the command line of npm run cluster', () => {
  const refusal = (...args: string[]): string => {
    try {
      parseClusterRequest(args);
    } catch (error) {
      expect(error).to.be.instanceOf(UsageError);
      return (error as Error).message;
    }
    throw new Error('not refused');
  };

  it('defaults to three servers, two coordinators and four shards', () => {
    expect(parseClusterRequest([])).to.deep.include({
      servers: 3,
      coordinators: 2,
      shards: 4,
      restartAfterMs: 10_000,
      plain: false,
    });
    expect(
      parseClusterRequest(['--nats', '1', '--shards=2', '--no-restart', '--port', '0', '--data-dir', 'd']),
    ).to.deep.equal({
      servers: 1,
      coordinators: 2,
      shards: 2,
      replicas: undefined,
      port: 0,
      dataDir: 'd',
      restartAfterMs: null,
      plain: false,
    });
    expect([1, 3, 5].map(replicasFor)).to.deep.equal([1, 3, 3]);
  });

  it('refuses an unknown or impossible option in one line', () => {
    expect(refusal('--nats', '2')).to.equal('--nats is 2; allowed is 1, 3 or 5');
    expect(refusal('--shards', '0')).to.equal('--shards is 0; allowed is a whole number from 1 to 64');
    expect(refusal('--coordinators', 'two')).to.match(
      /^--coordinators is two; allowed is a whole number from 1 to 16$/,
    );
    expect(refusal('--nats', '1', '--replicas', '3')).to.equal(
      '--replicas is 3; allowed is a whole number from 1 to 1',
    );
    for (const args of [['--colour'], ['extra'], ['--nats'], ['--restart-after', '-1'], ['--no-restart=yes']])
      expect(refusal(...args), args.join()).to.match(/^[^\n;]+$/);
  });

  it('has a description of each flag', () => {
    for (const flag of [
      'nats',
      'coordinators',
      'shards',
      'replicas',
      'port',
      'data-dir',
      'restart-after',
      'no-restart',
      'plain',
      'help',
    ])
      expect(CLUSTER_USAGE).to.match(new RegExp(`^  --${flag} .*\\w`, 'm'));
  });
});

/** A service under too many requests, and with hostile clients: it continues to serve, and keeps nothing for them. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import type { Answer, Client } from '../support/launch/client.js';
import { HostileClient } from '../support/launch/hostileClient.js';
import { requestHead } from '../support/launch/http.js';
import { type Project, Service } from '../support/launch/service.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { skip } from '../support/skip.js';

const MIB = 1024 * 1024;
const BODY_BYTES = 4 * MIB;
/** An idle connection is closed before this time has passed. */
const IDLE_MS = 9_000;
const IDLE_CONNECTIONS = 10_000;
/** A listening socket queues at most 512 connections. */
const OPENED_AT_ONCE = 200;

describe('a service under overload, with hostile clients', () => {
  let service: Service;
  let project: Project;
  let port: number;
  let authorization: string;
  const clients: HostileClient[] = [];

  before(async () => {
    service = await Service.start('standalone', {
      VOUCH_BODY_BYTES: String(BODY_BYTES),
      VOUCH_MAX_QUEUE_WAIT_MS: '500',
    });
    project = await service.newProject();
    port = Number(new URL(service.url).port);
    authorization = `Bearer ${project.rw.key}`;
    await create('tiny', 2);
    expect((await project.rw.post('/v1/records', { collection: 'tiny', values: [1, 2] })).status).to.equal(200);
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.end();
  });
  after(() => service?.stop());

  const create = async (name: string, dimension: number): Promise<void> => {
    const made = await project.rw.post('/v1/namespaces', { name, dimension, metric: 'squared_l2' });
    expect(made.status).to.equal(200);
  };
  const fill = async (collection: string, batches: number, rows: number, dimension: number): Promise<void> => {
    await create(collection, dimension);
    const batch = Array.from({ length: rows }, (_, row) => Array.from({ length: dimension }, (_, i) => (i + row) % 10));
    for (let i = 0; i < batches; i++)
      expect((await project.rw.post('/v1/vectors/batch-insert', { collection, batch })).status).to.equal(200);
  };
  const open = async (begin = ''): Promise<HostileClient> => {
    const client = await HostileClient.open(port, begin);
    clients.push(client);
    return client;
  };
  const openMany = (count: number, begin = ''): Promise<HostileClient[]> =>
    Promise.all(Array.from({ length: count }, () => open(begin)));
  const head = (method: string, path: string, headers: Readonly<Record<string, string>> = {}): string =>
    requestHead(method, path, { authorization, ...headers });
  const searchBody = (collection: string, query: readonly number[]): string =>
    JSON.stringify({ collection, query, k: 1 });
  const search = (client: Client = project.rw): Promise<Answer> =>
    client.raw('POST', '/v1/search', searchBody('tiny', [1, 2]));
  const metrics = (): Promise<string> => service.metrics();
  const valueIn = (text: string, name: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(name) && !line.startsWith('#'))
        ?.split(' ')
        .at(-1) ?? 0,
    );
  const underWayBytes = async (): Promise<number> => valueIn(await metrics(), 'vouch_http_in_flight_body_bytes');
  /** Whether no trace of the clients' requests is left. */
  const isAtRest = async (): Promise<boolean> => {
    const text = await metrics();
    return valueIn(text, 'vouch_http_in_flight') === 0 && valueIn(text, 'vouch_http_in_flight_body_bytes') === 0;
  };
  const residentBytes = (): number => {
    const status = readFileSync(`/proc/${service.process('standalone').pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
  };

  it('keeps 10,000 idle connections open, and serves beside them', async function () {
    // Each takes one file descriptor here and one in the service.
    if (process.platform !== 'linux' || openFilesMax() < IDLE_CONNECTIONS + 1_000)
      skip(this, `this process may not open ${IDLE_CONNECTIONS} files, or does not run on Linux`);
    const before = residentBytes();
    const startedMs = systemClock.monotonicMs();
    const isLate = (): boolean => systemClock.monotonicMs() - startedMs > IDLE_MS;
    while (clients.length < IDLE_CONNECTIONS && !isLate()) await openMany(OPENED_AT_ONCE);
    // Node accepts connections from the system's queue a few at a time.
    const openThere = (): number => readdirSync(`/proc/${service.process('standalone').pid}/fd`).length;
    await service.until(async () => openThere() >= IDLE_CONNECTIONS || isLate());
    const allOpen = !isLate();
    const bytesEach = (residentBytes() - before) / clients.length;
    for (let i = 0; i < 20; i++) expect((await search()).status).to.equal(200);
    console.log(`      ${clients.length} connections, ${Math.round(bytesEach)} bytes of memory each`);
    expect(bytesEach).to.be.below(16 * 1024);
    if (!allOpen) skip(this, 'the machine is too busy: the first connection would time out before the last is open');
    expect(openThere()).to.be.at.least(IDLE_CONNECTIONS);
  });

  it('drops clients that stall: heads and bodies without an end, and answers that are not read', async function () {
    if (process.platform !== 'linux') skip(this, 'memory is read from /proc, which Linux has');
    await fill('log', 5, 900, 512);
    const before = residentBytes();
    const halfHeads = await openMany(100, 'POST /v1/search HTTP/1.1\r\nhost: test\r\nx-never: e');
    const declared = head('POST', '/v1/vectors/batch-insert', { 'content-length': String(MIB) });
    const halfBodies = await openMany(50, `${declared}{"batch":[[`);
    const chunked = head('POST', '/v1/search', { 'transfer-encoding': 'chunked' });
    const halfChunks = await openMany(20, `${chunked}5\r\n{"que\r\n`);
    // 8 MiB each; the clients read no more than the system's buffers hold.
    const readers = await openMany(20);
    for (const { socket } of readers) socket.pause();
    for (const reader of readers) reader.send(head('GET', '/v1/export/log?collection=log'));
    await service.until(async () => (await underWayBytes()) >= 50 * MIB);
    // A client that continues although it has its answer.
    const huge = await open(head('POST', '/v1/search', { 'content-length': '1000000000000' }));
    void huge.pour('x'.repeat(64 * 1024), Number.POSITIVE_INFINITY);
    const begun = [huge, ...(await openMany(100)), ...halfHeads, ...halfBodies, ...halfChunks];
    const drips = [...halfHeads.slice(0, 20), ...halfBodies.slice(0, 20)];
    const dripping = setInterval(() => {
      for (const client of drips) client.send('1');
    }, 1_000);
    try {
      await service.until(async () => {
        expect((await search()).status).to.equal(200);
        return begun.every(({ isOpen }) => !isOpen);
      });
      await service.until(isAtRest);
    } finally {
      clearInterval(dripping);
    }
    expect(residentBytes() - before, 'for 50 bodies of 1 MiB and 20 answers of 8').to.be.below(500 * MIB);
    expect((await search()).status).to.equal(200);
  });

  it('refuses a huge body before it is sent, declared or not, and reads no more of it', async () => {
    const chunk = 'x'.repeat(64 * 1024);
    const huge = 64 * BODY_BYTES;
    const declared = await open(head('POST', '/v1/search', { 'content-length': '1000000000000' }));
    const endless = await open(head('POST', '/v1/search', { 'transfer-encoding': 'chunked' }));
    const framed = `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
    const poured = Promise.all([declared.pour(chunk, huge), endless.pour(framed, huge)]);
    for (const client of [declared, endless]) {
      await service.until(async () => client.status !== 0);
      expect(client.status).to.equal(413);
      expect(client.received).to.include('payload_too_large');
      expect(client.received).to.match(/^connection: close/im);
    }
    await service.until(isAtRest);
    for (const client of [declared, endless]) client.end();
    await poured;
    // The system's buffers take some of it; of a body without a length, eight times the limit is read and dropped.
    for (const [{ sentBytes }, readBytes] of [
      [declared, 0],
      [endless, 8 * BODY_BYTES],
    ] as const)
      expect(sentBytes).to.be.below(readBytes + BODY_BYTES + 24 * MIB);
  });

  it('discards an upload that breaks off, and frees its memory', async () => {
    const declared = head('POST', '/v1/vectors/batch-insert', { 'content-length': String(2 * MIB) });
    const senders = await openMany(30, `${declared}{"batch":[${'[1,2],'.repeat(1_000)}`);
    await service.until(async () => (await underWayBytes()) >= 2 * MIB);
    for (const sender of senders) sender.reset();
    await service.until(isAtRest);
    expect((await search()).status).to.equal(200);
  });

  it('answers a flood of wrong keys with 401, then 429, and still accepts a right key', async () => {
    const random = seededRandom(testSeed());
    const wrong = (): Client => {
      const hex = Array.from({ length: 64 }, () => random.int(16).toString(16)).join('');
      return service.client(`vk_${hex}`);
    };
    const answers: Answer[] = [];
    const flood = async (): Promise<void> => {
      for (let i = 0; i < 15; i++) answers.push(await search(wrong()));
    };
    const floods = Promise.all(Array.from({ length: 10 }, flood));
    for (let i = 0; i < 10; i++) expect((await search()).status).to.equal(200);
    await floods;
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([401, 429]));
    for (const { status, headers } of answers)
      expect(headers.has(status === 401 ? 'www-authenticate' : 'retry-after')).to.equal(true);
  });

  it('ends oversized heads, nonsense, pipelines and deep JSON each in its own way', async () => {
    const long = 'x'.repeat(100_000);
    const tooLarge = await Promise.all([
      open(head('GET', '/health', { 'x-long': long })),
      open(head('GET', `/${long}`)),
      open('\0\x01nonsense\r\n\r\n'),
    ]);
    for (const client of tooLarge) await client.closed;
    // For nonsense, one engine reports an unknown version, the other a bad request.
    expect(tooLarge.slice(0, 2).map(({ status }) => status)).to.deep.equal([431, 431]);
    expect(tooLarge[2]!.status).to.be.oneOf([400, 505]);
    // A second request before the first is answered: the web server closes the connection.
    const body = searchBody('tiny', [1, 2]);
    const one = head('POST', '/v1/search', { 'content-length': String(body.length) }) + body;
    const pipeline = await open(one.repeat(50));
    await pipeline.closed;
    const deep = await project.rw.raw('POST', '/v1/search', `{"query":${'['.repeat(1_000_000)}`);
    expect([deep.status, deep.body.code]).to.deep.equal([400, 'validation_error']);
    await service.until(isAtRest);
    expect((await search()).status).to.equal(200);
  });

  it("refuses a collection's excess searches with Retry-After, and serves the other collections", async () => {
    await fill('large', 6, 1_000, 512);
    const query = Array.from({ length: 512 }, () => 5);
    const body = searchBody('large', query);
    const askers = 300;
    const asked: Answer[] = [];
    let isOver = false;
    const ask = async (): Promise<void> => {
      while (!isOver) asked.push(await project.rw.raw('POST', '/v1/search', body));
    };
    const flood = Promise.all(Array.from({ length: askers }, ask));
    try {
      await service.until(async () => {
        expect((await search()).status, 'another collection').to.equal(200);
        return asked.filter(({ status }) => status === 503).length > 100;
      });
      expect(valueIn(await metrics(), 'vouch_reads_waiting')).to.be.below(askers);
    } finally {
      isOver = true;
    }
    await flood;
    expect(new Set(asked.map(({ status }) => status))).to.deep.equal(new Set([200, 503]));
    for (const { status, headers, body: answer } of asked.filter((one) => one.status === 503))
      expect([status, answer.code, headers.get('retry-after')]).to.deep.equal([503, 'unavailable', '1']);
    expect(valueIn(await metrics(), 'vouch_refused_total{reason="read_queue"')).to.be.at.least(100);
    expect((await project.rw.raw('POST', '/v1/search', body)).status, 'afterwards').to.equal(200);
  });
});

/** Limit of open files, of this process and those it starts. */
const openFilesMax = (): number =>
  Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 0);

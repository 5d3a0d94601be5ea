/**
 * Compares the service with its own OpenAPI document. Requests that the document allows, and requests that it forbids,
 * get a documented status, headers, content type and body. The cases are drawn from the document. `VOUCH_API_CASES`
 * sets their number per operation; `VOUCH_SEED` repeats them.
 */
import { expect } from 'chai';
import fc, { type Arbitrary } from 'fast-check';
import { ApiDocument, type Operation } from '../support/api/document.js';
import { type ApiRequest, type Pools, RequestMaker } from '../support/api/requests.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import { testSeed } from '../support/model/random.js';

const CASES = Number(process.env.VOUCH_API_CASES ?? 4);
const TIMEOUT_MS = 240_000 + 4_000 * CASES;
/** Largest number of rounds until an operation has succeeded at least once. */
const ROUNDS_MAX = 4_000 / CASES;
const NAMES = ['a', 'b', 'default', 'importing', 'absent'];
const IDS = [0, 1, 2, 3, 4, 99];
const VECTORS = [[1, 2], [0.5, -3], [32_767.99998, -32_768], [1]];
const EXTERNAL_ID = 'ď/1';
const KEY_ID = 'ab'.repeat(16);
const VICTIM_KEY_ID = 'cd'.repeat(16);

/** Content of the service before the tests, so that requests find something. */
const POOLS: Pools = {
  ...{
    alias: ['x', 'y', 'absent'],
    collection: NAMES,
    name: ['a', 'importing', 'made', 'absent'],
    'collections[]': ['a', 'b', 'absent'],
  },
  ...{ id: IDS, record_id: IDS, from: IDS, to: IDS, root: IDS, start: IDS, sequence: IDS, size: IDS, after: IDS },
  ...{ external_id: [EXTERNAL_ID, 'absent'], if_log_index: IDS },
  ...{ values: VECTORS, query: VECTORS, 'batch[]': VECTORS, k: [1, 3, 5_000], as_of_log_index: IDS },
  ...{ payload: ['aGk=', ''], key_id: [KEY_ID, VICTIM_KEY_ID], query_text: ['red', 'blue bird'], offset: [0, 1] },
  ...{ like: [null, 1], group_by: [null, 'colour'], group_size: [null, 1], graph_rerank: [null], hybrid: [null] },
  metadata_filter: [{}, { colour: 'red' }, { size: { gte: 1 } }, { $not: { colour: { in: ['red', 1] } } }],
};
/** A collection that is created again before each case, and the key of its encrypted record. */
const VICTIM: Pools = {
  ...POOLS,
  name: ['victim', 'absent'],
  collection: ['victim', 'absent'],
  key_id: [VICTIM_KEY_ID],
  'key_ids[]': [VICTIM_KEY_ID],
};

const DELETIONS: readonly string[] = [
  ...['DELETE /v1/namespaces/{name}', 'DELETE /v1/graph/node/{id}', 'DELETE /v1/crypto/shred/{key_id}'],
  ...['POST /v1/delete', 'POST /v1/soft-delete', 'POST /v1/records/delete', 'POST /v1/erasures'],
];
/** Whether the other operations would find nothing after it. */
const isDeletion = (operation: Operation): boolean => DELETIONS.includes(nameOf(operation));
/** An import needs several related requests, and ids of keys cannot be guessed. */
const isBeyondOneRequest = (operation: Operation): boolean =>
  operation.path.startsWith('/v1/import/') || nameOf(operation) === 'DELETE /v1/keys/{id}';
const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;
const create = (client: Client, name: string, options: object = {}): Promise<Answer> =>
  client.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2', ...options });

async function prepare(client: Client): Promise<void> {
  const options = { a: {}, b: { index: 'hnsw' }, default: { audit_reads: true } };
  for (const [name, own] of Object.entries(options)) {
    await create(client, name, own);
    const batch = VECTORS.slice(0, 3);
    const metadata = [{ colour: 'red', size: 1 }, null, { size: 2.5 }];
    await client.post('/v1/vectors/batch-insert', { collection: name, batch, metadata, texts: ['red', null, 'blue'] });
    await client.post('/v1/records/encrypted', { collection: name, payload: 'aGk=', key_id: KEY_ID });
    await client.post('/v1/vectors/batch-upsert', { collection: name, external_ids: [EXTERNAL_ID], batch: [[1, 1]] });
    for (const kind of [0, 1, 2]) await client.post('/v1/graph/node', { collection: name, kind, record_id: kind + 1 });
    await client.post('/v1/graph/edge', { collection: name, from: 1, to: 2, kind: 0 });
  }
  // An entry of the access log.
  await client.get('/v1/records/1');
  const { body: facts } = await client.get('/v1/export?collection=a');
  const begun = await client.post('/v1/import', { ...facts, name: 'importing' });
  expect(begun.status, begun.text).to.equal(200);
}

async function makeVictim(client: Client): Promise<void> {
  await client.delete('/v1/namespaces/victim');
  await create(client, 'victim');
  await client.post('/v1/vectors/batch-insert', { collection: 'victim', batch: VECTORS.slice(0, 2) });
  await client.post('/v1/records/encrypted', { collection: 'victim', payload: 'aGk=', key_id: VICTIM_KEY_ID });
  await client.post('/v1/vectors/batch-upsert', { collection: 'victim', external_ids: [EXTERNAL_ID], batch: [[1, 1]] });
  await client.post('/v1/graph/node', { collection: 'victim', kind: 0, record_id: 1 });
}

function send(client: Client, { method, path, headers, body }: ApiRequest): Promise<Answer> {
  return client.raw(method, path, body, headers);
}

/** Throws an Error if a working service may not give this answer. */
function assertProper(api: ApiDocument, operation: Operation, sent: ApiRequest, answer: Answer): void {
  try {
    if (answer.status === 500 || answer.status === 503) throw new Error('the service failed');
    api.assertPromised(operation, answer);
  } catch (error) {
    throw new Error(`${sent.method} ${sent.path} → ${answer.status} ${answer.text}: ${(error as Error).message}`);
  }
}

inBothModes('the OpenAPI document', (service) => {
  let api: ApiDocument;
  let keys: Readonly<Record<string, Client>>;
  let seed: number;
  const keyFor = ({ scope }: Operation): Client => keys[scope ?? 'none']!;

  before(async () => {
    const { rw, ro, admin } = await service.newProject();
    keys = { none: service.client(undefined), read_only: ro, read_write: rw, admin };
    api = new ApiDocument((await keys.none!.get('/openapi.json')).body);
    await prepare(rw);
    seed = testSeed();
  });

  /** Sends the drawn requests of an operation. Each answer must be documented, and pass `check`. */
  async function hold(
    operation: Operation,
    drawn: Arbitrary<ApiRequest>,
    check: (answer: Answer, sent: ApiRequest) => void,
    round = 0,
  ): Promise<void> {
    const property = fc.asyncProperty(drawn, async (sent) => {
      if (isDeletion(operation)) await makeVictim(keys.read_write!);
      const answer = await send(keyFor(operation), sent);
      assertProper(api, operation, sent, answer);
      check(answer, sent);
    });
    await fc.assert(property, { seed: seed + round, numRuns: CASES, endOnFailure: true });
  }

  const makerFor = (operation: Operation): RequestMaker =>
    new RequestMaker(api, isDeletion(operation) ? VICTIM : POOLS);

  it('documents every answer to allowed requests, and each operation succeeds with some of them', async () => {
    for (const operation of api.operations) {
      let isCarriedOut = isBeyondOneRequest(operation);
      for (let round = 0; round === 0 || (!isCarriedOut && round < ROUNDS_MAX); round++)
        await hold(
          operation,
          makerFor(operation).fit(operation),
          ({ status }) => {
            isCarriedOut ||= status < 300;
          },
          round,
        );
      expect(isCarriedOut, nameOf(operation)).to.equal(true);
    }
  }).timeout(TIMEOUT_MS);

  it('forbids only requests that the service refuses', async () => {
    for (const operation of api.operations) {
      const drawn = makerFor(operation).unfit(operation);
      if (drawn === undefined) continue;
      await hold(operation, drawn, ({ status, text }, sent) => {
        if (status < 400) throw new Error(`${sent.method} ${sent.path} ${String(sent.body)} → ${status} ${text}`);
      });
    }
  }).timeout(TIMEOUT_MS);

  it('documents the answers to missing or weak keys, and to bodies of another type', async () => {
    for (const operation of api.operations) {
      const [sent] = fc.sample(new RequestMaker(api, POOLS).fit(operation), { seed, numRuns: 1 });
      const ask = async (client: Client, changed: Partial<ApiRequest>): Promise<number> => {
        const request = { ...sent!, ...changed };
        const answer = await send(client, request);
        assertProper(api, operation, request, answer);
        return answer.status;
      };
      const { scope, body } = operation;
      if (scope !== null) expect(await ask(keys.none!, {}), nameOf(operation)).to.equal(401);
      if (scope === 'read_write' || scope === 'admin') expect(await ask(keys.read_only!, {})).to.equal(403);
      if (body === undefined) continue;
      const kinds = { 'content-type': 'text/plain' };
      expect(await ask(keyFor(operation), { body: '{}', headers: kinds }), nameOf(operation)).to.equal(415);
      if (body.required) expect(await ask(keyFor(operation), { body: undefined }), nameOf(operation)).to.equal(400);
      if (body.contentType === 'application/json')
        for (const text of ['{', '[1', '"', 'nul', '[]', '1'])
          expect(await ask(keyFor(operation), { body: text }), `${nameOf(operation)} ${text}`).to.equal(400);
    }
  });

  it('lists every method of its paths: others answer 405 with the listed ones', async () => {
    for (const path of new Set(api.operations.map((operation) => operation.path))) {
      const has = api.operations.filter((operation) => operation.path === path).map(({ method }) => method);
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((one) => !has.includes(one))) {
        const answer = await keys.admin!.raw(method, path.replaceAll(/{\w+}/g, '1'), undefined);
        api.assertMethodNotAllowed(answer);
        expect(answer.headers.get('allow')?.split(', '), path).to.include.members(has);
      }
    }
  });
});

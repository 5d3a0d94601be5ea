/**
 * Sends every endpoint requests that it must refuse: with no key, an invalid, expired or revoked key, too small a
 * scope, or another project's key. The endpoints come from the OpenAPI document, which is made from the route table, so
 * new ones are included.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { ApiDocument, type Operation } from '../support/api/document.js';
import { type ApiRequest, RequestMaker } from '../support/api/requests.js';
import { AddressedClient, HAS_ADDRESSES, loopbackAddress } from '../support/launch/addressedClient.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Project, Service } from '../support/launch/service.js';
import { testSeed } from '../support/model/random.js';
import { skip } from '../support/skip.js';

/** Requests per endpoint and caller. */
const CASES = 6;
const SECRET = 'only-of-the-victim';
/** Keys of a new project. */
const KEYS = 4;
/** Failed attempts of an address before it is refused; then it may fail once a second, see `failedAttempts.ts`. */
const ATTEMPTS_AT_ONCE = 120;
const ONE_ADDRESS = 'this machine has one address on loopback, which would soon be answered 429';
const KEY_ID = 'ab'.repeat(16);
const NAMES = ['a', 'b'];
const IDS = [1, 2, 3];
const VECTORS = [[1, 2]];
/** Each scope includes the ones before it. */
const SCOPES = ['read_only', 'read_write', 'admin'];

const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;
const send = (client: Client, { method, path, headers, body }: ApiRequest): Promise<Answer> =>
  client.raw(method, path, body, headers);

async function fill({ rw }: Project): Promise<void> {
  for (const collection of NAMES) {
    await rw.post('/v1/namespaces', { name: collection, dimension: 2, metric: 'squared_l2' });
    const metadata = [{ [SECRET]: SECRET }, null, null];
    const batch = [VECTORS[0], VECTORS[0], VECTORS[0]];
    await rw.post('/v1/vectors/batch-insert', { collection, batch, metadata, texts: [SECRET, null, null] });
    const payload = Buffer.from(SECRET).toString('base64');
    expect((await rw.post('/v1/records/encrypted', { collection, payload, key_id: KEY_ID })).status).to.equal(200);
    for (const kind of [0, 1]) await rw.post('/v1/graph/node', { collection, kind, record_id: kind + 1 });
    await rw.post('/v1/graph/edge', { collection, from: 1, to: 2, kind: 0 });
  }
}

/** The parts of a project's state that a request could change. */
async function stateOf({ ro, admin }: Project): Promise<object> {
  const { collections } = (await ro.get('/v1/namespaces')).body;
  const states = await Promise.all(NAMES.map((name) => ro.get(`/v1/proof/state?collection=${name}`)));
  const { keys } = (await admin.get('/v1/keys')).body;
  const { body: key } = await ro.get(`/v1/crypto/status/${KEY_ID}`);
  return {
    collections: collections.map(({ name, id, record_count, index }: Record<string, unknown>) => ({
      ...{ name, id, record_count, index },
    })),
    states: states.map(({ body }) => body),
    keys: keys.map(({ id }: { id: string }) => id).sort(),
    key,
  };
}

inBothModes('an intruder', (_shared, { start }) => {
  /** A service of its own, because these tests fail from many addresses. */
  let service: Service;
  let api: ApiDocument;
  let victim: Project;
  let maker: RequestMaker;
  let seed: number;
  let untouched: object;

  before(async () => {
    service = await start({});
    victim = await service.newProject();
    api = new ApiDocument((await service.client(undefined).get('/openapi.json')).body);
    await fill(victim);
    // A coordinator lists keys of another process a moment later.
    await service.until(async () => (await victim.admin.get('/v1/keys')).body.keys.length === KEYS);
    const { keys } = (await victim.admin.get('/v1/keys')).body;
    const keyIds = keys.map(({ id }: { id: string }) => id);
    maker = new RequestMaker(api, {
      ...{ collection: NAMES, name: NAMES, 'collections[]': NAMES, id: [...IDS, ...keyIds], key_id: [KEY_ID] },
      ...{ record_id: IDS, from: IDS, to: IDS, root: IDS, start: IDS, sequence: IDS, size: IDS },
      ...{ values: VECTORS, query: VECTORS, 'batch[]': VECTORS, k: [3], query_text: [SECRET] },
    });
    seed = testSeed();
    untouched = await stateOf(victim);
  });

  afterEach(async () => {
    expect(await stateOf(victim), 'state of the victim').to.deep.equal(untouched);
  });

  const requestsOf = (operation: Operation): ApiRequest[] => fc.sample(maker.fit(operation), { seed, numRuns: CASES });

  let addresses = 0;
  /** A client whose address has not failed yet and is not used by other tests. */
  const elsewhere = (key: string | undefined): AddressedClient =>
    new AddressedClient(service.url, key, loopbackAddress(1_000 + addresses++));

  async function expectRefused(
    client: Client,
    operations: readonly Operation[],
    status: number,
    code: string,
  ): Promise<void> {
    for (const operation of operations)
      for (const request of requestsOf(operation)) {
        const answer = await send(client, request);
        const what = `${request.method} ${request.path} → ${answer.text}`;
        expect([answer.status, answer.body?.code], what).to.deep.equal([status, code]);
        expect(answer.text, what).to.not.include(SECRET);
      }
  }

  it('without a key, or with an invalid, expired or revoked one, is answered 401 at every closed endpoint', async function () {
    if (!HAS_ADDRESSES) skip(this, ONE_ADDRESS);
    const { admin } = victim;
    const revoked = (await admin.post('/v1/keys', { scope: 'admin' })).body;
    expect((await admin.delete(`/v1/keys/${revoked.id}`)).status).to.equal(204);
    const expired = (await admin.post('/v1/keys', { scope: 'admin', expires_in_secs: 1 })).body;
    const withKey = (key: string | undefined): Client => service.client(key);
    for (const { key } of [revoked, expired])
      await service.until(async () => (await withKey(key).get('/v1/namespaces')).status === 401);
    const guarded = api.operations.filter(({ scope }) => scope !== null);
    expect(guarded.length).to.be.above(30);
    // An address with too many failures is answered 429 on every endpoint.
    const perAddress = Math.floor(ATTEMPTS_AT_ONCE / CASES);
    for (const key of [undefined, 'x', `vk_${'0'.repeat(64)}`, revoked.key, expired.key])
      for (let first = 0; first < guarded.length; first += perAddress) {
        const client = elsewhere(key);
        await expectRefused(client, guarded.slice(first, first + perAddress), 401, 'unauthorized');
        client.close();
      }
    const end = await admin.delete(`/v1/keys/${expired.id}`);
    expect(end.status, end.text).to.equal(204);
  });

  it('is answered 429 after too many failures, which blocks no right key and no other address', async function () {
    if (!HAS_ADDRESSES) skip(this, ONE_ADDRESS);
    const wrong = elsewhere('x');
    const statuses: number[] = [];
    let last: Answer;
    do {
      last = await wrong.get('/v1/namespaces');
      statuses.push(last.status);
    } while (last.status === 401);
    expect(last.status, last.text).to.equal(429);
    expect(Number(last.headers.get('retry-after'))).to.be.at.least(1);
    expect(statuses.length).to.be.above(ATTEMPTS_AT_ONCE);
    const right = new AddressedClient(service.url, victim.ro.key, wrong.address);
    expect((await right.get('/v1/namespaces')).status).to.equal(200);
    const other = elsewhere('x');
    expect((await other.get('/v1/namespaces')).status).to.equal(401);
    for (const client of [wrong, right, other]) client.close();
  });

  it('with a key of too small a scope is answered 403', async () => {
    const { body } = await victim.admin.post('/v1/keys', { scope: 'metrics' });
    const guarded = api.operations.filter(({ scope }) => scope !== null && scope !== 'metrics');
    await expectRefused(service.client(body.key), guarded, 403, 'forbidden');
    await victim.admin.delete(`/v1/keys/${body.id}`);
    for (const [rank, scope] of SCOPES.slice(0, -1).entries()) {
      const beyond = guarded.filter((operation) => SCOPES.indexOf(operation.scope!) > rank);
      expect(beyond, scope).to.not.deep.equal([]);
      await expectRefused(scope === 'read_only' ? victim.ro : victim.rw, beyond, 403, 'forbidden');
    }
  });

  it('with every key of another project finds nothing of this one, and changes nothing', async () => {
    const stranger = await service.newProject();
    for (const operation of api.operations)
      for (const client of [stranger.admin, stranger.rw, stranger.ro])
        for (const request of requestsOf(operation)) {
          const answer = await send(client, request);
          const what = `${nameOf(operation)} ${request.path} ${String(request.body)} → ${answer.text}`;
          expect(answer.status, what).to.be.below(500);
          // An error may quote a filter or a text of the request itself.
          if (!String(request.body).includes(SECRET)) expect(answer.text, what).to.not.include(SECRET);
          expect(answer.text, what).to.not.include(Buffer.from(SECRET).toString('base64'));
        }
    const { keys } = (await victim.admin.get('/v1/keys')).body;
    for (const { id } of keys) expect((await stranger.admin.delete(`/v1/keys/${id}`)).status).to.equal(404);
  });
});

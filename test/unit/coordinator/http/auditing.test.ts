// Covers: coordinator/http/auditing.ts
import { expect } from 'chai';
import { DOMAIN, hash, toHex } from '../../../../shared/hashing/hash.js';
import { AnswerLost } from '../../../../shared/transport/transportErrors.js';
import type { Client } from '../../../support/launch/client.js';
import { TestEdge } from '../../../support/rigs/testEdge.js';

const STATE = { audit: 'on', since: 3, sequence: 3, stateHash: '07'.repeat(32) } as const;
const requestHash = (line: string, body: string): string =>
  toHex(hash(Buffer.concat([Uint8Array.of(DOMAIN.accessRequest), Buffer.from(`${line}\n${body}`)])));

describe('the first reads after audit_reads is switched on, which the coordinator has not learned', () => {
  let edge: TestEdge;
  let client: Client;
  beforeEach(async () => {
    edge = await TestEdge.start();
    client = await edge.client();
    await edge.backend.create('p', { name: 'c', dimension: 1, index: 'brute' });
    edge.backend.audited = STATE;
  });
  afterEach(() => edge.stop());
  const entries = (): Record<string, unknown>[] =>
    edge.backend.calls.flatMap((call) =>
      call.op === 'logAccess' ? call.entries.map((entry) => JSON.parse(entry) as Record<string, unknown>) : [],
    );

  it('are answered, and are entries with the hash of their request', async () => {
    const searches = Array.from({ length: 8 }, (_, i) => ({ collection: 'c', query: [i], k: 1 }));
    for (const answer of await Promise.all(searches.map((body) => client.post('/v1/search', body))))
      expect(answer.status, answer.text).to.equal(200);
    expect(entries().map(({ request_hash }) => request_hash)).to.have.members(
      searches.map((body) => requestHash('POST /v1/search', JSON.stringify(body))),
    );
    expect(entries()[0]).to.include({ kind: 'POST /v1/search', status: 200, sequence: 3, state_hash: STATE.stateHash });
  });

  it('are entries if they have no body, or are refused', async () => {
    expect((await client.get('/v1/records/1?collection=c')).status).to.equal(404);
    const [entry] = entries();
    expect(entry).to.include({ status: 404, request_hash: requestHash('GET /v1/records/1?collection=c', '') });
  });

  it('are 503 that says to repeat them if it is unknown whether their entries are in the log', async () => {
    edge.backend.beforeCall = async (_, { op }) => {
      if (op === 'logAccess') throw new AnswerLost('the shard that was asked is gone');
    };
    const { status, body } = await client.get('/v1/records/count?collection=c');
    expect([status, body]).to.deep.equal([
      503,
      {
        error: 'the read could not be entered into the access log: the shard that was asked is gone; retry shortly',
        code: 'unavailable',
      },
    ]);
  });

  it('have no hash if their body has more than 64 KiB', async () => {
    const body = { collection: 'c', query: [1], k: 1, metadata_filter: { a: 'x'.repeat(70_000) } };
    const { status, text } = await client.post('/v1/search', body);
    expect(status, text).to.equal(200);
    expect(entries()).to.have.length(1);
    expect(entries()[0]).not.to.have.property('request_hash');
  });
});

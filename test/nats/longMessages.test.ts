// Covers: shared/nats/longMessages.ts, shared/transport/natsParts.ts
/** Messages of many sizes between two connections, many at a time. */
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { LONG_BYTES, longMemory } from '../../shared/longMemory.js';
import type { ClusterPlatform } from '../../shared/platform/natsPlatform.js';
import { BODY_PART_BYTES } from '../../shared/transport/natsParts.js';
import type { Unpacked } from '../../shared/transport/transport.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';

const SIZES = [
  0,
  1,
  1_000,
  LONG_BYTES - 300,
  LONG_BYTES,
  LONG_BYTES + 1,
  BODY_PART_BYTES,
  BODY_PART_BYTES + 1,
  700_000,
];
const ROUNDS = 12;
const AT_ONCE = 24;
const LONG_MS = 30_000;

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('long messages over NATS', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  let near: ClusterPlatform;
  let far: ClusterPlatform;

  before(async () => {
    nats = await startTestNats();
    near = await platforms.open(nats.url);
    far = await platforms.open(nats.url);
  });
  after(async () => {
    await platforms.close();
    await nats.stop();
  });

  it('arrive with their bytes, although their memory is used again', async () => {
    const random = seededRandom(testSeed());
    await far.transport.serve('vouch.test.a', async ({ body }) => Buffer.from(hashOf(body as Uint8Array)));
    const send = async (): Promise<void> => {
      const bytes = longMemory(random.pick(SIZES) + random.int(50)).fill(random.int(256));
      const hash = hashOf(bytes);
      const body: Unpacked = { values: undefined, sizeBytes: bytes.length, pack: () => bytes };
      const envelope = { requestId: 'r', deadlineMs: systemClock.nowMs() + LONG_MS };
      const answer = await near.transport.request('vouch.test.a', body, envelope);
      expect(Buffer.from(answer as Uint8Array).toString()).to.equal(hash);
    };
    for (let round = 0; round < ROUNDS; round++) await Promise.all(Array.from({ length: AT_ONCE }, send));
  });
});

// Covers: shard/vault/associatedData.ts, shared/vault/aesGcm.ts, shared/log/recordContent.ts, shard/state/keyName.ts
/** The keys of contents in memory: what they open and refuse, and that nothing of them is left. */
import { expect } from 'chai';
import { keyName } from '../../../../shard/state/keyName.js';
import { ContentKeys } from '../../../../shard/vault/contentKeys.js';
import { systemClock, systemEntropy } from '../../../../shared/clock.js';
import { EntropyPool } from '../../../../shared/entropyPool.js';
import type { EventUnderKey } from '../../../../shared/log/event.js';
import { rejection } from '../../../support/expectations.js';

const KEY_ID = 'ab'.repeat(16);
const CONTENT = {
  ...{ tag: 7, vector: Uint8Array.of(1, 2, 3, 4), metadata: Buffer.from('{}') },
  ...{ text: null, externalId: Buffer.from('person') },
};

describe('the keys of contents', () => {
  const key = (): Uint8Array => new Uint8Array(new ArrayBuffer(32)).fill(5);
  const keysFrom = (source: () => Promise<(Uint8Array | null)[]>): ContentKeys =>
    new ContentKeys(1, source, systemClock);
  const eventOf = (encrypted: ReturnType<ContentKeys['encrypt']>): EventUnderKey => ({
    ...{ type: 'insertUnderKey', sequence: 1, timeMs: 1, actor: null, recordId: 1, requestId: null, content: null },
    ...encrypted,
  });
  async function encrypted(): Promise<EventUnderKey> {
    const keys = keysFrom(async () => []);
    keys.add(KEY_ID, key());
    return eventOf(keys.encrypt(KEY_ID, CONTENT, new EntropyPool(systemEntropy)));
  }

  it('open what they have encrypted, and forget it', async () => {
    const event = await encrypted();
    const opened = await keysFrom(async () => [key()]).open([event]);
    const { content } = event;
    expect({ ...content, vector: [...content!.vector] }).to.deep.include({ tag: 7, vector: [1, 2, 3, 4], text: null });
    expect(Buffer.from(content!.externalId!).toString()).to.equal('person');
    const { vector } = content!;
    opened.forget();
    expect([event.content, [...vector]]).to.deep.equal([null, [0, 0, 0, 0]]);
  });

  it('open contents of any number and size, whose events then share the id of their key', async () => {
    const keys = keysFrom(async () => []);
    keys.add(KEY_ID, key());
    const random = new EntropyPool(systemEntropy);
    for (const lengths of [[4], [4, 4, 4, 4], [4, 4, 4, 4, 4, 8], [4, 8, 4, 4], [20_000, 20_000, 20_000, 20_000]]) {
      const vectors = lengths.map((length, i) => new Uint8Array(length).fill(i + 1));
      const events = vectors.map((vector) => {
        const event = eventOf(keys.encrypt(KEY_ID, { ...CONTENT, vector }, random));
        return { ...event, keyId: Uint8Array.from(event.keyId) };
      });
      const opener = keysFrom(async () => [key()]);
      await opener.open(events);
      expect(events.map(({ content }) => Buffer.from(content!.vector))).to.deep.equal(
        vectors.map((each) => Buffer.from(each)),
      );
      expect(new Set(events.map(({ keyId }) => keyId)).size).to.equal(1);
      expect(keyName(events[0]!.keyId)).to.equal(KEY_ID);
    }
  });

  it('leave a content closed whose key is gone', async () => {
    const event = await encrypted();
    await keysFrom(async () => [null]).open([event]);
    expect(event.content).to.equal(null);
  });

  it('leave contents closed that are under another key with this id, and report that once', async () => {
    const events = [await encrypted(), await encrypted()];
    const reported: string[] = [];
    const keys = new ContentKeys(
      1,
      async () => [key().fill(6)],
      systemClock,
      (keyId) => reported.push(keyId),
    );
    await keys.open(events);
    expect([events.map(({ content }) => content), reported]).to.deep.equal([[null, null], [KEY_ID]]);
    expect(await keys.saltOf(events[0]!)).to.equal(undefined);
  });

  it('report damage for another commitment, whichever content it belongs to', async () => {
    for (const damaged of [0, 2, 3, 4]) {
      const events = await Promise.all(Array.from({ length: 5 }, encrypted));
      events[damaged] = { ...events[damaged]!, sequence: 9, commitment: new Uint8Array(32) };
      const error = await rejection(keysFrom(async () => [key()]).open(events));
      expect(error.message).to.equal('event 9: its content is not the one that it commits to');
      expect([error.name, ...events.map(({ content }) => content)]).to.deep.equal([
        'Damaged',
        null,
        null,
        null,
        null,
        null,
      ]);
    }
  });

  it('are overwritten when they are dropped, also one that arrives later', async () => {
    const [held, late] = [key(), key()];
    const keys = keysFrom(async () => []);
    keys.add(KEY_ID, held);
    keys.drop(KEY_ID);
    keys.add(KEY_ID, late);
    expect([held, late].map((bytes) => bytes.every((byte) => byte === 0))).to.deep.equal([true, true]);
    expect(keys.has(KEY_ID)).to.equal(false);
    expect(await keys.copies([KEY_ID])).to.deep.equal([null]);
  });
});

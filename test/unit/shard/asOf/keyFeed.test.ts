import { expect } from 'chai';
import { fedKeys, feedKeys } from '../../../../shard/asOf/keyFeed.js';
import type { KeyRequest } from '../../../../shard/asOf/messages.js';
import { refusal } from '../../../../shared/errors/errors.js';
import { expectCode, rejection } from '../../../support/expectations.js';

describe('the keys of contents for another thread', () => {
  it('are moved in the order of their ids, with null for a key that is gone', async () => {
    const key = new Uint8Array(new ArrayBuffer(32)).fill(7);
    const keys = fedKeys((request) => void feedKeys(async () => [null, key], request));
    expect(await keys(['01', '02'])).to.deep.equal([null, new Uint8Array(32).fill(7)]);
    expect(key.length).to.equal(0);
  });

  it('fail with the error of their source', async () => {
    const source = async (): Promise<never> => {
      throw refusal('record_shredded', 'key', { key: '01' });
    };
    await expectCode(fedKeys((request) => void feedKeys(source, request))(['01']), 'record_shredded');
  });

  it('fail if the other thread ends the request without an answer', async () => {
    const keys = fedKeys(({ port }: KeyRequest) => port.close());
    expect((await rejection(keys(['01']))).message).to.equal('the reading of keys ended without an outcome');
  });
});

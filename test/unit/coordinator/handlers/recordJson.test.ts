// Covers: coordinator/handlers/recordJson.ts
import { expect } from 'chai';
import { receiptJson } from '../../../../coordinator/handlers/recordJson.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { History } from '../../../support/rigs/auditHistory.js';

describe('the JSON of a receipt', () => {
  it('equals what JSON.stringify writes, for inserts and for changes', async () => {
    const history = new History(seededRandom(testSeed()));
    while (history.writes.length < 100) await history.commit(5);
    for (const { receipt } of history.writes) expect(receiptJson(receipt)).to.equal(JSON.stringify(receipt));
  });
});

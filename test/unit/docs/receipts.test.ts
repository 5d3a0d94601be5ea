// Covers: docs/
/** The receipts that the pages show are of the present format: each verifies and names the actor of its write. */
import { expect } from 'chai';
import { readProof, receiptIn, verifyReceipt } from '../../../verifier/receipt.js';
import { readPages, shellBlocks } from '../../support/pages.js';

const ANSWER = /^\{.*"receipt":\{.*\}\}$/gm;

describe('the receipts in the pages', () => {
  const receipts = readPages()
    .flatMap(shellBlocks)
    .flatMap(({ output = '' }) => output.match(ANSWER) ?? [])
    .map((answer) => receiptIn(JSON.parse(answer)));

  it('verify', () => {
    expect(receipts.flatMap((receipt) => verifyReceipt(receipt))).to.deep.equal([]);
    expect(receipts).to.have.length.above(0);
  });

  it('name the key and the request of their writes', () => {
    for (const { proof } of receipts) expect(readProof(proof).actor).to.have.all.keys('keyId', 'requestId');
  });
});

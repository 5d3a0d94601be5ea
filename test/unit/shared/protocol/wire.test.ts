/** The messages between coordinator and shard, as bytes. */
import { expect } from 'chai';
import { packCalls, packOutcomes, unpackCalls, unpackOutcomes } from '../../../../shared/protocol/wire.js';

const packed = (outcome: unknown): Uint8Array => packOutcomes([{ ok: outcome }]).pack();
const areCalls = (value: unknown): value is [] => Array.isArray(value);

/** Long memory has whole steps of 64 KiB, and msgpackr leaves some of it free. */
const SPARE_BYTES = 80 * 1024;

describe('a message between processes', () => {
  const bytes = (length: number) => Buffer.alloc(length, 7);

  it('takes hardly more memory than its length, if it is long', () => {
    const result = { ids: bytes(8_000), metadata: Array.from({ length: 1_000 }, () => bytes(2_000)) };
    const message = packed(result);
    expect(message.buffer.byteLength - message.length).to.be.within(0, SPARE_BYTES);
    expect(unpackOutcomes(message)).to.deep.equal([{ ok: result }]);
    const call = { op: 'insertBatch', vectors: bytes(3_000_000) };
    const sent = { requestId: 'r', deadlineMs: 5, call, actor: { keyId: 'k', onBehalfOf: null, requestId: 'r' } };
    const calls = packCalls([sent]).pack();
    expect(calls.buffer.byteLength - calls.length).to.be.within(0, SPARE_BYTES);
    expect(unpackCalls(calls, areCalls as never)).to.deep.equal([sent]);
  });

  it('holds no memory of a long message before it', () => {
    packed({ ids: bytes(4_000_000) });
    const short = packed({ ids: bytes(8) });
    expect(short.buffer.byteLength).to.be.at.most(8_192);
    expect(unpackOutcomes(short)).to.deep.equal([{ ok: { ids: bytes(8) } }]);
  });

  it('is unpacked whole with texts of any script', () => {
    const texts = ['a', '\u00e9', '\u4e16', '\u{1f600}'].map((char) => char.repeat(40_000));
    expect(unpackOutcomes(packed({ texts }))).to.deep.equal([{ ok: { texts } }]);
  });
});

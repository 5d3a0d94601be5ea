// Covers: shared/transport/subjects.ts
import { expect } from 'chai';
import { MsgHdrsImpl } from 'nats';
import {
  BODY_PART_BYTES,
  DividedBody,
  isDivided,
  PartialBody,
  PartialRequests,
} from '../../../../shared/transport/natsParts.js';
import { eventually } from '../../../support/expectations.js';

const REPLY = '_INBOX.coordinator.a.1';
const BODY = Buffer.alloc(3 * BODY_PART_BYTES + 1, 'abc');
const PARTS = [0, 1, 2, 3].map((n) => BODY.subarray(n * BODY_PART_BYTES, (n + 1) * BODY_PART_BYTES));
const placeOf = (n: number) => ({ offset: n * BODY_PART_BYTES, bodyBytes: BODY.length });
const LONG_MS = 60_000;

describe('parts of long bodies', () => {
  it('a body longer than a part is divided, except for any of several followers', () => {
    expect(isDivided('vouch.c.1.1.read', BODY.subarray(0, BODY_PART_BYTES))).to.equal(false);
    expect(isDivided('vouch.c.1.1.read', BODY)).to.equal(true);
    expect(isDivided('vouch.f.1.s1', BODY)).to.equal(true);
    expect(isDivided('vouch.f.1', BODY)).to.equal(false);
  });

  it('at most two parts are unconfirmed', async () => {
    const sent: Uint8Array[] = [];
    const divided = new DividedBody(BODY, new MsgHdrsImpl(), (part) => sent.push(part));
    const sending = divided.send();
    expect(sent).to.have.length(2);
    divided.confirm();
    await eventually('the third part is sent', () => sent.length === 3);
    divided.confirm();
    await sending;
    expect(Buffer.compare(Buffer.concat(sent), BODY)).to.equal(0);
  });

  it('a body is sent whole if its confirmations are lost', async () => {
    const sent: Uint8Array[] = [];
    await new DividedBody(BODY, new MsgHdrsImpl(), (part) => sent.push(part)).send();
    expect(Buffer.compare(Buffer.concat(sent), BODY)).to.equal(0);
  });

  it('a body in a hurry waits for no confirmation', async () => {
    let sent = 0;
    const divided = new DividedBody(BODY, new MsgHdrsImpl(), () => sent++);
    void divided.send();
    divided.hurry();
    await Promise.resolve();
    expect(sent).to.equal(PARTS.length);
  });

  it('a cancelled body sends no further part', async () => {
    let sent = 0;
    const divided = new DividedBody(BODY, new MsgHdrsImpl(), () => sent++);
    const sending = divided.send();
    divided.cancel();
    await sending;
    expect(sent).to.equal(2);
  });

  it('a body without one of its parts is never whole', () => {
    const partial = new PartialBody(BODY.length);
    const added = [0, 2, 3, 1].map((n) => partial.add(PARTS[n]!, n * BODY_PART_BYTES));
    expect(added).to.deep.equal([undefined, undefined, undefined, undefined]);
  });

  it('a request is whole with its last part, and stays in progress', () => {
    const replies = new Set([REPLY]);
    const requests = new PartialRequests(replies);
    const added = PARTS.map((part, n) => requests.add(REPLY, part, placeOf(n), LONG_MS));
    expect(added.slice(0, -1)).to.deep.equal([undefined, undefined, undefined]);
    expect(Buffer.compare(added.at(-1)!, BODY)).to.equal(0);
    expect([...replies]).to.deep.equal([REPLY]);
  });

  it('a request without one of its parts is not in progress', () => {
    const replies = new Set([REPLY]);
    const requests = new PartialRequests(replies);
    requests.add(REPLY, PARTS[0]!, placeOf(0), LONG_MS);
    expect(requests.add(REPLY, PARTS[2]!, placeOf(2), LONG_MS)).to.equal(undefined);
    expect([...replies]).to.deep.equal([]);
  });

  it('there is room for 256 MiB of requests that have arrived in part', () => {
    const requests = new PartialRequests(new Set());
    const half = 128 * 1024 * 1024;
    requests.add(REPLY, PARTS[0]!, { offset: 0, bodyBytes: half }, LONG_MS);
    expect([half, half + 1].map((bodyBytes) => requests.hasRoom(bodyBytes))).to.deep.equal([true, false]);
  });

  it('a request in parts is dropped at its deadline', async () => {
    const replies = new Set([REPLY]);
    new PartialRequests(replies).add(REPLY, PARTS[0]!, placeOf(0), 1);
    await eventually('it is dropped', () => replies.size === 0);
  });
});

/** The way of inserts under keys to the owner: one that may wait for the vault delays no other. */
import { expect } from 'chai';
import type { CallQueue } from '../../../../../coordinator/cluster/calls/callQueue.js';
import { OpenKeys } from '../../../../../coordinator/cluster/calls/openKeys.js';
import type { Call } from '../../../../../shared/protocol/calls.js';
import { Owners, queueOver, Wire } from '../../../../support/rigs/callWire.js';
import { fixed, soon } from '../../../../support/rigs/engine.js';

const key = (letter: string): string => letter.repeat(32);
const insert = (keyId?: string): Call => ({
  ...{ op: 'insert', vector: fixed(1, 1), tag: 0, requestId: null, metadata: null, text: null },
  ...(keyId !== undefined && { keyId }),
});

describe('an insert under a key, on its way to the owner', () => {
  let wire: Wire;
  let owners: Owners;
  let queue: CallQueue;
  beforeEach(() => {
    wire = new Wire(16 << 20, 'vouch.c.');
    owners = new Owners(3);
    queue = queueOver(wire, owners);
  });

  /** Sends inserts in one turn. Returns the keys of each message. */
  async function messages(...keyIds: readonly (string | undefined)[]): Promise<unknown[][]> {
    wire.received.length = 0;
    await Promise.all(keyIds.map((keyId) => queue.send(7, insert(keyId), soon())));
    return wire.received.map(({ calls }) => calls.map(({ call }) => ('keyId' in call ? call.keyId : undefined)));
  }

  it('travels alone until an answer shows that the owner has the key open', async () => {
    const [a, b] = [key('a'), key('b')];
    expect(await messages(undefined, a, undefined, a)).to.deep.equal([[a], [a], [undefined, undefined]]);
    expect(await messages(undefined, a, b, a)).to.deep.equal([[b], [undefined, a, a]]);
    owners.server = { shard: 's2', session: 'two', epoch: 4 };
    expect(await messages(a, undefined), 'another owner').to.deep.equal([[a], [undefined]]);
  });

  it('travels alone under a fresh key, and under a key whose inserts have failed', async () => {
    expect(await messages('new')).to.deep.equal([['new']]);
    expect(await messages('new', 'new')).to.deep.equal([['new'], ['new']]);
    wire.answer = ({ calls }) => calls.map(() => ({ code: 'unavailable', message: 'no vault' }));
    for (let n = 0; n < 2; n++) await queue.send(7, insert(key('a')), soon()).catch(() => undefined);
    wire.answer = ({ calls }) => calls.map(() => ({ ok: 0 }));
    expect(await messages(undefined, key('a'))).to.deep.equal([[key('a')], [undefined]]);
  });

  it('travels alone in an erasable collection, and so does one without a key', async () => {
    const sent = [undefined, key('a'), undefined].map((keyId) => queue.send(7, insert(keyId), soon(), true));
    await Promise.all(sent);
    expect(wire.received.map(({ calls }) => calls.length)).to.deep.equal([1, 1, 1]);
  });

  it('is answered under an open key while another waits for the vault', async () => {
    await messages(key('a'));
    let answerSlow = (): void => undefined;
    const vault = new Promise<void>((resolve) => {
      answerSlow = resolve;
    });
    wire.answer = async ({ calls }) => {
      if (calls.some(({ call }) => 'keyId' in call && call.keyId === key('b'))) await vault;
      return calls.map(() => ({ ok: 0 }));
    };
    let isSlowAnswered = false;
    const slow = queue.send(7, insert(key('b')), soon()).then(() => {
      isSlowAnswered = true;
    });
    await queue.send(7, insert(key('a')), soon());
    expect(isSlowAnswered).to.equal(false);
    answerSlow();
    await slow;
  });

  it('may wait for the vault once 10,000 other keys are known', () => {
    const open = new OpenKeys(owners);
    const calls = Array.from({ length: 10_001 }, (_, n) => insert(n.toString(16).padStart(32, '0')));
    for (const call of calls.slice(0, 10_000)) open.answered(7, call);
    expect(calls.map((call) => open.mayAwaitVault(7, call)).indexOf(true)).to.equal(10_000);
    open.answered(7, calls.at(-1)!);
    expect(calls.filter((call) => open.mayAwaitVault(7, call))).to.deep.equal([calls[0]]);
  });
});

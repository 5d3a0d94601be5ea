/** Which of the messages of one key is its entry, whatever the servers have let in, stored twice or brought late. */
import { expect } from 'chai';
import { systemEntropy } from '../../../../shared/clock.js';
import { Malformed } from '../../../../shared/errors/malformed.js';
import type { StoredMessage } from '../../../../shared/log/jetStreamMessages.js';
import { decodeVaultEntry, encodeVaultEntry } from '../../../../shared/vault/entryCodec.js';
import { type CurrentEntry, currentOf, revisionAfter, revisionIn } from '../../../../shared/vault/entryVersion.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { freshSecret, shredded } from '../../../support/suites/vaultStorage.js';

const KEY = 'ab'.repeat(16);

const messageOf = (revision: number): Uint8Array =>
  encodeVaultEntry({ project: 'p', keyId: KEY, entry: shredded(), revision });
const standing = (messages: readonly Uint8Array[]): CurrentEntry =>
  currentOf(
    messages.map((bytes, at): StoredMessage => ({ subject: 's', position: at + 1, bytes })) as [StoredMessage],
    ({ bytes }) => decodeVaultEntry(bytes, 'p', KEY),
  );
/** What is written when that stands. */
const following = (...messages: Uint8Array[]): Uint8Array =>
  messageOf(revisionAfter(messages.length === 0 ? undefined : standing(messages), systemEntropy));
const expectStands = (messages: readonly Uint8Array[], entry: Uint8Array): void => {
  expect(revisionIn(standing(messages))).to.equal(decodeVaultEntry(entry, 'p', KEY).revision);
};

describe('the entry among the messages of its key', () => {
  const first = following();
  const second = following(first);
  const rival = following(first);
  const third = following(first, second);

  it('is the first of the highest version', () => {
    expectStands([first], first);
    expectStands([first, following(), following()], first);
    expectStands([first, second, rival], second);
    expectStands([first, second, third, rival], third);
    expectStands([first, second, rival, third], third);
    expectStands([third], third);
    expect([...standing([first, rival, second, third]).revisions]).to.deep.equal(
      [first, rival, third].map((bytes) => decodeVaultEntry(bytes, 'p', KEY).revision),
    );
  });

  it('stays what it is when the newest messages are stored again, and when an old one comes late', () => {
    const { int } = seededRandom(testSeed());
    for (let round = 0; round < 200; round++) {
      const messages: Uint8Array[] = [following()];
      let stands = messages[0]!;
      for (let step = 0; step < 12; step++) {
        const what = int(3);
        if (what === 0) {
          stands = following(...messages);
          messages.push(stands);
        } else if (what === 1) messages.push(...messages.slice(int(messages.length)));
        else messages.push(messages[int(messages.length)]!);
        expectStands(messages, stands);
      }
    }
  });

  it('of a time before versions were counted, is the last', () => {
    const uncounted = [7, 2 ** 48 - 1, 5].map(messageOf);
    expectStands(uncounted, uncounted[2]!);
    const next = following(...uncounted);
    expectStands([...uncounted, next, uncounted[1]!], next);
  });

  it('is damaged where what came after it does not verify, until something replaces that', () => {
    const bent = freshSecret();
    expect(revisionIn(standing([first, second, bent]))).to.equal('damaged');
    expect(standing([bent]).newest).to.be.instanceOf(Malformed);
    const mended = following(first, second, bent);
    expectStands([first, second, bent, mended], mended);
    // Late to replace the one before the damage.
    expectStands([first, second, bent, mended, third], mended);
  });
});

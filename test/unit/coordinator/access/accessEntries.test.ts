import { expect } from 'chai';
import { AccessEntries } from '../../../../coordinator/access/accessEntries.js';
import type { Collection } from '../../../../coordinator/cluster/catalog/collection.js';
import type { Backend } from '../../../../coordinator/cluster/clusterBackend.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { ACCESS_ENTRIES_MAX, type LogAccessCall } from '../../../../shared/protocol/access.js';
import { rejection } from '../../../support/expectations.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const collectionOf = (id: number) => ({ id }) as Collection;

interface SentCall {
  readonly entries: readonly string[];
  readonly deadlineMs: number;
  readonly answer: () => void;
  readonly fail: (error: unknown) => void;
}

describe('the entries of access logs on their way to the owner', () => {
  let sent: SentCall[];
  let entries: AccessEntries;
  const add = (entry: string, id = 1, deadlineMs = 5) =>
    entries.add(collectionOf(id), entry, { requestId: 'r', deadlineMs });
  const call = (_: Collection, { entries: texts }: LogAccessCall, { deadlineMs }: { deadlineMs: number }) =>
    new Promise((resolve, fail) => {
      sent.push({ entries: texts, deadlineMs, answer: () => resolve(null), fail });
    });

  const open = (mode: Backend['mode']) => new AccessEntries({ call: call as unknown as Backend['call'], mode });

  beforeEach(() => {
    sent = [];
    entries = open('cluster');
  });

  it('travel in one call for each collection and turn, with their latest deadline', async () => {
    const added = [add('a', 1, 5), add('b', 1, 9), add('x', 2, 3), add('c', 1, 7)];
    await turn();
    expect(sent.map(({ entries: texts, deadlineMs }) => [texts, deadlineMs])).to.deep.equal([
      [['a', 'b', 'c'], 9],
      [['x'], 3],
    ]);
    for (const { answer } of sent) answer();
    await Promise.all(added);
  });

  it('are sent once and in their order while earlier calls are unanswered', async () => {
    const added: Promise<void>[] = [];
    for (const entry of ['a', 'b', 'c', 'd']) {
      added.push(add(entry));
      await turn();
    }
    sent[0]!.answer();
    await added[0];
    await turn();
    expect(sent.flatMap(({ entries: texts }) => texts)).to.deep.equal(['a', 'b', 'c', 'd']);
    for (let answered = 1; answered < sent.length; answered++) {
      sent[answered]!.answer();
      await turn();
    }
    await Promise.all(added);
  });

  describe('in a standalone node', () => {
    const { setTimeout } = globalThis;
    // Two milliseconds may pass within a turn of the event loop.
    before(() => {
      globalThis.setTimeout = (() => 0) as unknown as typeof setTimeout;
    });
    after(() => {
      globalThis.setTimeout = setTimeout;
    });

    it('are the next call if they arrive while a call is unanswered', async () => {
      entries = open('standalone');
      const added: Promise<void>[] = [];
      for (const entry of ['a', 'b', 'c']) {
        added.push(add(entry));
        await turn();
      }
      expect(sent.map(({ entries: texts }) => texts)).to.deep.equal([['a']]);
      sent[0]!.answer();
      await turn();
      expect(sent.map(({ entries: texts }) => texts)).to.deep.equal([['a'], ['b', 'c']]);
      sent[1]!.answer();
      await Promise.all(added);
    });
  });

  it('are all refused if their call fails, and later ones are sent', async () => {
    const refused = [rejection(add('a')), rejection(add('b'))];
    await turn();
    sent[0]!.fail(unavailable('moved'));
    for (const error of await Promise.all(refused)) expect(error).to.have.property('message', 'moved');
    const later = add('c');
    await turn();
    sent[1]!.answer();
    await later;
  });

  it('are divided where they are too many or too long for a call', async () => {
    const long = 'x'.repeat(300_000);
    const texts = [long, long, ...Array.from({ length: ACCESS_ENTRIES_MAX + 1 }, () => '')];
    const added = texts.map((text) => add(text));
    await turn();
    await turn();
    for (let answered = 0; answered < sent.length; answered++) {
      sent[answered]!.answer();
      await turn();
    }
    await Promise.all(added);
    expect(sent.flatMap((each) => each.entries)).to.deep.equal(texts);
    for (const { entries: some } of sent) {
      expect(some.length).to.be.at.most(ACCESS_ENTRIES_MAX);
      expect(some.join('').length).to.be.at.most(512 * 1024);
    }
  });
});

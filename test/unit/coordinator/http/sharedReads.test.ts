import assert from 'node:assert/strict';
import { jsonText, type Reply } from '../../../../coordinator/http/reply.js';
import { SharedReads } from '../../../../coordinator/http/sharedReads.js';

const textOf = ({ body }: Reply): string => Buffer.from(body).toString();
const times = <T>(count: number, what: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => what(i));

describe('SharedReads', () => {
  /** Requests one after another in one turn of the event loop, like a server that reads from many sockets. */
  async function asked(count: number, ask: (i: number) => Promise<Reply>): Promise<string[]> {
    const answers: Promise<Reply>[] = [];
    for (let i = 0; i < count; i++) {
      answers.push(ask(i));
      await Promise.resolve();
    }
    return (await Promise.all(answers)).map(textOf);
  }

  it('makes two answers for a hundred requests of one turn', async () => {
    const reads = new SharedReads();
    let made = 0;
    const answers = await asked(100, () => reads.next('keys of a', async () => jsonText(`${++made}`)));
    assert.deepEqual([...new Set(answers)], ['1', '2']);
    assert.equal(made, 2);
  });

  it('starts an answer in a later turn of the event loop than the request', async () => {
    let turn = 'that of the request';
    setImmediate(() => {
      turn = 'a later one';
    });
    assert.equal(textOf(await new SharedReads().next('keys of a', async () => jsonText(turn))), 'a later one');
  });

  it('starts the answer after the request, even if another is being made', async () => {
    const reads = new SharedReads();
    let stored = 'before';
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const first = reads.next('keys of a', async () => {
      const seen = stored;
      begin();
      return jsonText(seen);
    });
    await begun;
    stored = 'after';
    const second = reads.next('keys of a', async () => jsonText(stored));
    assert.deepEqual([textOf(await first), textOf(await second)], ['before', 'after']);
  });

  it('makes an answer with the function of its newest request', async () => {
    const reads = new SharedReads();
    const answers = await asked(5, (i) => reads.next('keys of a', async () => jsonText(`${i}`)));
    assert.deepEqual(answers.slice(1), ['4', '4', '4', '4']);
  });

  it('reports a failure to every waiting request, and makes the next answer', async () => {
    const reads = new SharedReads();
    const failed = times(3, () => reads.next('keys of a', () => Promise.reject(new Error('away'))));
    for (const one of await Promise.allSettled(failed)) assert.equal(one.status, 'rejected');
    assert.equal(textOf(await reads.next('keys of a', async () => jsonText('there'))), 'there');
  });

  it('gives no request the answer of another project', async () => {
    const reads = new SharedReads();
    const answers = await Promise.all(times(4, (i) => reads.next(`keys of ${i}`, async () => jsonText(`${i}`))));
    assert.deepEqual(answers.map(textOf), ['0', '1', '2', '3']);
  });
});

// Covers: shared/scheduling/counts.ts
/** Turns between projects, counted by started work. */
import { expect } from 'chai';
import { systemClock } from '../../../../shared/clock.js';
import { FairSemaphore } from '../../../../shared/scheduling/fairSemaphore.js';
import { gate, rejection } from '../../../support/expectations.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a fair semaphore', () => {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  beforeEach(() => {
    begun.length = 0;
    ends.clear();
  });
  const semaphoreOf = (bounds: ConstructorParameters<typeof FairSemaphore>[0]): FairSemaphore =>
    new FairSemaphore(bounds, systemClock);
  /** `name` is the letter of the project and the number of the collection. */
  const ask = (semaphore: FairSemaphore, name: string, signal?: AbortSignal): Promise<void> => {
    const { opened, open } = gate();
    ends.set(name, open);
    const of = { id: Number(name.slice(1)), project: name[0]! };
    return semaphore.run(
      of,
      () => {
        begun.push(name);
        return opened;
      },
      signal,
    );
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)!();
    await turn();
  };

  it('gives a free place to another project, however much work one project has waiting', async () => {
    const semaphore = semaphoreOf({ atOnce: 1 });
    for (let i = 1; i <= 100; i++) void ask(semaphore, `a${i}`);
    void ask(semaphore, 'b200');
    await turn();
    await end('a1');
    await end(begun[1]!);
    expect(begun.slice(0, 3)).to.have.members(['a1', 'a2', 'b200']);
  });

  it('lets one project use only its share of the places', async () => {
    const semaphore = semaphoreOf({ atOnce: 3, ofProject: 2 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b5']) void ask(semaphore, name);
    await turn();
    expect(begun).to.deep.equal(['a1', 'a2', 'b5']);
    await end('b5');
    expect(begun).to.have.length(3);
    await end('a1');
    expect(begun.slice(3)).to.deep.equal(['a3']);
  });

  it('refuses work beyond the waiting limit of its project, and of no other project', async () => {
    const semaphore = semaphoreOf({ atOnce: 1, waiting: 2, refusal: () => new Error('too many') });
    for (const name of ['a1', 'a2', 'a3']) void ask(semaphore, name);
    expect((await rejection(ask(semaphore, 'a4'))).message).to.equal('too many');
    void ask(semaphore, 'b5');
    expect(semaphore.size).to.equal(4);
  });

  it('drops work whose signal is aborted while it waits', async () => {
    const semaphore = semaphoreOf({ atOnce: 1 });
    const controller = new AbortController();
    void ask(semaphore, 'a1');
    const aborted = ask(semaphore, 'a2', controller.signal);
    void ask(semaphore, 'a3');
    controller.abort(new Error('not wanted'));
    expect((await rejection(aborted)).message).to.equal('not wanted');
    await turn();
    await end('a1');
    expect(begun).to.deep.equal(['a1', 'a3']);
    expect(semaphore.size).to.equal(1);
  });

  it('starts no work with an aborted signal', async () => {
    const semaphore = semaphoreOf({ atOnce: 1 });
    const error = await rejection(ask(semaphore, 'a1', AbortSignal.abort(new Error('closed'))));
    expect(error.message).to.equal('closed');
    expect(begun).to.deep.equal([]);
    expect(semaphore.size).to.equal(0);
  });

  it('frees the place of work that fails', async () => {
    const semaphore = semaphoreOf({ atOnce: 1 });
    await rejection(semaphore.run({ id: 1, project: 'a' }, () => Promise.reject(new Error('no'))));
    void ask(semaphore, 'a1');
    await turn();
    expect(begun).to.deep.equal(['a1']);
  });
});

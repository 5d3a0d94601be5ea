/** The order in which a shard opens collections. */
import { expect } from 'chai';
import type { Openings } from '../../../../shard/opening/openings.js';
import { Damaged } from '../../../../shared/log/damaged.js';
import { gate, rejection } from '../../../support/expectations.js';
import { trustingOpenings } from '../../../support/rigs/trustingOpenings.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('openings', () => {
  const begun: string[] = [];
  let openings: Openings;
  let last = 0;
  beforeEach(() => {
    begun.length = 0;
    openings = trustingOpenings();
  });
  const collectionOf = (project: string) => ({ id: ++last, project });
  /**
   * Starts an opening, which ends with the returned function: with a number in the name for a waiting call, otherwise
   * in the background.
   */
  const open = (name: string, project = 'p'): (() => void) => {
    const { opened, open: end } = gate();
    const work = (): Promise<void> => {
      begun.push(name);
      return opened;
    };
    const of = collectionOf(project);
    void (/\d/.test(name) ? openings.asked(of, work) : openings.inBackground(of, work));
    return end;
  };

  it('begin at once for waiting calls, beside those in the background', async () => {
    open('a');
    open('b');
    for (const name of ['1', '2', '3', '4']) open(name);
    await turn();
    expect(begun.sort()).to.deep.equal(['1', '2', '3', '4', 'a', 'b']);
  });

  it('begin eight at a time for one project, and at once for another', async () => {
    const ends = Array.from({ length: 1_000 }, (_, n) => open(`p${n}`));
    open('q1', 'q');
    await turn();
    expect(begun).to.deep.equal([...Array.from({ length: 8 }, (_, n) => `p${n}`), 'q1']);
    ends[3]!();
    await turn();
    expect(begun.slice(9)).to.deep.equal(['p8']);
  });

  it('begin 32 at a time for many projects, in turn between projects', async () => {
    const ends = ['a', 'b', 'c', 'd'].flatMap((project) =>
      Array.from({ length: 10 }, (_, n) => open(`${project}${n}`, project)),
    );
    open('e0', 'e');
    await turn();
    expect(begun).to.have.length(32);
    ends[0]!();
    ends[1]!();
    await turn();
    expect(begun.slice(32)).to.have.members(['a8', 'e0']);
  });

  it('in the background begin two at a time, in order', async () => {
    const ends = ['a', 'b', 'c', 'd'].map((name) => open(name));
    await turn();
    expect(begun).to.deep.equal(['a', 'b']);
    ends[1]!();
    await turn();
    expect(begun).to.deep.equal(['a', 'b', 'c']);
  });

  it('in the background take turns between projects', async () => {
    const ends = ['a', 'b', 'c', 'd'].map((name) => open(name));
    open('x', 'other');
    ends[0]!();
    await turn();
    ends[1]!();
    await turn();
    expect(begun.slice(2)).to.have.members(['c', 'x']);
  });

  it('in the background wait for openings of waiting calls, also for one that fails', async () => {
    const first = open('1');
    const failing = openings.asked(collectionOf('p'), async () => {
      await turn();
      throw new Error('its log cannot be read');
    });
    open('a');
    await failing.catch(() => undefined);
    expect(begun).to.deep.equal(['1']);
    first();
    await turn();
    expect(begun).to.deep.equal(['1', 'a']);
    await openings.asked(collectionOf('p'), () => Promise.reject(new Error('again'))).catch(() => undefined);
    open('b');
    await turn();
    expect(begun).to.deep.equal(['1', 'a', 'b']);
  });

  it('wait for the opening of a suspect collection, which begins when no other runs', async () => {
    const suspect = trustingOpenings({ isSuspect: async (id) => id === 2 });
    const noted = (id: number): (() => void) => {
      const { opened, open: end } = gate();
      void suspect.noted(id, () => {
        begun.push(String(id));
        return opened;
      });
      return end;
    };
    const ends = [1, 2, 3].map(noted);
    await turn();
    expect(begun).to.deep.equal(['1', '3']);
    ends[0]!();
    ends[2]!();
    await turn();
    expect(begun).to.deep.equal(['1', '3', '2']);
    noted(4);
    await turn();
    expect(begun).to.have.length(3);
    ends[1]!();
    await turn();
    expect(begun).to.deep.equal(['1', '3', '2', '4']);
  });

  it('fail with the reason, without a note, if the collection is quarantined', async () => {
    const noted: number[] = [];
    const quarantined = trustingOpenings({
      quarantineOf: () => 'its opening stopped a shard',
      begin: async (id) => void noted.push(id),
    });
    const error = await rejection(quarantined.noted(1, async () => begun.push('1')));
    expect(error).to.be.instanceOf(Damaged);
    expect(error).to.include({ part: 'opening', message: 'its opening stopped a shard' });
    expect([...begun, ...noted]).to.deep.equal([]);
  });

  it('do not make a suspect collection trusted if they cost the lease', async () => {
    const trusted: number[] = [];
    const lease = { valid: true, lapses: 0 };
    const notes = { isSuspect: async () => true, opened: async (id: number) => void trusted.push(id) };
    const suspect = trustingOpenings(notes, lease);
    await suspect.noted(1, async () => undefined);
    await suspect.noted(2, async () => lease.lapses++);
    await suspect.noted(3, async () => {
      lease.valid = false;
    });
    expect(trusted).to.deep.equal([1]);
  });
});

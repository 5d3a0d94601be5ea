// Covers: shared/log/damaged.ts
/** Order, limits, notes and refusals of the openings of a shard's collections. */
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
  /** Returns the work of an opening, and a function that ends it. */
  const opening = (name: string) => {
    const { opened, open: end } = gate();
    const work = (): Promise<void> => {
      begun.push(name);
      return opened;
    };
    return { work, end };
  };
  /** Asks for an opening, as a waiting call does. The returned function ends it. */
  const openAsked = (name: string, project = 'p'): (() => void) => {
    const { work, end } = opening(name);
    void openings.asked(collectionOf(project), work);
    return end;
  };
  /** Begins an opening that no call waits for. The returned function ends it. */
  const openInBackground = (name: string, project = 'p'): (() => void) => {
    const { work, end } = opening(name);
    void openings.inBackground(collectionOf(project), work);
    return end;
  };

  it('for waiting calls begin at once, beside those in the background', async () => {
    for (const name of ['a', 'b']) openInBackground(name);
    for (const name of ['1', '2', '3', '4']) openAsked(name);
    await turn();
    expect(begun.sort()).to.deep.equal(['1', '2', '3', '4', 'a', 'b']);
  });

  it('for waiting calls are at most eight at a time for one project, and do not delay another', async () => {
    const ends = Array.from({ length: 1_000 }, (_, n) => openAsked(`p${n}`));
    openAsked('q1', 'q');
    await turn();
    expect(begun).to.deep.equal([...Array.from({ length: 8 }, (_, n) => `p${n}`), 'q1']);
    ends[3]!();
    await turn();
    expect(begun.slice(9)).to.deep.equal(['p8']);
  });

  it('for waiting calls are at most 32 at a time, and projects take turns', async () => {
    const ends = ['a', 'b', 'c', 'd'].flatMap((project) =>
      Array.from({ length: 10 }, (_, n) => openAsked(`${project}${n}`, project)),
    );
    openAsked('e0', 'e');
    await turn();
    expect(begun).to.have.length(32);
    ends[0]!();
    ends[1]!();
    await turn();
    expect(begun.slice(32)).to.have.members(['a8', 'e0']);
  });

  it('in the background are at most two at a time, in the order of their requests', async () => {
    const ends = ['a', 'b', 'c', 'd'].map((name) => openInBackground(name));
    await turn();
    expect(begun).to.deep.equal(['a', 'b']);
    ends[1]!();
    await turn();
    expect(begun).to.deep.equal(['a', 'b', 'c']);
  });

  it('in the background take turns between projects', async () => {
    const ends = ['a', 'b', 'c', 'd'].map((name) => openInBackground(name));
    openInBackground('x', 'other');
    ends[0]!();
    await turn();
    ends[1]!();
    await turn();
    expect(begun.slice(2)).to.have.members(['c', 'x']);
  });

  it('in the background wait until none for a waiting call runs, also if one of those fails', async () => {
    const first = openAsked('1');
    const failing = openings.asked(collectionOf('p'), async () => {
      await turn();
      throw new Error('its log cannot be read');
    });
    openInBackground('a');
    await failing.catch(() => undefined);
    expect(begun).to.deep.equal(['1']);
    first();
    await turn();
    expect(begun).to.deep.equal(['1', 'a']);
    await openings.asked(collectionOf('p'), () => Promise.reject(new Error('again'))).catch(() => undefined);
    openInBackground('b');
    await turn();
    expect(begun).to.deep.equal(['1', 'a', 'b']);
  });

  it('begin for a suspect collection when no other runs, and others wait for their end', async () => {
    const suspect = trustingOpenings({ isSuspect: async (id) => id === 2 });
    const openNoted = (id: number): (() => void) => {
      const { work, end } = opening(String(id));
      void suspect.noted(id, work);
      return end;
    };
    const ends = [1, 2, 3].map(openNoted);
    await turn();
    expect(begun).to.deep.equal(['1', '3']);
    ends[0]!();
    ends[2]!();
    await turn();
    expect(begun).to.deep.equal(['1', '3', '2']);
    openNoted(4);
    await turn();
    expect(begun).to.have.length(3);
    ends[1]!();
    await turn();
    expect(begun).to.deep.equal(['1', '3', '2', '4']);
  });

  it('fail for a quarantined collection with the reason, and write no note', async () => {
    const notes: number[] = [];
    const quarantined = trustingOpenings({
      quarantineOf: () => 'its opening stopped a shard',
      begin: async (id) => void notes.push(id),
    });
    const error = await rejection(quarantined.noted(1, async () => begun.push('1')));
    expect(error).to.be.instanceOf(Damaged);
    expect(error).to.include({ part: 'opening', message: 'its opening stopped a shard' });
    expect([...begun, ...notes]).to.deep.equal([]);
  });

  it('leave a suspect collection suspect if the lease expired during them', async () => {
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

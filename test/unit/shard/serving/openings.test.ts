/** In which order a shard opens collections. */
import { expect } from 'chai';
import { Openings } from '../../../../shard/serving/openings.js';
import { gate } from '../../../support/suites/expectations.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('openings', () => {
  const begun: string[] = [];
  let openings: Openings;
  beforeEach(() => {
    begun.length = 0;
    openings = new Openings();
  });
  /** Ends with the returned function; a number that is asked for, a letter in the background. */
  const open = (name: string): (() => void) => {
    const { opened, open: end } = gate();
    const work = (): Promise<void> => {
      begun.push(name);
      return opened;
    };
    void (/\d/.test(name) ? openings.asked(work) : openings.inBackground(work));
    return end;
  };

  it('that somebody waits for begin at once, however many there are', async () => {
    open('a');
    open('b');
    for (const name of ['1', '2', '3', '4']) open(name);
    await turn();
    expect(begun.sort()).to.deep.equal(['1', '2', '3', '4', 'a', 'b']);
  });

  it('in the background begin two at a time, in order', async () => {
    const ends = ['a', 'b', 'c', 'd'].map(open);
    await turn();
    expect(begun).to.deep.equal(['a', 'b']);
    ends[1]!();
    await turn();
    expect(begun).to.deep.equal(['a', 'b', 'c']);
  });

  it('in the background wait while somebody waits for another, also where that fails', async () => {
    const first = open('1');
    const failing = openings.asked(async () => {
      await turn();
      throw new Error('its log cannot be read');
    });
    open('a');
    await failing.catch(() => undefined);
    expect(begun).to.deep.equal(['1']);
    first();
    await turn();
    expect(begun).to.deep.equal(['1', 'a']);
    await openings.asked(() => Promise.reject(new Error('again'))).catch(() => undefined);
    open('b');
    await turn();
    expect(begun).to.deep.equal(['1', 'a', 'b']);
  });
});

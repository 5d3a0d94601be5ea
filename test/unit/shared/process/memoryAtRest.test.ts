import { expect } from 'chai';
import { eventually } from '../../../support/expectations.js';
import { launchNode } from '../../../support/launch/process.js';

const MODULE = new URL('../../../../shared/process/memoryAtRest.js', import.meta.url).href;
/** A process of its own is idle after its burst, and its objects are few, unlike those of a test run. */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { setTimeout as delay } from 'node:timers/promises';
  import { releaseMemoryAtRest } from '${MODULE}';
  // Bytes that this process has reserved for young objects.
  const young = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').physical_space_size;
  // Makes many short-lived objects.
  const burst = () => {
    let kept = [];
    for (let round = 0; round < 40; round++)
      kept = [...Array.from({ length: 20_000 }, (_, i) => ({ round, i })), ...kept.slice(0, 20_000)];
    console.log('kept', kept.length, 'young', young());
  };
  burst();
  const first = young();
  releaseMemoryAtRest(500);
  while (young() >= first / 2) await delay(50);
  console.log('released', young());
  burst();
  setInterval(() => console.log('now', young()), 250);`;

describe('released memory', () => {
  it('goes back to the system once the process is idle after its start, and after each burst', async () => {
    const child = launchNode('--input-type=module', ['-e', PROGRAM]);
    const bytes = (word: string): number[] =>
      child.lines.flatMap((line) => (line.includes(`${word} `) ? [Number(line.split(' ').at(-1))] : []));
    try {
      await eventually('the second burst is over', () => bytes('young').length === 2);
      const [first, second] = bytes('young') as [number, number];
      expect(bytes('released')[0]).to.be.below(first / 2);
      await eventually('the memory of the second burst is released', () => bytes('now').at(-1)! < second / 2);
    } finally {
      await child.stop();
    }
  });
});

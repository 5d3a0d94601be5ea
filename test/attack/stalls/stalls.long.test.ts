/**
 * Sends every endpoint its worst inputs, and measures how long each blocks the event loop of a process or a worker. The
 * table is `bench/stalls/table.ts`. `VOUCH_STALLS_SHOW=1` prints every ratio, `VOUCH_STALLS_PROFILE=1` also the time
 * per frame. `VOUCH_STALLS_DEPTH=4` prepares larger collections.
 */
import { expect } from 'chai';
import type { WorstInput } from '../../../bench/stalls/row.js';
import { FOLLOWER_INPUTS, TOGETHER, WORST_INPUTS } from '../../../bench/stalls/table.js';
import type { Mode } from '../../support/launch/service.js';
import { seededRandom, testSeed } from '../../support/model/random.js';
import { skip } from '../../support/skip.js';
import { AttackedService } from './attackedService.js';
import { type LongestTurn, whyNoTurns } from './stallWatch.js';

/** Limits in units of the reference work: 1 is 50 ms. */
const LOOP_MAX = 1;
const WORKER_MAX = 20;
/** Threads for which only other builds wait. */
const BUILDERS = ['buildWorker', 'linkWorker'];
/** The deadline of a request may pass. */
const UNAVAILABLE = 503;
const SHOWN = process.env.VOUCH_STALLS_SHOW !== undefined || process.env.VOUCH_STALLS_PROFILE !== undefined;
const SHOWN_RATIO = 0.3;

const limitOf = ({ thread, isWorker }: LongestTurn): number =>
  BUILDERS.includes(thread) ? Number.POSITIVE_INFINITY : isWorker ? WORKER_MAX : LOOP_MAX;

const lineOf = ({ thread, ratio, turnMs, pausesMs, frames }: LongestTurn): string =>
  [
    `${thread}: ${ratio.toFixed(2)} of the reference, ${turnMs.toFixed(0)} ms of CPU; garbage ${pausesMs.toFixed(0)} ms`,
    ...(ratio > SHOWN_RATIO ? frames : []),
  ].join('\n          ');

/** 0 or 1: a standalone node gets the inputs of an endpoint with even or with odd indexes. */
const drawn = seededRandom(testSeed()).int(2);

/**
 * Whether an input is measured. One that the coordinator refuses is measured standalone, every other one in a cluster. Half of
 * those, and the only input of an endpoint, are measured standalone too.
 */
const isMeasured = (mode: Mode, { reaches }: WorstInput, index: number, count: number): boolean =>
  mode === 'standalone' ? reaches === 'coordinator' || count === 1 || index % 2 === drawn : reaches !== 'coordinator';

const RUNS = [
  { what: 'the worst input of an endpoint (cluster)', mode: 'cluster', inputs: WORST_INPUTS },
  { what: 'the worst input of an endpoint (standalone)', mode: 'standalone', inputs: WORST_INPUTS },
  { what: 'many of the worst inputs (cluster)', mode: 'cluster', inputs: TOGETHER },
  { what: 'many of the worst inputs (standalone)', mode: 'standalone', inputs: TOGETHER },
  { what: 'the worst input of a follower (cluster)', mode: 'cluster', inputs: FOLLOWER_INPUTS, followed: true },
] as const;

for (const { what, mode, inputs, ...options } of RUNS) {
  describe(what, () => {
    let attacked: AttackedService | undefined;

    before(function () {
      const reason = whyNoTurns();
      if (reason !== undefined) skip(this, reason);
    });
    after(() => attacked?.stop());
    afterEach(async function () {
      if (this.currentTest?.state !== 'failed') return attacked?.stage.clean();
      // A stalled service may stall again.
      await attacked?.kill();
      attacked = undefined;
    });

    for (const [endpoint, row] of Object.entries(inputs))
      if (!('small' in row))
        for (const worst of row.filter((input, i) => isMeasured(mode, input, i, row.length)))
          describe(`${endpoint}: ${worst.input}`, () => {
            it('blocks no event loop for more than 50 ms, and no worker for more than a second', () =>
              assertNoStall(worst));
          });

    async function assertNoStall({ prepare, statuses = [200] }: WorstInput): Promise<void> {
      attacked ??= await AttackedService.start(mode, options);
      const { answers, turns } = await attacked.measure(await prepare(attacked.stage));
      if (SHOWN) console.log(turns.map((turn) => `        ${lineOf(turn)}`).join('\n'));
      expect(turns.length).to.be.at.least(mode === 'cluster' ? 2 : 1);
      expect(turns.filter((turn) => turn.ratio > limitOf(turn)).map(lineOf)).to.deep.equal([]);
      const unexpected = answers.filter(({ status }) => ![...statuses, UNAVAILABLE].includes(status));
      expect(unexpected.map(({ status, bytes }) => `${status} ${bytes.toString('utf8', 0, 300)}`)).to.deep.equal([]);
    }
  });
}

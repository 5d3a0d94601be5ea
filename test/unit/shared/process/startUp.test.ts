/** A starting process waits for a cluster that is still starting, logs it, and fails at once for permanent errors. */
import { expect } from 'chai';
import type { Clock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import type { Logger } from '../../../../shared/logger.js';
import { whenAvailable } from '../../../../shared/process/startUp.js';
import { rejection } from '../../../support/expectations.js';

describe('the start-up', () => {
  let nowMs: number;
  let lines: string[];
  const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const logger = { info: (_: object, line: string) => lines.push(line) } as unknown as Logger;
  beforeEach(() => {
    nowMs = 1_000;
    lines = [];
  });

  it('retries while a part is unavailable, and logs now and then what it waits for', async () => {
    let attempts = 0;
    const attempt = async (): Promise<string> => {
      nowMs += 2_000;
      if (++attempts < 4) throw unavailable('NATS did not answer in time');
      return 'open';
    };
    expect(await whenAvailable('the catalog', attempt, { clock, logger })).to.equal('open');
    expect(attempts).to.equal(4);
    expect(lines).to.deep.equal(['waiting for the catalog']);
  });

  it('fails after its time limit, with the last failure', async () => {
    const attempt = async (): Promise<never> => {
      nowMs += 600;
      throw unavailable(`at ${nowMs}`);
    };
    const error = await rejection(whenAvailable('the catalog', attempt, { clock, logger }, { withinMs: 1_000 }));
    expect(error.message).to.equal('at 2200');
  });

  it('fails at once for another reason', async () => {
    const wrong = async (): Promise<never> => {
      throw new Error('the stream exists with other settings');
    };
    expect((await rejection(whenAvailable('the logs', wrong, { clock, logger }))).message).to.contain('other settings');
    const never = async (): Promise<never> => {
      throw unavailable('one server is not three');
    };
    await rejection(whenAvailable('the logs', never, { clock, logger }, { isWaiting: () => false }));
    expect(lines).to.deep.equal([]);
  });
});

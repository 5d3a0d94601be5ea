// Covers: config/settings.ts, config/load.ts, config/config.ts
/** The bounds of every setting that is a duration: a timer can wait for it. */
import { expect } from 'chai';
import { type Config, DURATION_MAX_MS } from '../../../config/config.js';
import { ConfigError, type ConfigOverrides, loadConfig } from '../../../config/load.js';
import { SETTINGS } from '../../../config/settings.js';

/** Longest timer of Node; a longer one runs after 1 ms. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Names of settings that are durations, or sound like one. */
const TIME = /(?:Ms|Secs?|Seconds|Minutes|Hours|Days)$/;
const LIKE_A_TIME = /every|timeout|interval|wait|delay|age|after|period|expire|ttl|heartbeat|lease|deadline|drain/i;
/** Units of settings that sound like a duration and are not one. */
const OTHER_UNIT = /Bytes$/;

const paths = Object.keys(SETTINGS);
const times = paths.filter((path) => TIME.test(path));

const overrideOf = (path: string, value: number): ConfigOverrides =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as ConfigOverrides;

const valueAt = (config: Config, path: string): unknown =>
  path.split('.').reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], config);

describe('the durations among the settings', () => {
  it('have a unit in their name', () => {
    expect(
      paths.filter((path) => LIKE_A_TIME.test(path.split('.').at(-1)!) && !TIME.test(path) && !OTHER_UNIT.test(path)),
    ).to.deep.equal([]);
    expect(times).to.include.members([
      'serviceLog.everyMs',
      'limits.deadlineMs',
      'placement.leaseMs',
      'followers.staleMs',
    ]);
  });

  it('are all in milliseconds', () => {
    expect(times.filter((path) => !path.endsWith('Ms'))).to.deep.equal([]);
  });

  for (const path of times) {
    const { variable } = SETTINGS[path as keyof typeof SETTINGS];
    it(`${path} is at most 7 days, from a file, a caller and ${variable}`, () => {
      for (const ms of [DURATION_MAX_MS + 1, TIMER_MAX_MS, TIMER_MAX_MS + 1, 2 ** 32 - 1]) {
        const allowed = new RegExp(` is ${ms}; allowed is a whole number from 1 to ${DURATION_MAX_MS}`);
        expect(() => loadConfig({ [variable]: String(ms) })).to.throw(ConfigError, allowed);
        expect(() => loadConfig({}, overrideOf(path, ms))).to.throw(ConfigError, allowed);
      }
    });
  }

  it('accept their maximum, three of which fit one timer', () => {
    const longest = times.filter((path) => !path.startsWith('placement.'));
    const env = Object.fromEntries(
      longest.map((path) => [SETTINGS[path as keyof typeof SETTINGS].variable, String(DURATION_MAX_MS)]),
    );
    const config = loadConfig(env);
    for (const path of longest) expect(valueAt(config, path), path).to.equal(DURATION_MAX_MS);
    expect(3 * DURATION_MAX_MS).to.be.at.most(TIMER_MAX_MS);
  });
});

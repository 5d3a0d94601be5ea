/** Which engine serves HTTP in the services of tests: tests of both modes go over both engines. */
import type { Config } from '../../../config/config.js';
import { loadUws } from '../../../coordinator/http/engine/uwsEngine.js';
import { messageOf } from '../../../shared/errors/errors.js';

export type Mode = 'cluster' | 'standalone';
export type EngineName = Exclude<Config['http']['engine'], 'auto'>;

let tried: Promise<string | undefined> | undefined;

/** The reason why uWebSockets.js does not run here, which is true of the services as well; undefined where it runs. */
export const whyNoUws = (): Promise<string | undefined> => {
  tried ??= loadUws().then(
    () => undefined,
    (error: unknown) => `no binary of uWebSockets.js runs here: ${messageOf(error)}`,
  );
  return tried;
};

/** For clusters uWebSockets.js wherever it runs: asked for by name, so that nothing else can serve in its place. */
export const usualEngine = async (mode: Mode): Promise<EngineName> =>
  mode === 'cluster' && (await whyNoUws()) === undefined ? 'uws' : 'node';

/** The other one, where both run. */
export const OTHER_ENGINE: Readonly<Record<Mode, EngineName>> = { cluster: 'node', standalone: 'uws' };

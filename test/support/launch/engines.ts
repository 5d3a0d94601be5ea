/** Chooses the HTTP engine of services in tests; tests of each mode run over both engines. */
import type { Config } from '../../../config/config.js';
import { loadUws } from '../../../coordinator/http/engine/uwsEngine.js';
import { messageOf } from '../../../shared/errors/errors.js';

export type Mode = 'cluster' | 'standalone';
export type EngineName = Exclude<Config['http']['engine'], 'auto'>;

let tried: Promise<string | undefined> | undefined;

/** Reason why uWebSockets.js does not run here, or in the services; undefined if it runs. */
export const whyNoUws = (): Promise<string | undefined> => {
  tried ??= loadUws().then(
    () => undefined,
    (error: unknown) => `no binary of uWebSockets.js runs here: ${messageOf(error)}`,
  );
  return tried;
};

/** Clusters use uWebSockets.js wherever it runs: the setting names it, so that no other engine can replace it. */
export const usualEngine = async (mode: Mode): Promise<EngineName> =>
  mode === 'cluster' && (await whyNoUws()) === undefined ? 'uws' : 'node';

/** The other engine for each mode, if both run. */
export const OTHER_ENGINE: Readonly<Record<Mode, EngineName>> = { cluster: 'node', standalone: 'uws' };

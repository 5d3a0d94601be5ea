/** The choice of the HTTP engine. */
import type { Config } from '../../../config/config.js';
import { messageOf } from '../../../shared/errors/errors.js';
import type { Logger } from '../../../shared/logger.js';
import type { HttpEngine } from './engine.js';
import { nodeEngine } from './nodeEngine.js';
import { loadUws } from './uwsEngine.js';

/**
 * Returns the engine that the settings name, or the fastest that runs here; logs one line if that is Node's own. Throws an Error
 * of one line if the settings name uWebSockets.js and it does not load.
 */
export async function loadEngine(
  wanted: Config['http']['engine'],
  logger: Logger,
  load = loadUws,
): Promise<HttpEngine> {
  if (wanted !== 'node')
    try {
      return await load();
    } catch (error) {
      const reason = messageOf(error);
      if (wanted === 'uws') throw new Error(`uWebSockets.js has no binary that runs here: ${reason}`);
      logger.warn({ reason }, 'uWebSockets.js has no binary that runs here: Node itself serves HTTP, which is slower');
    }
  return nodeEngine;
}

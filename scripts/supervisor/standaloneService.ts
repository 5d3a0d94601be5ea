/** Everything in this one process: coordinator, one shard, and the data in files. */
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import type { Config } from '../../config/config.js';
import { printableConfig } from '../../config/load.js';
import { runCoordinator } from '../../coordinator/main.js';
import { runShard } from '../../shard/main.js';
import { publicSigningKey } from '../../shard/proof/signer.js';
import { makeDirectory } from '../../shared/durable.js';
import { serializers } from '../../shared/logger.js';
import { BUCKETS, type Platform } from '../../shared/platform.js';
import { openStandalone } from '../../shared/standalonePlatform.js';
import { say } from '../terminal/line.js';
import { step } from '../terminal/step.js';
import { AlarmBell, alarmOf } from './childLog.js';
import { makeFirstKey } from './firstKey.js';
import { waitUntilHealthy } from './health.js';
import { LogFile } from './logFile.js';
import { OpeningsShown } from './openingsShown.js';
import { assertHome, assertWritable, freePort } from './preflight.js';
import { removeRuntime, writeRuntime } from './runtimeFile.js';
import type { Service } from './service.js';
import type { Welcome } from './welcome.js';

const HEALTHY_WITHIN_MS = 30_000;

interface Part {
  stop(): Promise<void>;
}

export class StandaloneService implements Service {
  readonly #config: Config;
  /** Stopped in reverse order. */
  readonly #parts: Part[] = [];
  #stopping: Promise<void> | undefined;

  constructor(config: Config) {
    this.#config = config;
  }

  async start(signal: AbortSignal): Promise<Welcome> {
    const { dataDir, http } = this.#config;
    await assertWritable(dataDir);
    await assertHome(dataDir, 'standalone');
    const { logger, openFile, openings } = terminalLogger(this.#config.logLevel);
    this.#parts.push({ stop: async () => openings.clear() });
    const platform = await openStandalone({ dataDir, logger });
    this.#parts.push({ stop: () => platform.close() });
    const port = await freePort(http.host, http.port);
    const config: Config = { ...this.#config, http: { ...http, port } };
    logger.debug({ config: printableConfig(config) }, 'configuration');
    // Only who has the folder's lock may write to its log.
    const log = await openFile(join(dataDir, 'logs'));
    this.#parts.unshift({ stop: () => log.close() });
    const url = await step('service', 'starting', () => this.#serve(config, platform, logger, signal));
    const newKey = await makeFirstKey(await platform.bucket(BUCKETS.keys), dataDir);
    await writeRuntime(dataDir, { mode: 'standalone', pid: process.pid, url, natsUrl: null, processes: {} });
    this.#parts.push({ stop: async () => void (await removeRuntime(dataDir)) });
    return { url, dataDir, newKey, signingKey: await publicSigningKey(config.signingKeyFile) };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** All of it is this process, which ends next. */
  kill(): void {}

  async #serve(config: Config, platform: Platform, logger: Logger, signal: AbortSignal) {
    const shard = await runShard({ config, name: 's1', platform, logger });
    this.#parts.push(shard);
    const coordinator = await runCoordinator({ config, platform, logger });
    this.#parts.push(coordinator);
    await waitUntilHealthy(coordinator.url, HEALTHY_WITHIN_MS, signal);
    return { value: coordinator.url, text: 'ready' };
  }

  async #stopAll(): Promise<void> {
    for (const part of [...this.#parts].reverse()) await part.stop();
  }
}

/**
 * Lines go to a file of the data folder as soon as there is one; warnings and errors to the terminal as well, and how far
 * openings that take long have come.
 */
function terminalLogger(level: string) {
  let file: LogFile | undefined;
  const early: string[] = [];
  const bell = new AlarmBell();
  const openings = new OpeningsShown();
  const write = (text: string): void => {
    const line = text.trimEnd();
    const alarm = alarmOf(line);
    if (alarm !== undefined && bell.rings('service', alarm)) say('warning', 'service', alarm);
    openings.see('service', line);
    if (file) file.write(line);
    else early.push(line);
  };
  const openFile = async (folder: string): Promise<LogFile> => {
    await makeDirectory(folder);
    file = await LogFile.open(join(folder, 'service.log'));
    for (const line of early) file.write(line);
    return file;
  };
  const base = { component: 'service', pid: process.pid };
  const options = { level, base, timestamp: pino.stdTimeFunctions.isoTime, serializers };
  return { logger: pino(options, { write }), openFile, openings };
}

/** The whole service in this process: coordinator, one shard, and the data in files. */
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import type { Config } from '../../../config/config.js';
import { printableConfig } from '../../../config/load.js';
import { runCoordinator } from '../../../coordinator/coordinator.js';
import { runShard } from '../../../shard/shard.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { makeDirectory } from '../../../shared/files/durable.js';
import { serializers } from '../../../shared/logger.js';
import type { Platform } from '../../../shared/platform/platform.js';
import { openStandalone } from '../../../shared/platform/standalonePlatform.js';
import { watchStalls } from '../../../shared/process/stalls.js';
import { openSigner, publicSigningKey } from '../../../shared/signing/signer.js';
import { say } from '../../terminal/line.js';
import { step } from '../../terminal/step.js';
import { AlarmBell, alarmOf } from './childLog.js';
import { LogFile } from './logFile.js';
import { OpeningsShown } from './openingsShown.js';
import { assertHome, assertWritable, freePort } from './preflight.js';
import { waitUntilHealthy } from './ready.js';
import { removeRuntime, writeRuntime } from './runtimeFile.js';
import type { Service } from './service.js';
import { makeFirstKey, type Welcome } from './welcome.js';

export class StandaloneService implements Service {
  /** Functions that stop the started parts; called in reverse order. */
  readonly #stops: (() => unknown)[] = [];
  #stopping: Promise<void> | undefined;

  constructor(readonly config: Config) {}

  async start(signal: AbortSignal): Promise<Welcome> {
    const { dataDir, http, signingKeyFile } = this.config;
    await assertWritable(dataDir);
    await assertHome(dataDir, 'standalone');
    const { logger, openFile, openings } = terminalLogger(this.config.logLevel);
    this.#stops.push(() => openings.clear(), watchStalls(logger));
    const platform = await openStandalone({ dataDir, logger });
    this.#stops.push(() => platform.close());
    const port = await freePort(http.host, http.port);
    const config: Config = { ...this.config, http: { ...http, port } };
    logger.debug({ config: printableConfig(config) }, 'configuration');
    // The log may be written once the folder is locked.
    const log = await openFile(join(dataDir, 'logs'));
    this.#stops.unshift(() => log.close());
    const url = await step('service', 'starting', () => this.#serve(config, platform, logger, signal));
    const newKey = await makeFirstKey(await platform.bucket(BUCKETS.keys), dataDir);
    await writeRuntime(dataDir, { mode: 'standalone', pid: process.pid, url, natsUrl: null, processes: {} });
    this.#stops.push(() => removeRuntime(dataDir));
    return { url, dataDir, newKey, signingKey: await publicSigningKey(signingKeyFile) };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** Does nothing, since this process ends next. */
  kill(): void {}

  async #serve(config: Config, platform: Platform, logger: Logger, signal: AbortSignal) {
    await openSigner(config.serviceLog.keyFile);
    const shard = await runShard({ config, name: 's1', platform, logger });
    this.#stops.push(() => shard.stop());
    const coordinator = await runCoordinator({ config, platform, logger });
    this.#stops.push(() => coordinator.stop());
    await waitUntilHealthy(coordinator.url, signal);
    return { value: coordinator.url, text: 'ready' };
  }

  async #stopAll(): Promise<void> {
    for (const stop of [...this.#stops].reverse()) await stop();
  }
}

/**
 * Makes a logger that writes to a file of the data folder, once that is open. It shows warnings, errors and slow openings on the
 * terminal.
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

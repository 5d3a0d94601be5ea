/** Program of a standalone node whose files are swept: what `npm run standalone` starts, with small log files. */
import { loadConfig } from '../../../../config/load.js';
import { runCoordinator } from '../../../../coordinator/coordinator.js';
import { runShard } from '../../../../shard/shard.js';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../../../shared/clock.js';
import { makeLogger } from '../../../../shared/logger.js';
import { openStandalone } from '../../../../shared/platform/standalonePlatform.js';
import { createKey } from '../../../../shared/registry/keys.js';
import { openSigner } from '../../../../shared/signing/signer.js';

export interface Served {
  readonly url: string;
  readonly key: string;
}

const config = loadConfig(process.env);
const logger = makeLogger('service', config.logLevel);
const segmentBytes = process.env.SEGMENT_BYTES === undefined ? undefined : Number(process.env.SEGMENT_BYTES);
const platform = await openStandalone({ dataDir: config.dataDir, logger, segmentBytes });
await openSigner(config.serviceLog.keyFile);
await runShard({ config, name: 's1', platform, logger });
const { url } = await runCoordinator({ config, platform, logger });
const wanted = { project: 'swept', scope: 'read_write' } as const;
const { key } = await createKey(await platform.bucket(BUCKETS.keys), wanted, systemClock, systemEntropy);
const served: Served = { url, key };
process.send!(served);

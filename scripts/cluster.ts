/** `npm run cluster`: a whole cluster on this machine, NATS servers, coordinators and shards, with a live view of it. */
import type { Config } from '../config/config.js';
import { loadConfigOrExit } from '../config/load.js';
import { systemClock } from '../shared/clock.js';
import { ClusterShow } from './cluster/clusterShow.js';
import { type ClusterRequest, HELP, parseRequest } from './cluster/request.js';
import { replicasFor } from './natsServer/clusterPlan.js';
import { ClusterService } from './supervisor/clusterService.js';
import { clusterFolder } from './supervisor/runtimeFile.js';
import { runService } from './supervisor/service.js';
import { UsageError } from './terminal/commandLine.js';
import { say } from './terminal/line.js';

const EXIT_USAGE = 2;

try {
  const request = parseRequest(process.argv.slice(2));
  if (request === 'help') process.stdout.write(`${HELP}\n`);
  else await run(request);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  say('failed', 'cluster', error.message);
  process.exitCode = EXIT_USAGE;
}

async function run(request: ClusterRequest): Promise<void> {
  const { coordinators, shards, restartAfterMs, plain } = request;
  const config = configFor(request);
  const drawsView = !plain && process.stdout.isTTY === true;
  const size = { servers: request.servers, coordinators, shards };
  const service = new ClusterService(config, process.env, {
    size,
    restartAfterMs,
    monitorsServers: true,
    tell: (...said) => show.tell(...said),
  });
  const show = new ClusterShow({ watched: service, config, clock: systemClock, drawsView });
  await runService(service, show);
}

function configFor({ servers, shards, replicas, port, dataDir }: ClusterRequest): Config {
  const given = loadConfigOrExit(process.env, { mode: 'cluster' });
  if (given.nats.url !== null)
    throw new UsageError('NATS servers are configured (nats.url, VOUCH_NATS_URL), and this command starts its own');
  const wanted = replicas ?? (given.nats.replicas > 1 ? given.nats.replicas : replicasFor(servers));
  if (wanted > servers)
    throw new UsageError(
      `${wanted} replicas are configured; ${servers} NATS server${servers === 1 ? '' : 's'} can hold ${servers}`,
    );
  const isDefault = !process.env.VOUCH_DATA_DIR && !process.env.VOUCH_CONFIG;
  return loadConfigOrExit(process.env, {
    mode: 'cluster',
    shards,
    dataDir: dataDir ?? (isDefault ? clusterFolder(given.dataDir) : given.dataDir),
    nats: { replicas: wanted },
    ...(port === undefined ? {} : { http: { port } }),
  });
}

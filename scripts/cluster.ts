/** `npm run cluster`: a whole cluster on this machine, NATS servers, coordinators and shards, with a live view of it. */
import type { Config } from '../config/config.js';
import { loadConfigOrExit } from '../config/load.js';
import { ClusterShow } from './local/clusterView/clusterShow.js';
import { CLUSTER_USAGE, type ClusterRequest, parseClusterRequest } from './local/clusterView/request.js';
import { replicasFor } from './local/natsServer/serverPlan.js';
import { ClusterService } from './local/supervisor/clusterService.js';
import { clusterFolder } from './local/supervisor/runtimeFile.js';
import { runService } from './local/supervisor/service.js';
import { runCommand, UsageError } from './terminal/commandLine.js';
import { counted } from './terminal/line.js';

await runCommand({ name: 'cluster', usage: CLUSTER_USAGE }, async (args) => {
  const request = parseClusterRequest(args);
  const { servers, coordinators, shards, restartAfterMs, plain } = request;
  const config = configFor(request);
  const drawsView = !plain && process.stdout.isTTY === true;
  const service = new ClusterService(config, process.env, {
    size: { servers, coordinators, shards },
    restartAfterMs,
    isWatched: true,
    report: (...line) => show.report(...line),
  });
  const show = new ClusterShow(service, config, drawsView);
  await runService(service, show);
});

function configFor({ servers, shards, replicas, port, dataDir }: ClusterRequest): Config {
  const given = loadConfigOrExit(process.env, { mode: 'cluster' });
  if (given.nats.url !== null)
    throw new UsageError('NATS servers are configured (nats.url, VOUCH_NATS_URL), and this command starts its own');
  const wanted = replicas ?? (given.nats.replicas > 1 ? given.nats.replicas : replicasFor(servers));
  if (wanted > servers)
    throw new UsageError(
      `${counted(wanted, 'replica is', 'replicas are')} configured; ${counted(servers, 'NATS server')} can hold ${servers}`,
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

/** The endpoint that shows the cluster. */
import type { PlacedState, ShardState } from '../cluster/reports/clusterView.js';
import type { ClusterResponse, PlacedCollection, ShardStatus } from '../contract/cluster.js';
import type { HandlerRequest } from '../http/handlerRequest.js';
import { json, type Reply } from '../http/reply.js';
import { adminReadRoute, type Route } from '../http/route.js';

export const CLUSTER_ROUTES: readonly Route[] = [
  adminReadRoute('GET /v1/cluster', {
    summary: "The cluster, and where the project's collections are",
    answers: 'ClusterResponse',
    handle: (request) => request.shared('cluster', () => clusterReply(request)),
  }),
];

async function clusterReply({ caller, services: { backend }, envelope }: HandlerRequest): Promise<Reply> {
  const { shards, collections, leases, coordinators, nats } = await backend.cluster(caller.project, envelope);
  return json<ClusterResponse>({
    mode: backend.mode,
    shards: shards.map(shardStatus),
    collections: collections.map(placedCollection),
    leases: [...leases],
    coordinators: coordinators.map(({ uptimeSecs, ...shown }) => ({ ...shown, uptime_secs: uptimeSecs })),
    nats: [...nats],
  });
}

const shardStatus = ({ name, state, collections, records, full, status }: ShardState): ShardStatus => ({
  ...{ name, state, collections, records },
  ...(full.length === 0 ? {} : { full: [...full] }),
  ...(status && {
    version: status.version,
    host: status.host,
    uptime_secs: status.uptimeSecs,
    memory_bytes: status.memoryBytes,
    memory_limit_bytes: status.memoryLimitBytes,
    calls: status.calls,
  }),
});

const placedCollection = ({
  collection: { name, id, sequence, records },
  owner,
  followers,
  epoch,
  movingTo,
  damages,
}: PlacedState): PlacedCollection => ({
  ...{ name, id, owner: owner ?? null, followers: [...followers], epoch, sequence, records },
  ...(movingTo === undefined ? {} : { moving: movingTo }),
  ...(damages.length === 0 ? {} : { damaged: damages.map(({ part, reason }) => ({ part, reason })) }),
});

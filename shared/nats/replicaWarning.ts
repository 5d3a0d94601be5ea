/** Warns of streams with other replicas than configured, which are kept as they are. */
import type { ClusterConnection } from './natsConnection.js';

/** Connections that were warned of more replicas, which most streams of a cluster then have. */
const told = new WeakSet<ClusterConnection>();

export function tellOfReplicas(connection: ClusterConnection, stream: string, replicas: number, wanted: number): void {
  if (replicas === wanted || (replicas > wanted && told.has(connection))) return;
  if (replicas > wanted) told.add(connection);
  connection.logger.warn(
    { stream, replicas, wanted },
    replicas < wanted
      ? `the stream has fewer replicas than configured; change it with: nats stream edit ${stream} --replicas ${wanted}`
      : `VOUCH_REPLICAS is ${wanted} here, and was ${replicas} where the cluster was made; set it to ${replicas}`,
  );
}

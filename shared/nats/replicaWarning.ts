/** Warns of streams whose number of replicas differs from the configured one; they are not changed. */
import type { ClusterConnection } from './natsConnection.js';

/** Connections whose log has the warning of more replicas, which most streams of a cluster then have. */
const warned = new WeakSet<ClusterConnection>();

export function warnOfReplicas(connection: ClusterConnection, stream: string, replicas: number, wanted: number): void {
  if (replicas === wanted || (replicas > wanted && warned.has(connection))) return;
  if (replicas > wanted) warned.add(connection);
  connection.logger.warn(
    { stream, replicas, wanted },
    replicas < wanted
      ? `the stream has fewer replicas than configured; change it with: nats stream edit ${stream} --replicas ${wanted}`
      : `VOUCH_REPLICAS is ${wanted} here, and was ${replicas} where the cluster was made; set it to ${replicas}`,
  );
}

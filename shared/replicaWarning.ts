/** Streams with other replicas than this process is configured with: kept as they are, and told of. */
import type { ClusterConnection } from './natsConnection.js';

interface FoundReplicas {
  readonly stream: string;
  readonly replicas: number;
  readonly wanted: number;
}

/** Most streams of a cluster have as many as the cluster was made with: a process that was configured otherwise says it once. */
const told = new WeakSet<ClusterConnection>();

export function tellOfReplicas(connection: ClusterConnection, { stream, replicas, wanted }: FoundReplicas): void {
  const { logger } = connection;
  if (replicas === wanted) return;
  if (replicas < wanted) {
    const remedy = `nats stream edit ${stream} --replicas ${wanted}`;
    logger.warn(
      { stream, replicas, wanted },
      `the stream has fewer replicas than configured; change it with: ${remedy}`,
    );
    return;
  }
  if (told.has(connection)) return;
  told.add(connection);
  logger.warn(
    { stream, replicas, wanted },
    `VOUCH_REPLICAS is ${wanted} here, and was ${replicas} where the cluster was made; set it to ${replicas}`,
  );
}

/**
 * The streams of the seals, each on exactly one server. JetStream places a stream by tags. If several NATS servers have the vault,
 * each needs a tag that is its own name (`server_tags` in its configuration).
 */
import type { Placement, StreamInfo } from 'nats';
import { unavailable } from '../errors/errors.js';
import { enforceDenials } from '../nats/denials.js';
import { LASTING } from '../nats/lastingStream.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM, leftToAdmin } from '../nats/natsError.js';
import { ALL_SEALS, sealStream, sealSubjects, VAULT_STREAM } from '../transport/subjects.js';
import { SealReplica, sealStreamInfo } from './sealReplica.js';
import { Seals } from './seals.js';

/** Deletions are allowed, since they erase; purges are denied, since they leave the bytes of messages. */
const DENIALS = { deny_delete: false, deny_purge: true };

/**
 * Opens the streams. `replicas`: the number of servers with the vault. Returns undefined if there are several servers and one has
 * no tag with its name. Keys are then not sealed. Throws `unavailable` if the streams cannot be made yet.
 */
export async function openSeals(connection: ClusterConnection, replicas: number): Promise<Seals | undefined> {
  const existing = await namesOfStreams(connection);
  // A vault that had more servers before has more streams.
  let wanted = replicas;
  while (existing.has(sealStream(wanted + 1))) wanted++;
  const numbers = Array.from({ length: wanted }, (_, index) => index + 1);
  const servers = await Promise.all(numbers.map((number) => holderOf(connection, number)));
  for (const [index, number] of numbers.entries()) {
    // Another process may have made the stream since the names were read.
    if (existing.has(sealStream(number)) || servers[index] !== undefined) continue;
    const server = await freeServer(connection, servers);
    const isMade = await makeStream(connection, number, server);
    // A single server needs no tag.
    if (!isMade && wanted === 1) await makeStream(connection, number, undefined);
    else if (!isMade) {
      connection.logger.error(
        { server },
        'vault keys cannot be erased immediately: each NATS server needs its own name in server_tags. Set it, restart that ' +
          'server, then restart this process',
      );
      return undefined;
    }
    servers[index] = await holderOf(connection, number);
  }
  warnOfSharing(connection, servers);
  return new Seals(numbers.map((number, index) => new SealReplica(connection, number, servers[index])));
}

/** Names from any server: each knows all streams, including those of servers that are away. */
function namesOfStreams(connection: ClusterConnection): Promise<ReadonlySet<string>> {
  return connection.call(async () => {
    const names = new Set<string>();
    for await (const name of connection.jsm.streams.names(ALL_SEALS)) names.add(name);
    return names;
  });
}

/** The server of the stream; undefined while it is away. Adds the denials that a stream of an earlier run lacks. */
async function holderOf(connection: ClusterConnection, number: number): Promise<string | undefined> {
  let info: Partial<StreamInfo>;
  try {
    info = await connection.call(() => sealStreamInfo(connection, number));
  } catch (error) {
    if (!connection.connected) throw error;
    return undefined;
  }
  if (info.config !== undefined) await enforceDenials(connection, info.config, DENIALS);
  return info.cluster?.leader;
}

/** A live server with the vault and without seals. Every process makes an equal choice. Undefined without a cluster. */
async function freeServer(
  connection: ClusterConnection,
  taken: readonly (string | undefined)[],
): Promise<string | undefined> {
  const { cluster } = await connection.call(() => connection.jsm.streams.info(VAULT_STREAM));
  if (cluster === undefined) return undefined;
  const followers = (cluster.replicas ?? []).filter(({ offline }) => !offline).map(({ name }) => name);
  const free = [cluster.leader, ...followers].filter((server) => server && !taken.includes(server)).sort()[0];
  if (!free) throw unavailable('not every NATS server of the vault is up yet; retry shortly');
  return free;
}

/** False if the server lacks its name among its tags. `server`: undefined for any. */
async function makeStream(connection: ClusterConnection, number: number, server: string | undefined): Promise<boolean> {
  const wanted = {
    name: sealStream(number),
    description: `Seals of the vault of Vouch, on ${server ?? 'one server'} alone`,
    subjects: [sealSubjects(number)],
    ...LASTING,
    num_replicas: 1,
    // The type demands a cluster's name, which the server does not need.
    ...(server === undefined ? {} : { placement: { tags: [server] } as Placement }),
    allow_direct: false,
    ...DENIALS,
  };
  try {
    await connection.call(() => connection.jsm.streams.add(wanted));
    return true;
  } catch (error) {
    // Another process made it first.
    if (isRefusal(error, JETSTREAM.streamNameInUse)) return true;
    if (isRefusal(error, JETSTREAM.noSuitablePeers)) return false;
    return leftToAdmin(`JetStream has no stream ${wanted.name}`)(error);
  }
}

function warnOfSharing({ logger }: ClusterConnection, servers: readonly (string | undefined)[]): void {
  const known = servers.filter((server) => server !== undefined);
  const shared = known.find((server, index) => known.indexOf(server) !== index);
  if (shared !== undefined)
    logger.error(
      { server: shared },
      'a NATS server holds the seals of the vault twice; see docs/operations/security.md#seals-on-several-nats-servers',
    );
}

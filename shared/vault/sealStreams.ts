/**
 * The streams that hold the seals: one a server, each on a server of its own and nowhere else. JetStream places a stream by
 * tags; so every NATS server that holds the vault has its own name among its tags (`server_tags` in its configuration).
 */
import type { Placement, StreamInfo } from 'nats';
import { unavailable } from '../errors.js';
import { LASTING } from '../lastingStream.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM } from '../natsError.js';
import { ALL_SEALS, sealStream, sealSubjects, VAULT_STREAM } from '../subjects.js';
import { SealPlace } from './sealPlace.js';
import { Seals } from './seals.js';

const ASK_MS = 1_000;

/**
 * `replicas`: how many servers hold the vault. Undefined where that is one and never was more, and where the servers have no
 * tags: then nothing is sealed. Throws `unavailable` where the streams cannot be made yet.
 */
export async function openSeals(connection: ClusterConnection, replicas: number): Promise<Seals | undefined> {
  const there = await namesOfStreams(connection);
  let wanted = replicas > 1 ? replicas : 0;
  while (there.has(sealStream(wanted + 1))) wanted++;
  const places = Array.from({ length: wanted }, (_, index) => index + 1);
  const holders = await Promise.all(places.map((place) => holderOf(connection, place)));
  const servers = new Map(places.map((place, index) => [place, holders[index]]));
  for (const place of places) {
    if (there.has(sealStream(place))) continue;
    const server = await freeServer(connection, [...servers.values()]);
    if (!(await makeStream(connection, place, server))) {
      tellOfTags(connection, server);
      return undefined;
    }
    servers.set(place, await holderOf(connection, place));
  }
  warnOfSharing(connection, [...servers.values()]);
  return wanted === 0
    ? undefined
    : new Seals(places.map((place) => new SealPlace(connection, place, servers.get(place))));
}

/** Any server knows them all, those too whose own server is away. */
function namesOfStreams(connection: ClusterConnection): Promise<ReadonlySet<string>> {
  return connection.call(async () => {
    const names = new Set<string>();
    for await (const name of connection.jsm.streams.names(ALL_SEALS)) names.add(name);
    return names;
  });
}

/** The server that has the stream; undefined where that is away. */
async function holderOf(connection: ClusterConnection, place: number): Promise<string | undefined> {
  const subject = `$JS.API.STREAM.INFO.${sealStream(place)}`;
  try {
    const answer = await connection.call(() => connection.nc.request(subject, '', { timeout: ASK_MS }));
    return answer.json<Partial<StreamInfo>>().cluster?.leader;
  } catch (error) {
    if (!connection.connected) throw error;
    return undefined;
  }
}

/** One that holds the vault and is there, and has no seals yet; every process comes to the same. */
async function freeServer(connection: ClusterConnection, taken: readonly (string | undefined)[]): Promise<string> {
  const { cluster } = await connection.call(() => connection.jsm.streams.info(VAULT_STREAM));
  const followers = (cluster?.replicas ?? []).filter(({ offline }) => !offline).map(({ name }) => name);
  const free = [cluster?.leader, ...followers].filter((server) => server && !taken.includes(server)).sort()[0];
  if (!free) throw unavailable('not every NATS server that is to hold the vault is there yet; retry shortly');
  return free;
}

/** False where the server has not its name among its tags. */
async function makeStream(connection: ClusterConnection, place: number, server: string): Promise<boolean> {
  const wanted = {
    name: sealStream(place),
    description: `Seals of the vault of Vouch, on ${server} alone`,
    subjects: [sealSubjects(place)],
    ...LASTING,
    num_replicas: 1,
    // In any cluster: the type asks for the name of one, the server does not.
    placement: { tags: [server] } as Placement,
    allow_direct: false,
    deny_delete: false,
    // A purge drops messages and leaves their bytes.
    deny_purge: true,
  };
  try {
    await connection.call(() => connection.jsm.streams.add(wanted));
    return true;
  } catch (error) {
    // Another process was quicker.
    if (isRefusal(error, JETSTREAM.streamNameInUse)) return true;
    if (isRefusal(error, JETSTREAM.noSuitablePeers)) return false;
    throw error;
  }
}

const tellOfTags = ({ logger }: ClusterConnection, server: string): void =>
  logger.error(
    { server },
    'vault keys cannot be erased at once: every NATS server needs its own name in server_tags; set that, restart it, ' +
      'and then this process',
  );

function warnOfSharing({ logger }: ClusterConnection, servers: readonly (string | undefined)[]): void {
  const known = servers.filter((server) => server !== undefined);
  const shared = known.find((server, index) => known.indexOf(server) !== index);
  if (shared !== undefined)
    logger.error({ server: shared }, 'a NATS server holds the seals of the vault twice; see the README on the vault');
}

/** What a NATS server's own page about JetStream (`/jsz?accounts=true&streams=true`) says, as far as the view shows it. */
import type { ServerState } from '../snapshot.js';

export const JETSTREAM_PAGE = '/jsz?accounts=true&streams=true';

export type ServerFigures = Pick<ServerState, 'leadsMeta' | 'logsLed' | 'othersLed' | 'storedBytes'>;

export const NO_SERVER_FIGURES: ServerFigures = { leadsMeta: false, logsLed: [], othersLed: 0, storedBytes: undefined };

/** As of server 2.9; what is missing in a server that runs alone is optional. */
interface JetStreamPage {
  readonly storage?: number;
  readonly meta_cluster?: { readonly leader?: string };
  readonly account_details?: readonly {
    readonly stream_detail?: readonly { readonly name: string; readonly cluster?: { readonly leader?: string } }[];
  }[];
}

const LOG = /^VOUCH_LOG_(\d+)$/;

/** `server`: its name in the cluster. A server that runs alone leads everything. */
export function serverFigures(server: string, page: unknown): ServerFigures {
  const { storage, meta_cluster: meta, account_details: accounts = [] } = page as JetStreamPage;
  const leads = (leader: string | undefined): boolean => meta === undefined || leader === server;
  const led = accounts
    .flatMap(({ stream_detail: streams = [] }) => streams)
    .filter(({ cluster }) => leads(cluster?.leader))
    .map(({ name }) => name);
  const logsLed = led.flatMap((name) => LOG.exec(name)?.[1] ?? []).sort((a, b) => Number(a) - Number(b));
  return { leadsMeta: leads(meta?.leader), logsLed, othersLed: led.length - logsLed.length, storedBytes: storage };
}

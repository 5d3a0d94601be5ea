/** Figures of a NATS server, from its page about JetStream. */

export const JETSTREAM_PAGE = '/jsz?accounts=true&streams=true';

export interface ServerFigures {
  /** Whether it leads the meta group of NATS. */
  readonly leadsMeta: boolean;
  /** Log streams that it leads. */
  readonly logsLed: readonly string[];
  /** The number of other streams and buckets that it leads. */
  readonly othersLed: number;
  /** Undefined while the server is down. */
  readonly storedBytes: number | undefined;
}

export const NO_SERVER_FIGURES: ServerFigures = { leadsMeta: false, logsLed: [], othersLed: 0, storedBytes: undefined };

/** The page since server 2.9. Fields that a lone server omits are optional. */
interface JetStreamPage {
  readonly storage?: number;
  readonly meta_cluster?: { readonly leader?: string };
  readonly account_details?: readonly {
    readonly stream_detail?: readonly { readonly name: string; readonly cluster?: { readonly leader?: string } }[];
  }[];
}

const LOG = /^VOUCH_LOG_(\d+)$/;

/** `server`: its name in the cluster. A lone server leads everything. */
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

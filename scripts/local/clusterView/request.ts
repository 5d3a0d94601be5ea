/** Reads the command line of `npm run cluster`. */
import { commandText, parseFlags, UsageError } from '../../terminal/commandLine.js';

/** The request; undefined fields keep their settings. `restartAfterMs` null: an ended process is not started again. */
export type ClusterRequest = ReturnType<typeof parseClusterRequest>;

export const CLUSTER_USAGE = `${commandText('cluster', '[flags]')}

Runs a whole cluster on this machine and shows it: NATS servers, coordinators that share one port, and shards.

  --nats N             NATS servers, 1, 3 or 5: a majority must be left when one dies   (default 3)
  --coordinators N     coordinators, 1 to 16, all on the same port                      (default 2)
  --shards N           shards, 1 to 64                                                  (default 4)
  --replicas N         copies of everything, at most one a NATS server                  (default 3 of three or more servers)
  --port N             port of the API, 0 for any free one                              (default VOUCH_PORT, 8080)
  --data-dir PATH      where everything is kept; a folder keeps its number of servers   (default VOUCH_DATA_DIR, data/cluster)
  --restart-after S    seconds until a process that ended is started again              (default 10)
  --no-restart         leave it dead
  --plain              lines instead of the view, as when the output is no terminal
  --help               this

Everything else is set as for ${commandText('start')}: VOUCH_CONFIG and the other variables. Keys in the view: q or Ctrl-C ends it all.`;

const OPTIONS = {
  nats: { type: 'string', default: '3' },
  coordinators: { type: 'string', default: '2' },
  shards: { type: 'string', default: '4' },
  replicas: { type: 'string' },
  port: { type: 'string' },
  'data-dir': { type: 'string' },
  'restart-after': { type: 'string', default: '10' },
  'no-restart': { type: 'boolean', default: false },
  plain: { type: 'boolean', default: false },
} as const;

const SERVER_COUNTS = [1, 3, 5];

/** Throws UsageError. */
export function parseClusterRequest(args: readonly string[]) {
  const { values } = parseFlags({ args: [...args], options: OPTIONS });
  const servers = whole('--nats', values.nats, 1, 5);
  if (!SERVER_COUNTS.includes(servers)) throw new UsageError(`--nats is ${servers}; allowed is 1, 3 or 5`);
  if (values['data-dir']?.trim() === '') throw new UsageError('--data-dir is empty; allowed is the path of a folder');
  return {
    servers,
    coordinators: whole('--coordinators', values.coordinators, 1, 16),
    shards: whole('--shards', values.shards, 1, 64),
    replicas: values.replicas === undefined ? undefined : whole('--replicas', values.replicas, 1, servers),
    port: values.port === undefined ? undefined : whole('--port', values.port, 0, 65_535),
    dataDir: values['data-dir'],
    restartAfterMs: values['no-restart'] ? null : 1000 * whole('--restart-after', values['restart-after'], 0, 86_400),
    plain: values.plain,
  };
}

function whole(flag: string, text: string, least: number, most: number): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${flag} is ${text}; allowed is a whole number from ${least} to ${most}`);
}

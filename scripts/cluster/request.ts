/** What a person wants of `npm run cluster`, as the command line says it. */
import { messageOf } from '../../shared/errors.js';
import { parseFlags, UsageError } from '../terminal/commandLine.js';

export interface ClusterRequest {
  readonly servers: number;
  readonly coordinators: number;
  readonly shards: number;
  /** Undefined: as configured, or as many as the servers can hold, up to three. */
  readonly replicas: number | undefined;
  /** Undefined: as configured. */
  readonly port: number | undefined;
  /** Undefined: as configured, or a folder in the default data folder. */
  readonly dataDir: string | undefined;
  /** How long a process that ended stays so; null: for good. */
  readonly restartAfterMs: number | null;
  /** Lines instead of the view also on a terminal. */
  readonly plain: boolean;
}

export const HELP = `npm run cluster -- [flags]

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

Everything else is set as for npm start: VOUCH_CONFIG and the other variables. Keys in the view: q or Ctrl-C ends it all.`;

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
  help: { type: 'boolean', default: false },
} as const;

const SERVER_COUNTS = [1, 3, 5];

/** `help` where that was asked for. Throws UsageError. */
export function parseRequest(args: readonly string[]): ClusterRequest | 'help' {
  const values = valuesOf(args);
  if (values.help) return 'help';
  const servers = whole('--nats', values.nats, 1, 5);
  if (!SERVER_COUNTS.includes(servers)) throw new UsageError(`--nats is ${servers}; allowed is 1, 3 or 5`);
  const optional = (flag: string, text: string | undefined, least: number, most: number): number | undefined =>
    text === undefined ? undefined : whole(flag, text, least, most);
  if (values['data-dir']?.trim() === '') throw new UsageError('--data-dir is empty; allowed is the path of a folder');
  return {
    servers,
    coordinators: whole('--coordinators', values.coordinators, 1, 16),
    shards: whole('--shards', values.shards, 1, 64),
    replicas: optional('--replicas', values.replicas, 1, servers),
    port: optional('--port', values.port, 0, 65_535),
    dataDir: values['data-dir'],
    restartAfterMs: values['no-restart'] ? null : 1000 * whole('--restart-after', values['restart-after'], 0, 86_400),
    plain: values.plain,
  };
}

function valuesOf(args: readonly string[]) {
  try {
    return parseFlags({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError(`${messageOf(error)}; npm run cluster -- --help says what there is`);
  }
}

function whole(flag: string, text: string, least: number, most: number): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${flag} is ${text}; allowed is a whole number from ${least} to ${most}`);
}

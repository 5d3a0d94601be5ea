/** Reads the command line of the monitor. */
import { commandText, durationMs, parseFlags, UsageError } from '../terminal/commandLine.js';

export interface MonitorRequest {
  /** The prefix of the log, such as `http://127.0.0.1:8080/log`. */
  readonly log: string;
  readonly policy: string;
  readonly state: string;
  /** An API key of the service, of scope read_only or more: the collections of its project are checked too. */
  readonly key: string | undefined;
  readonly everyMs: number;
  readonly isOnce: boolean;
}

export const MONITOR_USAGE = `${commandText('monitor', '--log URL --policy FILE [--state FILE] [--key KEY] [--every SECONDS] [--once]')}

URL is the prefix of the log, such as https://vouch.example.com/log, and the policy says whose signatures are needed
(c2sp.org/tlog-policy). The state (default: monitor.json) keeps what was seen. With an API key, in --key or VOUCH_KEY, it
also checks that the project's collections exist, and that their own logs are those of the service log. It checks every 10
seconds, with --once a single time. Ends with
  0  where all holds, or at Ctrl-C
  1  where the history was changed: the evidence is kept beside the state
  2  where it could not be checked`;

const OPTIONS = {
  log: { type: 'string' },
  policy: { type: 'string' },
  state: { type: 'string', default: 'monitor.json' },
  key: { type: 'string' },
  every: { type: 'string', default: '10' },
  once: { type: 'boolean', default: false },
} as const;

/** Throws UsageError. */
export function parseMonitorRequest(args: readonly string[]): MonitorRequest {
  const { values } = parseFlags({ args: [...args], options: OPTIONS });
  const { log, policy, state, every, once: isOnce } = values;
  if (log === undefined || !/^https?:\/\/[^/@\s]+(?:\/\S*)?$/.test(log))
    throw new UsageError('--log takes the prefix of a log');
  if (policy === undefined) throw new UsageError('--policy takes the file of a policy');
  const key = values.key ?? (process.env.VOUCH_KEY || undefined);
  return { log: log.replace(/\/+$/, ''), policy, state, key, everyMs: durationMs('--every', every, 'seconds'), isOnce };
}

/** Finds alarms, which a person should see at once, in a process's output: JSON lines of pino, and lines of nats-server. */
import { type Clock, systemClock } from '../../../shared/clock.js';

const WARN = 40;

/** The text to show of a line of output: a warning, an error, or the end of an error; otherwise undefined. */
export function alarmOf(line: string): string | undefined {
  if (line.startsWith('{')) return alarmOfJson(line);
  const nats = /\[(?:WRN|ERR|FTL)\]\s+(.*)$/.exec(line);
  if (nats) return EXPECTED.test(nats[1]!) ? undefined : nats[1];
  if (/^\[\d+\] .*\[[A-Z]{3}\]/.test(line)) return undefined;
  // Plain text is the stack of an error; its line with the error's name is enough.
  return /^(?:\w*Error|Uncaught|node:)\b.*/.exec(line)?.[0];
}

/** Expected warnings: about our configuration, and about servers that start together. */
const EXPECTED = /^(?:Maximum payloads over|Error trying to connect to route|Waiting for routing to be established)/;

function alarmOfJson(line: string): string | undefined {
  let entry: LogEntry;
  try {
    entry = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { level, msg, endsAlarm, collectionId, collection = collectionId } = entry;
  if (typeof level !== 'number' || (level < WARN && endsAlarm !== true)) return undefined;
  const cause = causeIn(entry);
  const text = typeof msg === 'string' ? msg : 'something went wrong';
  const about = typeof collection === 'number' ? `collection ${collection}: ${text}` : text;
  return cause === undefined || text.includes(cause) ? about : `${about}: ${cause}`;
}

/** A line of our logs, or of another program, with any content. */
type LogEntry = { readonly [field: string]: unknown };

function causeIn({ error, err, reason }: LogEntry): string | undefined {
  const texts = [error, (error as Error | undefined)?.message, (err as Error | undefined)?.message, reason];
  return texts.find((text) => typeof text === 'string');
}

/** Whether a log of this pino level gets the line; always true for text that is not pino's. */
export function isLogged(line: string, level: number): boolean {
  const of = /^\{"level":(\d+)/.exec(line)?.[1];
  return of === undefined || Number(of) >= level;
}

/** An alarm is not shown again within this time. */
const REPEAT_AFTER_MS = 30_000;
const REMEMBERED = 256;

/** Keeps recurring alarms from filling the terminal. */
export class AlarmBell {
  readonly #shownAtMs = new Map<string, number>();

  constructor(private readonly clock: Clock = systemClock) {}

  /** Whether to show this alarm now. */
  rings(name: string, alarm: string): boolean {
    const key = `${name} ${alarm}`;
    const nowMs = this.clock.monotonicMs();
    const shownAtMs = this.#shownAtMs.get(key);
    if (shownAtMs !== undefined && nowMs - shownAtMs < REPEAT_AFTER_MS) return false;
    if (this.#shownAtMs.size >= REMEMBERED) this.#shownAtMs.clear();
    this.#shownAtMs.set(key, nowMs);
    return true;
  }
}

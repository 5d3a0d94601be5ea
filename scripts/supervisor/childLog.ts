/** What in a process's output a person should see at once, out of pino's JSON lines and nats-server's own. */
import { type Clock, systemClock } from '../../shared/clock.js';

const WARN = 40;

/** The text to show of a line of output, or undefined where it is ordinary. */
export function alarmOf(line: string): string | undefined {
  if (line.startsWith('{')) return alarmOfJson(line);
  const nats = /\[(?:WRN|ERR|FTL)\]\s+(.*)$/.exec(line);
  if (nats) return isExpected(nats[1]!) ? undefined : nats[1];
  if (/^\[\d+\] .*\[[A-Z]{3}\]/.test(line)) return undefined;
  // Nobody writes plain text on purpose: it is a stack, of which the line with the error's name says enough.
  return /^(?:\w*Error|Uncaught|node:)\b.*/.exec(line)?.[0];
}

/** A commit frame is one message, as our own configuration asks for; servers that start together find each other late. */
const EXPECTED = /^(?:Maximum payloads over|Error trying to connect to route|Waiting for routing to be established)/;
const isExpected = (text: string): boolean => EXPECTED.test(text);

function alarmOfJson(line: string): string | undefined {
  let entry: LogEntry;
  try {
    entry = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { level, msg, collectionId, collection = collectionId } = entry;
  if (typeof level !== 'number' || level < WARN) return undefined;
  const cause = causeIn(entry);
  const text = typeof msg === 'string' ? msg : 'something went wrong';
  const about = typeof collection === 'number' ? `collection ${collection}: ${text}` : text;
  return cause === undefined || text.includes(cause) ? about : `${about}: ${cause}`;
}

/** What our log lines may say of what is wrong; of another program's anything may be there. */
interface LogEntry {
  readonly level?: unknown;
  readonly msg?: unknown;
  readonly error?: unknown;
  readonly err?: unknown;
  readonly reason?: unknown;
  readonly collection?: unknown;
  readonly collectionId?: unknown;
}

function causeIn({ error, err, reason }: LogEntry): string | undefined {
  const texts = [error, (error as Error | undefined)?.message, (err as Error | undefined)?.message, reason];
  return texts.find((text) => typeof text === 'string');
}

export const saysReady = (line: string): boolean => line.startsWith('{') && line.includes('"msg":"ready"');

/** Whether a log of this level (a number of pino's) holds the line; text that is not pino's is always held. */
export function isLogged(line: string, level: number): boolean {
  const of = /^\{"level":(\d+)/.exec(line)?.[1];
  return of === undefined || Number(of) >= level;
}

/** What was shown this recently is not shown again. */
const REPEAT_AFTER_MS = 30_000;
const REMEMBERED = 256;

/** Keeps alarms that recur every second from filling the terminal. */
export class AlarmBell {
  readonly #shownAtMs = new Map<string, number>();
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Whether this alarm is to be shown now. */
  rings(name: string, alarm: string): boolean {
    const key = `${name} ${alarm}`;
    const nowMs = this.#clock.monotonicMs();
    const shownAtMs = this.#shownAtMs.get(key);
    if (shownAtMs !== undefined && nowMs - shownAtMs < REPEAT_AFTER_MS) return false;
    if (this.#shownAtMs.size >= REMEMBERED) this.#shownAtMs.clear();
    this.#shownAtMs.set(key, nowMs);
    return true;
  }
}

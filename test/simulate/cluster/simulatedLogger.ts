/** The log of a simulated process: every line is an event of its world. */
import type { Logger } from '../../../shared/logger.js';
import type { World } from '../world/world.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
type Level = (typeof LEVELS)[number];

/** Errors that no fault may cause. */
const ALARM = /collection quarantined|unexpected failure|unhandled|rolled back/;

/** Whether no fault may cause the line. */
export const isAlarm = (text: string, isError: boolean): boolean => DAMAGE.test(text) || (isError && ALARM.test(text));

const QUARANTINED = 'collection quarantined';
const ROLLED_BACK = /^the service log was rolled back/;

/** Files that do not verify. Only rotted bits may cause that. */
const DAMAGE = /^a snapshot is damaged|^a saved index is damaged/;

export class SimulatedLogs {
  /** Lines at level error and above that no fault may cause. */
  readonly alarms: { readonly atMs: number; readonly line: string }[] = [];
  /** The collections that were quarantined. */
  readonly quarantined = new Set<number>();
  /** Whether a coordinator has reported that the service log lost entries. */
  isRolledBack = false;
  /** Lines about files that do not verify. */
  readonly damages: string[] = [];

  constructor(private readonly world: World) {}

  logger(name: string, bound: object = {}): Logger {
    const write = (level: Level) => (first: unknown, message?: string) => {
      const [about, text] = typeof first === 'string' ? [{}, first] : [first as object, message ?? ''];
      this.#write(name, level, { ...bound, ...about }, text);
    };
    const silent = (): void => undefined;
    const logger = {
      level: 'info',
      silent,
      isLevelEnabled: (level: string) => LEVELS.indexOf(level as Level) >= LEVELS.indexOf('info'),
      child: (more: object) => this.logger(name, { ...bound, ...more }),
      ...Object.fromEntries(LEVELS.map((level, rank) => [level, rank < 2 ? silent : write(level)])),
    };
    return logger as unknown as Logger;
  }

  #write(name: string, level: Level, about: object, text: string): void {
    this.world.note(`${level} ${text} ${JSON.stringify(about, shown)}`, name);
    if ((level === 'error' || level === 'fatal') && ALARM.test(text))
      this.alarms.push({ atMs: this.world.nowMs, line: `${name}: ${text} ${JSON.stringify(about, shown)}` });
    if (ROLLED_BACK.test(text)) this.isRolledBack = true;
    if (text === QUARANTINED) this.quarantined.add((about as { collectionId: number }).collectionId);
    if (DAMAGE.test(text)) this.damages.push(`${name}: ${text} ${JSON.stringify(about, shown)}`);
  }
}

/** Shows errors by their message, and hides the process-wide counter in names of unfinished files. */
const shown = (_key: string, value: unknown): unknown => {
  if (value instanceof Error) return value.message.replace(/\.\d+-\d+-\d+\.tmp/g, '.tmp');
  return typeof value === 'bigint' ? String(value) : value;
};

/** Structured logs: one JSON line an event, to standard output. Keys, payloads and vectors are never logged. */
import { type Logger, pino } from 'pino';

export type { Logger };

export const makeLogger = (component: string, level: string): Logger =>
  pino({ level, base: { component, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime });

export const silentLogger: Logger = pino({ level: 'silent' });

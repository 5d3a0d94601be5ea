/** Structured logs: one JSON line an event, to standard output. Keys, payloads and vectors are never logged. */
import { type Logger, pino } from 'pino';

export type { Logger };

/** Serialises an Error under `error` too: pino does so only under `err`. Other lines have a text there. */
export const serializers = {
  error: (error: unknown) => (error instanceof Error ? pino.stdSerializers.err(error) : error),
};

export const makeLogger = (component: string, level: string): Logger =>
  pino({ level, base: { component, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime, serializers });

export const silentLogger: Logger = pino({ level: 'silent' });

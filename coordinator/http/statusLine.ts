import { STATUS_CODES } from 'node:http';

const LINES = new Map(Object.entries(STATUS_CODES).map(([status, text]) => [Number(status), `${status} ${text}`]));

/** As uWebSockets.js wants it: `503 Service Unavailable`. */
export const statusLine = (status: number): string => LINES.get(status) ?? String(status);

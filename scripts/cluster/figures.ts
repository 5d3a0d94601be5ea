/** Figures as they stand in the view: short, and of a width that hardly changes. */
import { grouped } from '../terminal/line.js';

/** What is not known. */
const UNKNOWN = '·';

export const count = (value: number | undefined): string => (value === undefined ? UNKNOWN : grouped(value));

/** Of something a second: whole from ten on. */
export const rate = (value: number | undefined): string => {
  if (value === undefined) return UNKNOWN;
  return value > 0 && value < 9.95 ? value.toFixed(1) : grouped(Math.round(value));
};

export const millis = (value: number | undefined): string => {
  if (value === undefined) return UNKNOWN;
  return value < 9.95 ? value.toFixed(1) : grouped(Math.round(value));
};

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** 12345678 → `12 MB` */
export const size = (bytes: number | undefined): string => {
  if (bytes === undefined) return UNKNOWN;
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
};

/** 3723000 → `1 h 02 m` */
export const duration = (ms: number): string => {
  const s = Math.floor(ms / 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${two(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} m`;
};

/** `18:40:01`, of this machine's time zone. */
export const timeOfDay = (atMs: number): string => new Date(atMs).toTimeString().slice(0, 8);

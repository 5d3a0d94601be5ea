/** Follows the service log with the verifier's library. The log must continue the one that this browser has seen. */
import {
  LogAlarm,
  parsePolicy,
  type SeenLog,
  type TrustedCheckpoint,
  visitLog,
  wholeAnswer,
} from '../../verifier/index.js';
import { PREFIX } from '../prefix.js';

export interface FollowedLog {
  readonly checkpoint: TrustedCheckpoint;
  /** Entries since the last visit. */
  readonly entries: number;
  readonly isFirst: boolean;
}

const POLICY = `vouch-log-policy${PREFIX}`;
const FILE_MS = 30_000;
/** The largest bundle of entries. */
const FILE_BYTES_MAX = 32 * 1024 * 1024;

export const rememberedPolicy = (): string => localStorage.getItem(POLICY) ?? '';

/**
 * Reads the new entries. Throws LogAlarm if the log does not continue the one that was seen here. Throws an Error if it cannot
 * be read, or if the policy does not accept it.
 */
export async function followLog(policyText: string, signal: AbortSignal): Promise<FollowedLog> {
  const policy = parsePolicy(policyText);
  localStorage.setItem(POLICY, policyText);
  const place = `vouch-log${PREFIX}/${policy.logs.map(({ key }) => key.name).join(' ')}`;
  const kept = localStorage.getItem(place);
  const last = kept === null ? undefined : (JSON.parse(kept) as SeenLog);
  const { seen, checkpoint, entries } = await visitLog((path) => readFile(path, signal), policy, last);
  // The states of all collections may be too large for a browser, and the tree alone is enough to detect a changed history.
  localStorage.setItem(place, JSON.stringify({ ...seen, collections: {} }));
  return { checkpoint, entries: entries.length, isFirst: last === undefined };
}

async function readFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
  const bounds = { withinMs: FILE_MS, maxBytes: FILE_BYTES_MAX, signal };
  const { ok, status, bytes } = await wholeAnswer(`${PREFIX}/log/${path}`, {}, bounds);
  if (!ok) throw new Error(`/log/${path} answers ${status}`);
  return bytes;
}

export const isAlarm = (error: unknown): boolean => error instanceof LogAlarm;

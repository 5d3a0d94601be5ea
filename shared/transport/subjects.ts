/** Every NATS subject. A collection is a subject, which its owner serves, so no process needs an address. */

import { ownerOfLog } from '../model/logId.js';

/** `control`: calls that may take long, and must not delay writes. */
export type Verb = 'read' | 'write' | 'control';

/**
 * The subject of calls to an owner. It contains the epoch, since a former owner that hangs keeps its subscription and must not get
 * calls to the new owner.
 */
export const collectionSubject = (collectionId: number, epoch: number, verb: Verb): string =>
  `vouch.c.${collectionId}.${epoch}.${verb}`;

/** The subject of one subscription for all verbs: with thousands of collections a shard starts in half the time. */
export const everyVerb = (collectionId: number, epoch: number): string => `vouch.c.${collectionId}.${epoch}.*`;
export const verbOf = (subject: string): Verb => subject.slice(subject.lastIndexOf('.') + 1) as Verb;

/** The subject of eventual searches, which any follower of the collection may answer. */
export const followersSubject = (collectionId: number): string => `vouch.f.${collectionId}`;

/** The subject of strong searches for one follower. */
export const followerSubject = (collectionId: number, shard: string): string => `vouch.f.${collectionId}.${shard}`;

/** The committed frames for the followers, one a message; a follower that misses one reads the log. */
export const feedSubject = (collectionId: number): string => `vouch.feed.${collectionId}`;

/** Calls for one shard by name: adopt a collection, count records, trim reservations, metrics. */
export const shardSubject = (shard: string): string => `vouch.s.${shard}`;

/** The stream of a log. The log's subject contains the stream's number, since subjects of streams may not overlap. */
export const logPart = (logId: number, streams: number): number => ownerOfLog(logId).collectionId % streams;
export const logStream = (part: number): string => `VOUCH_LOG_${part}`;
export const logStreamSubjects = (part: number): string => `vouch.log.${part}.*`;
export function logSubject(logId: number, streams: number): string {
  const { collectionId, isOfAccess } = ownerOfLog(logId);
  return `vouch.log.${logPart(logId, streams)}.${collectionId}${isOfAccess ? '-access' : ''}`;
}

/** The log of the service, which the placing coordinator writes. */
export const SERVICE_LOG_STREAM = 'VOUCH_SERVICE_LOG';
export const SERVICE_LOG_SUBJECT = 'vouch.servicelog.frames';
/** A wildcard: a plain subject of a stream could be named as the reply subject of other requests, whose answers it would store. */
export const SERVICE_LOG_SUBJECTS = 'vouch.servicelog.*';
/** Asks the coordinator that writes the service log to write now. */
export const LOG_NOW_SUBJECT = 'vouch.lognow';

/** The status for a person who asks with `nats req` or `nats micro`. */
export const statusSubject = (kind: 'shard' | 'coordinator', name: string): string => `vouch.status.${kind}.${name}`;

/** The coordinator that counts every project's requests. */
export const LIMITS_SUBJECT = 'vouch.limits';

/** The endpoints of the statistics, each with the pattern of its subjects. */
export const ENDPOINTS = {
  read: 'vouch.c.*.*.read',
  write: 'vouch.c.*.*.write',
  control: 'vouch.c.*.*.control',
  eventual: 'vouch.f.*',
  follower: 'vouch.f.*.*',
  named: 'vouch.s.*',
  limits: LIMITS_SUBJECT,
} as const;

export type Endpoint = keyof typeof ENDPOINTS;

export function endpointOf(subject: string): Endpoint {
  if (subject.startsWith('vouch.c.')) return verbOf(subject);
  if (subject.startsWith('vouch.f.')) return subject.includes('.', 'vouch.f.'.length) ? 'follower' : 'eventual';
  return subject === LIMITS_SUBJECT ? 'limits' : 'named';
}

/** Requests that each coordinator has granted, published to the others; and all known ones, for a coordinator that joins. */
export const GRANTS_SUBJECT = 'vouch.limits.grants';
export const GRANTS_KNOWN_SUBJECT = 'vouch.limits.known';

/** The vault of wrapped data keys, with one subject for each key. */
export const VAULT_STREAM = 'VOUCH_VAULT';
export const VAULT_SUBJECTS = 'vouch.vault.*.*';
export const vaultSubject = (projectHex: string, keyId: string): string => `vouch.vault.${projectHex}.${keyId}`;
/** A subject of the stream without a key: its answer shows that the leader has applied all earlier messages. */
export const VAULT_BARRIER = 'vouch.vault.barrier.0';

/** Seals of the vault's entries, if several servers have the vault: one stream a server, see `vault/seals.ts`. */
export const sealStream = (place: number): string => `VOUCH_SEALS_${place}`;
export const ALL_SEALS = 'vouch.seals.*.*.*';
export const sealSubjects = (place: number): string => `vouch.seals.${place}.*.*`;
export const sealSubject = (place: number, projectHex: string, keyId: string): string =>
  `vouch.seals.${place}.${projectHex}.${keyId}`;

/** Every NATS subject, in one place. A collection is a subject: whoever owns it serves it, and nobody needs an address. */

/** `control`: what may take long, and must not keep the answers of writes waiting. */
export type Verb = 'read' | 'write' | 'control';

/**
 * `epoch`: of the ownership. A former owner that hangs keeps its subscription for as long as its connection stands, and
 * must not be given a share of the calls that are the new owner's.
 */
export const collectionSubject = (collectionId: number, epoch: number, verb: Verb): string =>
  `vouch.c.${collectionId}.${epoch}.${verb}`;

/** One subscription for all: with thousands of collections a shard starts in half the time. */
export const everyVerb = (collectionId: number, epoch: number): string => `vouch.c.${collectionId}.${epoch}.*`;
export const verbOf = (subject: string): Verb => subject.slice(subject.lastIndexOf('.') + 1) as Verb;

/** Read calls that any follower of the collection may answer. */
export const followersSubject = (collectionId: number): string => `vouch.f.${collectionId}`;

/** The frames that the owner has committed, one a message, for its followers; who misses one reads the log. */
export const feedSubject = (collectionId: number): string => `vouch.feed.${collectionId}`;

/** Calls for one shard by name: adopt a collection, count records, trim reservations, metrics. */
export const shardSubject = (shard: string): string => `vouch.s.${shard}`;

/** The logs are spread over `streams` streams; a stream's part stands in the subject, since subjects of streams may not overlap. */
export const logPart = (collectionId: number, streams: number): number => collectionId % streams;
export const logStream = (part: number): string => `VOUCH_LOG_${part}`;
export const logStreamSubjects = (part: number): string => `vouch.log.${part}.*`;
export const logSubject = (collectionId: number, streams: number): string =>
  `vouch.log.${logPart(collectionId, streams)}.${collectionId}`;

/** Asked by a person, with `nats req` or through `nats micro`. */
export const statusSubject = (kind: 'shard' | 'coordinator', name: string): string => `vouch.status.${kind}.${name}`;

/** The coordinator that counts every project's requests. */
export const LIMITS_SUBJECT = 'vouch.limits';

/** What a subject is asked for, whosever it is: as a process's statistics name it, with all its subjects as one pattern. */
export const ENDPOINTS = {
  read: 'vouch.c.*.*.read',
  write: 'vouch.c.*.*.write',
  control: 'vouch.c.*.*.control',
  eventual: 'vouch.f.*',
  named: 'vouch.s.*',
  limits: LIMITS_SUBJECT,
} as const;

export type Endpoint = keyof typeof ENDPOINTS;

export function endpointOf(subject: string): Endpoint {
  if (subject.startsWith('vouch.c.')) return verbOf(subject);
  if (subject.startsWith('vouch.f.')) return 'eventual';
  return subject === LIMITS_SUBJECT ? 'limits' : 'named';
}

/** What each coordinator has let through lately, told to all the others; and what one of them knows, for one that joins. */
export const GRANTS_SUBJECT = 'vouch.limits.grants';
export const GRANTS_KNOWN_SUBJECT = 'vouch.limits.known';

/** The vault of wrapped data keys: one subject a key. */
export const VAULT_STREAM = 'VOUCH_VAULT';
export const VAULT_SUBJECTS = 'vouch.vault.*.*';
export const vaultSubject = (projectHex: string, keyId: string): string => `vouch.vault.${projectHex}.${keyId}`;
/** Of the stream too, and of no key: published to learn that the leader has come so far. */
export const VAULT_BARRIER = 'vouch.vault.barrier.0';

/** The seals of the vault's entries, where several servers hold the vault: one stream a server, see `vault/seals.ts`. */
export const sealStream = (place: number): string => `VOUCH_SEALS_${place}`;
export const ALL_SEALS = 'vouch.seals.*.*.*';
export const sealSubjects = (place: number): string => `vouch.seals.${place}.*.*`;
export const sealSubject = (place: number, projectHex: string, keyId: string): string =>
  `vouch.seals.${place}.${projectHex}.${keyId}`;

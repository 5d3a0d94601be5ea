/** Every NATS subject, in one place. A collection is a subject: whoever owns it serves it, and nobody needs an address. */

export type Verb = 'read' | 'write';

export const collectionSubject = (collectionId: number, verb: Verb): string => `vouch.c.${collectionId}.${verb}`;

/** Calls for one shard by name: adopt a collection, count records, trim reservations, metrics. */
export const shardSubject = (shard: string): string => `vouch.s.${shard}`;

export const logSubject = (collectionId: number): string => `vouch.log.${collectionId}`;
export const logStream = (collectionId: number, streams: number): string => `VOUCH_LOG_${collectionId % streams}`;

/** The collection that rows are loaded into. */
import type { CreateCollectionResponse, ListedCollection } from '../../coordinator/contract/collections.js';
import type { CheckpointResponse, ConsistencyResponse } from '../../coordinator/contract/proofs.js';
import type { OwnKeyResponse } from '../../coordinator/contract/service.js';
import { findNamed } from '../service/collections.js';
import type { ServiceClient } from '../service/serviceClient.js';
import { counted, say } from '../terminal/line.js';
import type { LoadRequest } from './request.js';
import { dimensionOf, rowOf } from './row.js';
import type { RawRow, Source } from './source.js';

export type Target = Pick<
  ListedCollection,
  'id' | 'name' | 'dimension' | 'normalise' | 'text' | 'audit_reads' | 'access_retention_days' | 'ttl_secs' | 'erasable'
>;

/** The collection of this name or alias; undefined if the load must create it. Throws an Error of one line unless the command allows that. */
export async function findCollection(
  client: ServiceClient,
  { collection: name, created }: LoadRequest,
): Promise<Target | undefined> {
  const found = await findNamed(client, name);
  if (found === undefined && created === undefined)
    throw new Error(`the collection ${name} does not exist: --create makes it`);
  if (found !== undefined && created?.isNormalised === true && found.normalise === undefined)
    throw new Error(`${name} was made without --normalise, which cannot change: load into another collection`);
  if (found !== undefined && created?.isAudited === true && found.audit_reads === undefined)
    throw new Error(`the reads of ${name} are not audited: PATCH /v1/namespaces/${name} switches that on`);
  const { retentionDays, language, ttlSecs } = created ?? {};
  if (found !== undefined && retentionDays !== undefined && found.access_retention_days !== retentionDays)
    throw new Error(
      `${name} has another access_retention_days than ${retentionDays}: PATCH /v1/namespaces/${name} changes that`,
    );
  if (found !== undefined && language !== undefined && found.text?.language !== language)
    throw new Error(
      `${name} was made without --language ${language}, which cannot change: load into another collection`,
    );
  if (found !== undefined && ttlSecs !== undefined && found.ttl_secs !== ttlSecs)
    throw new Error(
      `${name} was made without --ttl-secs ${ttlSecs}, which cannot change: load into another collection`,
    );
  if (found !== undefined && created?.isErasable === true && found.erasable === undefined)
    throw new Error(`${name} was made without --erasable, which cannot change: load into another collection`);
  return found;
}

/** A collection and its log at one moment. */
export interface Checkpoint {
  /** The collection as its checkpoints name it: `project/name/id/hash`. */
  readonly origin: string;
  readonly log: LogEnd;
}

/** The number of events in a log, and its root. */
export interface LogEnd {
  readonly size: number;
  readonly root: string;
}

export async function checkpointOf(client: ServiceClient, name: string): Promise<Checkpoint> {
  const path = `/v1/proof/checkpoint?collection=${encodeURIComponent(name)}`;
  const { checkpoint } = await client.ask<CheckpointResponse>('GET', path);
  const [, origin = '', size, root = ''] = checkpoint.split('\n');
  return { origin, log: { size: Number(size), root } };
}

/** Whether the log `now` of a collection begins with the whole log `before`. False after an older copy was restored. */
export async function extendsLog(client: ServiceClient, name: string, before: LogEnd, now: LogEnd): Promise<boolean> {
  if (before.size === 0) return true;
  if (now.size < before.size) return false;
  const last = before.size - 1;
  const path = `/v1/proof/consistency?collection=${encodeURIComponent(name)}&from=${last}&to=${last}`;
  const { from } = await client.ask<ConsistencyResponse>('GET', path);
  return from.root === before.root;
}

/** The project of the key. */
export const projectOf = async (client: ServiceClient): Promise<string> =>
  (await client.ask<OwnKeyResponse>('GET', '/v1/keys/self')).project;

/** Creates the collection, for vectors of the length of that in `row`. Throws an Error of one line. */
export async function makeCollection(
  client: ServiceClient,
  { collection: name, created, columns }: LoadRequest,
  row: RawRow,
  usual: Source['usual'],
): Promise<Target> {
  const dimension = dimensionOf(rowOf(row.fields, columns, usual));
  const wanted = {
    name,
    dimension,
    metric: 'squared_l2',
    ...(created?.isNormalised && { normalise: true as const }),
    ...(created?.isAudited && { audit_reads: true as const }),
    ...(created?.retentionDays && { access_retention_days: created.retentionDays }),
    ...(created?.ttlSecs && { ttl_secs: created.ttlSecs }),
    ...(created?.isErasable && { erasable: true as const }),
    ...(created?.language && { text: { language: created.language } }),
    ...(created?.index !== undefined && { index: created.index }),
  };
  const { id } = await client.ask<CreateCollectionResponse>('POST', '/v1/namespaces', wanted);
  const divided = created?.isNormalised ? ', and divides vectors by their length' : '';
  say('done', 'collection', `${name} is created, with ${counted(dimension, 'component')}${divided}`);
  return { id, ...wanted };
}

/** Comparisons of an existing collection with the one that a request wants. */
import { refusal } from '../../../shared/errors/errors.js';
import { isSameActor } from '../../../shared/model/actor.js';
import { type CollectionConfig, originOf } from '../../../shared/model/collectionConfig.js';
import { readAuditOf } from '../../../shared/model/readAudit.js';
import { isSameText } from '../../../shared/model/textLanguage.js';
import { isImporting } from '../../../shared/registry/catalogEntry.js';
import type { Collection, ImportedCollection, WantedCollection, WantedImport } from './collection.js';

/** The fixed configuration that a request chooses. */
export const fixedOf = ({ dimension, normalise, text, erasable }: WantedCollection | WantedImport) =>
  ({
    dimension,
    metric: 'squared_l2',
    ...(normalise && { normalise }),
    ...(text && { text }),
    ...(erasable && { erasable }),
  }) satisfies Partial<CollectionConfig>;

export function assertIdentical(existing: Collection, wanted: WantedCollection): Collection {
  const { dimension, normalise, text, erasable, audit, retentionDays, ttlSecs } = wanted;
  if (existing.dimension !== dimension)
    throw refusal('conflict', 'dimension', { ...shown(existing), dimension: existing.dimension });
  if (existing.normalise !== normalise)
    throw refusal('conflict', 'normalise', { ...shown(existing), has: existing.normalise ? 'with' : 'without' });
  if (audit !== undefined && readAuditOf(existing.auditReads) !== audit)
    throw refusal('conflict', 'audit', {
      ...shown(existing),
      ...inPath(existing),
      has: String(existing.auditReads ?? false),
    });
  if (retentionDays !== undefined && existing.accessRetentionDays !== retentionDays)
    throw refusal('conflict', 'retention', {
      ...{ ...shown(existing), ...inPath(existing) },
      has: String(existing.accessRetentionDays ?? null),
    });
  // Compare the language only: its `version` is that of the service that created the collection.
  if (existing.text?.language !== text?.language)
    throw refusal('conflict', 'other', { ...shown(existing), has: languageOf(existing) });
  if (existing.ttlSecs !== ttlSecs) throw refusal('conflict', 'other', { ...shown(existing), has: lifeOf(existing) });
  if (existing.erasable !== erasable)
    throw refusal('conflict', 'erasable', { ...shown(existing), has: existing.erasable ? 'with' : 'without' });
  return existing;
}

const languageOf = ({ text }: Collection): string => (text ? `text language ${text.language}` : 'no text language');
const lifeOf = ({ ttlSecs }: Collection): string => (ttlSecs ? `ttl_secs ${ttlSecs}` : 'no ttl_secs');

/** The name in a message. */
export const shown = ({ name }: { readonly name: string }): { name: string } => ({ name: JSON.stringify(name) });

/** The name in a path that a message gives. */
export const inPath = ({ name }: { readonly name: string }): { path: string } => ({ path: encodeURIComponent(name) });

export function assertUsable(collection: Collection): Collection {
  if (isImporting(collection)) throw refusal('conflict', 'importing', shown(collection));
  return collection;
}

export function assertImported(collection: Collection): ImportedCollection {
  const { imported } = collection;
  if (imported === undefined) throw refusal('conflict', 'notImported', shown(collection));
  return { ...collection, imported };
}

export function assertSameImport(
  collection: Collection,
  { origin, dimension, normalise, text, erasable, ttlSecs, createdAtMs, createdBy, end }: WantedImport,
): ImportedCollection {
  const existing = assertImported(collection);
  const { imported } = existing;
  const own = originOf(existing);
  const isSame =
    own.project === origin.project &&
    own.name === origin.name &&
    own.id === origin.id &&
    existing.dimension === dimension &&
    existing.normalise === normalise &&
    isSameText(existing.text, text) &&
    existing.ttlSecs === ttlSecs &&
    existing.erasable === erasable &&
    existing.createdAtMs === createdAtMs &&
    isSameActor(existing.createdBy ?? null, createdBy ?? null) &&
    imported.sequence === end.sequence &&
    imported.chainHead === end.chainHead &&
    imported.stateHash === end.stateHash;
  if (!isSame) throw refusal('conflict', 'otherImport', shown(existing));
  return existing;
}

/**
 * Finds leftovers of deleted collections: bucket entries, log frames and files. Finds content under keys that is not
 * encrypted.
 */
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import type { SimulatedService } from '../cluster/simulatedService.js';
import { ERASABLE_TEXT } from './churnCalls.js';

const IN_STREAMS = [
  /^vouch\.log\.\d+\.(\d+)(?:-access)?$/,
  new RegExp(`^\\$KV\\.${BUCKETS.owners}\\.(\\d+)$`),
  new RegExp(`^\\$KV\\.${BUCKETS.openings}\\.(?:of|due)\\.(\\d+)$`),
  new RegExp(`^\\$KV\\.${BUCKETS.watermarks}\\.(\\d+)$`),
  new RegExp(`^\\$KV\\.${BUCKETS.counters}\\.(?:deleted|erased)-(\\d+)$`),
];
/** Folder of a collection: that of its log, or below a shard's folder that of its snapshots or indexes. */
const ON_DISKS = /^\/data\/(?:collections|(?:snapshots|indexes)\/[0-9a-f]+)\/(\d+)\//;

/** Returns the places of leftovers. `kept`: ids of the collections that were not deleted. */
export function leftoversIn({ nats, disks, shardNames }: SimulatedService, kept: ReadonlySet<number>): string[] {
  const found = new Set<string>();
  // The deletion of a key is a message without content, behind the key's entries.
  for (const { subject, body } of nats?.jetStream.stored() ?? [])
    if (isOfDeleted(subject, IN_STREAMS, kept))
      if (body.length > 0) found.add(subject);
      else found.delete(subject);
  for (const name of shardNames)
    for (const [path] of disks.of(name).files()) if (isOfDeleted(path, [ON_DISKS], kept)) found.add(`${name}: ${path}`);
  return [...found];
}

/** Returns the places that have the text of a record under a key in plain. */
export function plainContentsIn({ nats, disks, shardNames }: SimulatedService): string[] {
  const text = Buffer.from(ERASABLE_TEXT);
  const found: string[] = [];
  for (const { subject, body } of nats?.jetStream.stored() ?? [])
    if (Buffer.from(body).includes(text)) found.push(subject);
  for (const name of shardNames)
    for (const [path, file] of disks.of(name).files())
      if (file.read(0, file.size).includes(text)) found.push(`${name}: ${path}`);
  return found;
}

function isOfDeleted(text: string, patterns: readonly RegExp[], kept: ReadonlySet<number>): boolean {
  const [, id] = patterns.map((pattern) => pattern.exec(text)).find((match) => match !== null) ?? [];
  return id !== undefined && !kept.has(Number(id));
}

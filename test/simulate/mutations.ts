/** Mutations: defects put into the built product on purpose, each of which the simulation must find. */
import { INDEXED_ROWS, type SimulatedShape } from './cluster/shape.js';

export interface Mutation {
  readonly name: string;
  /** Whether a service of this shape runs the mutated code at all. */
  readonly isIn: (shape: SimulatedShape) => boolean;
  /** Path below `dist/`. */
  readonly file: string;
  /** Text to replace; the file contains it exactly once. */
  readonly find: string;
  readonly put: string;
}

const LOG = 'shared/log/jetStreamLog.js';
const LOCAL_LOG = 'shared/log/segmentedLog.js';
const CATALOG = 'coordinator/cluster/catalog/catalog.js';
const REPLICA = 'shard/node/collectionReplica.js';

const anywhere = (): boolean => true;
const inClusters = ({ servers }: SimulatedShape): boolean => servers > 0;
const standalone = ({ servers }: SimulatedShape): boolean => servers === 0;
const withFollowers = ({ followers }: SimulatedShape): boolean => followers > 0;
const withSecondServers = ({ servers }: SimulatedShape): boolean => servers > 1;
const withoutSync = ({ servers, syncs }: SimulatedShape): boolean => servers > 0 && !syncs;
const withIndexes = ({ collections }: SimulatedShape): boolean => collections.some(({ rows }) => rows >= INDEXED_ROWS);
const withRetention = ({ collections }: SimulatedShape): boolean =>
  collections.some(({ accessRetentionDays }) => accessRetentionDays !== undefined);
const withAccessLogs = ({ collections }: SimulatedShape): boolean => collections.some(({ auditReads }) => auditReads);
const withLives = ({ collections }: SimulatedShape): boolean =>
  collections.some(({ ttlSecs }) => ttlSecs !== undefined);

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a lease never ends',
    isIn: inClusters,
    file: 'shard/answering/lease.js',
    find: 'return Math.max(this.options.leaseMs - (this.clock.monotonicMs() - renewedMs), 0);',
    put: 'return this.options.leaseMs;',
  },
  {
    name: 'reads are answered without a lease',
    isIn: inClusters,
    file: REPLICA,
    find: 'if (this.epoch !== epoch || !lease.valid)',
    put: 'if (this.epoch !== epoch)',
  },
  {
    name: 'an owner does not wait for the one from which it was taken',
    isIn: inClusters,
    file: REPLICA,
    find: 'for (const former of takenFrom)',
    put: 'for (const former of [])',
  },
  {
    name: 'a shard that starts takes what it has heard for all owners',
    isIn: withSecondServers,
    file: 'shard/node/shardNode.js',
    find: 'await whenAvailable("the owners", () => this.confirmOwned(), this.#services.context);',
    put: '',
  },
  {
    name: 'a new owner takes what a server tells it for the end of its log',
    isIn: withSecondServers,
    file: LOG,
    find: 'if (!this.#isClustered)',
    put: 'if (true)',
  },
  {
    name: 'a quarantined collection is handed over while a commit runs',
    isIn: inClusters,
    file: 'shard/collection/collectionHandle.js',
    find: 'latestOf(this.#state)?.pause(withinMs)',
    put: 'this.openCollection?.pause(withinMs)',
  },
  {
    name: 'an append expects nothing of the log',
    isIn: inClusters,
    file: LOG,
    find: 'return await this.#store(frame, Math.min(leftMs, TRY_MS), before);',
    put: 'return await this.#store(frame, Math.min(leftMs, TRY_MS));',
  },
  {
    name: "a frame of another owner is taken for one's own",
    isIn: inClusters,
    file: LOG,
    find: 'mayBeThere && Buffer.compare(found.frame.bytes, frame) === 0',
    put: 'mayBeThere',
  },
  {
    name: 'an append of unknown outcome is forgotten',
    isIn: inClusters,
    file: 'shard/state/journal.js',
    find: 'if (append.kind !== "unknown" && !isOwnOver && !areOthersOver) return;',
    put: 'if (!isOwnOver && !areOthersOver) return;',
  },
  {
    name: 'a commit is not synced',
    isIn: standalone,
    file: LOCAL_LOG,
    find: 'await file.sync();\n      file.writeNow(',
    put: 'file.writeNow(',
  },
  {
    name: 'folders are not synced',
    isIn: standalone,
    file: 'shared/files/durable.js',
    find: 'const syncDirectory = (path) => withOpen(path, "r", (directory) => directory.sync());',
    put: 'const syncDirectory = async () => undefined;',
  },
  {
    name: 'a file that replaces another is not synced',
    isIn: standalone,
    file: 'shared/files/durable.js',
    find: 'await file.writeFile(bytes);\n    await file.sync();',
    put: 'await file.writeFile(bytes);',
  },
  {
    name: 'a torn end of a log is taken for a frame',
    isIn: standalone,
    file: 'shared/log/segmentScan.js',
    find: 'return frameVerifies(header, bytes.subarray(start, start + header.length)) ?',
    put: 'return bytes.length >= start + header.length ?',
  },
  {
    name: 'what follows the reach of a segment is cut off',
    isIn: standalone,
    file: 'shared/log/segmentScan.js',
    find: 'if (next === void 0) break;',
    put: 'if (next !== -1) break;',
  },
  {
    name: 'request ids are not restored from a snapshot',
    isIn: anywhere,
    file: 'shard/snapshot/restore.js',
    find: '([key, applied]) => this.state.requests.add(key, applied)',
    put: '() => undefined',
  },
  {
    name: 'tombstones are not restored from a snapshot',
    isIn: anywhere,
    file: 'shard/snapshot/restore.js',
    find: 'const isTombstoned = (states[row] & ~EXPIRES) === RECORD_STATE.tombstoned;',
    put: 'const isTombstoned = false;',
  },
  {
    name: 'insertion times are not restored from a snapshot',
    isIn: anywhere,
    file: 'shard/state/collectionState.js',
    find: 'this.insertions.set(slot, insertedMs);',
    put: '',
  },
  {
    name: 'the order of request ids is not restored from a snapshot',
    isIn: anywhere,
    file: 'shard/snapshot/writeSnapshot.js',
    find: 'requests.entries())',
    put: '[...requests.entries()].reverse())',
  },
  {
    name: 'a transfer does not wait for the running commit',
    isIn: inClusters,
    file: 'shard/collection/commitLoop.js',
    find: 'if (this.#committing === void 0) return true;',
    put: 'if (withinMs !== undefined) return true;',
  },
  {
    name: 'an owner goes on as such while its transfer is not settled',
    isIn: inClusters,
    file: REPLICA,
    find: 'this.#isTransferring = true;\n    await this.#handle?.demote();',
    put: '',
  },
  {
    name: 'an eventual search takes any age of a copy',
    isIn: withFollowers,
    file: 'shard/follow/follower.js',
    find: 'const isFresh = this.services.clock.monotonicMs() - asOfMs <= this.services.staleMs;',
    put: 'const isFresh = true;',
  },
  {
    name: 'a strong search at a follower does not wait for what the owner shows',
    isIn: withFollowers,
    file: 'shard/follow/strongSearch.js',
    find: 'const isReached = collection.journal.seenSequence >= sequence ||',
    put: 'const isReached = sequence >= 0 ||',
  },
  {
    name: 'a strong search at a follower is answered before the owner shows it',
    isIn: withFollowers,
    file: 'shard/follow/strongSearch.js',
    find: 'if (this.#shown >= seen)',
    put: 'if (seen >= 0)',
  },
  {
    name: 'the tail of an index is not searched',
    isIn: withIndexes,
    file: 'shard/index/generation.js',
    find: 'const tail = this.tail === 0 ? void 0 : vectors',
    put: 'const tail = this.tail >= 0 ? void 0 : vectors',
  },
  {
    name: 'scratch memory is given back twice',
    isIn: anywhere,
    file: 'shard/kernel/slicedScan.js',
    find: 'this.#scratch = void 0;',
    put: 'this.#scratch?.free();\n        this.#scratch = undefined;',
  },
  {
    name: 'a quota is granted to each collection alone',
    isIn: ({ collections, settings }) => settings.VOUCH_MAX_RECORDS !== undefined && collections.length > 1,
    file: 'shared/registry/reservations.js',
    find: 'const free = limit - others;',
    put: 'const free = limit;',
  },
  {
    name: 'what a former owner may still add is not reserved',
    isIn: (shape) =>
      inClusters(shape) && shape.settings.VOUCH_MAX_RECORDS !== undefined && shape.collections.length > 1,
    file: 'shard/collection/collectionHandle.js',
    find: 'const isClear = !mayOthersAppend || logs.lateMs === 0;',
    put: 'const isClear = true;',
  },
  {
    name: 'a write without an answer is sent again',
    isIn: inClusters,
    file: 'coordinator/cluster/calls/callQueue.js',
    find: '|| isLost && route === "read")',
    put: '|| isLost)',
  },
  {
    name: 'a service log is written whatever was published of it',
    isIn: withoutSync,
    file: 'coordinator/serviceLog/serviceLog.js',
    find: 'return isWhole && ',
    put: 'return ',
  },
  {
    name: 'what a witness has seen is not looked at',
    isIn: (shape) => withoutSync(shape) && shape.hasWitness,
    file: 'coordinator/serviceLog/publisher.js',
    find: 'shows,`,\n  seen\n',
    put: 'shows,`,\n  seen: { size: 0 }\n',
  },
  {
    name: 'a log without its end is taken for whole',
    isIn: withoutSync,
    file: 'shard/collection/watermark.js',
    find: 'if (journal.sequence < sequence) {',
    put: 'if (journal.sequence < 0) {',
  },
  {
    name: 'what was told of the catalog is taken for all of it',
    isIn: inClusters,
    file: CATALOG,
    find: 'await this.#watch?.caughtUp();\n      const now',
    put: 'const now',
  },
  {
    name: 'the catalog is what one server says',
    isIn: inClusters,
    file: CATALOG,
    find: 'const entry = await this.#watch.read(catalogKey(project, name));',
    put: 'const entry = await this.#bucket.get(catalogKey(project, name));',
  },
  {
    name: 'an alias leads where this coordinator last saw it',
    isIn: inClusters,
    file: CATALOG,
    find: 'return assertUsable(await this.reread(project, name));',
    put: 'return assertUsable(this.#known(project, name) ?? await this.reread(project, name));',
  },
  {
    name: 'a deletion takes whatever has the name by then',
    isIn: inClusters,
    file: CATALOG,
    find: 'this.#bucket.delete(key, revision)',
    put: 'this.#bucket.delete(key)',
  },
  {
    name: 'a collection that was deleted is given an owner',
    isIn: inClusters,
    file: 'coordinator/cluster/placement/placement.js',
    find: '() => catalog.isListed(collection)',
    put: 'async () => true',
  },
  {
    name: 'the log of a deleted collection goes before its owner',
    isIn: inClusters,
    file: 'coordinator/cluster/deletion/deletions.js',
    find: 'const owners = await members.disown(id);',
    put: 'const owners = undefined;\n        setTimeout(() => void members.disown(id).catch(() => undefined), 1_000);',
  },
  {
    name: 'a deletion is answered before the shards are told',
    isIn: inClusters,
    file: 'coordinator/cluster/deletion/deletions.js',
    find: 'await Promise.all([...holders].map((shard) => this.#silenceAt(shard, id, envelope)));',
    put: 'void Promise.all([...holders].map((shard) => this.#silenceAt(shard, id, envelope))).catch(() => undefined);',
  },
  {
    name: 'an answer leaves before its entry of the access log is durable',
    isIn: withAccessLogs,
    file: 'coordinator/http/server.js',
    find: 'await traced.auditing.log(reply);',
    put: 'void traced.auditing.log(reply).catch(() => undefined);',
  },
  {
    name: 'an access log is not read again after a commit of unknown outcome',
    isIn: withAccessLogs,
    file: 'shard/access/accessLog.js',
    find: 'await this.#close();\n        for (const',
    put: 'for (const',
  },
  {
    name: 'entries of an access log are removed before their days are over',
    isIn: withRetention,
    file: 'shard/access/accessLog.js',
    find: 'dayOf(this.services.clock.nowMs()) - retentionDays',
    put: 'dayOf(this.services.clock.nowMs())',
  },
  {
    name: 'expired records are not removed',
    isIn: withLives,
    file: 'shard/collection/commitLoop.js',
    find: 'while (this.#isDue) await this.#removeExpired();',
    put: '',
  },
  {
    name: 'records are removed a minute before their expiry',
    isIn: withLives,
    file: 'shard/collection/removals.js',
    find: 'state.expiries.due(clock.nowMs())',
    put: 'state.expiries.due(clock.nowMs() + 60_000)',
  },
  {
    name: 'what a crash has left of a log is left',
    isIn: standalone,
    file: LOCAL_LOG,
    find: 'await deleteTree(stagingOf(folder));',
    put: '',
  },
];

/**
 * Every metric: its name, type, labels, and help. Both kinds of process make their metrics from this table, and `npm run docs`
 * makes the page `docs/operations/metrics.md` from it. Counters end in `_total`; times are in seconds, sizes in bytes.
 */
import { INDEX_KINDS } from '../model/indexSpec.js';

/** The values of each label, by name; an empty list allows any. */
type Labels = Readonly<Record<string, readonly (string | number)[]>>;

export interface Metric<L extends Labels = Labels> {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: L;
  /** The upper bounds of a histogram, in seconds. */
  readonly buckets?: readonly number[];
}

export type Process = 'coordinator' | 'shard';

/** The metrics of one subject. */
export interface Group {
  readonly title: string;
  /** The processes that have them. */
  readonly at: readonly Process[];
  readonly metrics: Readonly<Record<string, Metric>>;
}

const NONE: Readonly<Record<never, never>> = {};
type None = typeof NONE;
const ANY: readonly (string | number)[] = [];

const counter = <const L extends Labels = None>(help: string, labels: L = NONE as L) =>
  ({ type: 'counter', help, labels }) as const;
const gauge = <const L extends Labels = None>(help: string, labels: L = NONE as L) =>
  ({ type: 'gauge', help, labels }) as const;
const histogram = <const L extends Labels = None>(buckets: readonly number[], help: string, labels: L = NONE as L) =>
  ({ type: 'histogram', buckets, help, labels }) as const;

/** From half a millisecond, a small search over HTTP, to the whole deadline of a rebuild. */
const REQUEST_SECONDS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
/** From a fraction of a millisecond, a small search in a shard, to some tens for a large commit. */
const CALL_SECONDS = [0.0001, ...REQUEST_SECONDS];
const TRANSFER_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
/** From milliseconds, for a collection that is not open, to the minutes in which a large one is warmed. */
const MOVE_SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** From an index of a thousand rows to one of millions. */
const BUILD_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];
/** From a log of a few hundred events to one of millions. */
const REPLAY_SECONDS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** From a collection of a few thousand records to one of millions. */
const SNAPSHOT_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** The lengths of stalls. */
const STALL_SECONDS = [0.2, 0.5, 1, 2, 5, 10, 30, 60];

const VERBS = ['read', 'write', 'control'] as const;
/** `warm`: a new owner that had opened it before; `cold`: not open anywhere; `failover`: its owner was lost. */
const MOVE_KINDS = ['warm', 'cold', 'failover'] as const;
const BUILD_LABELS = { kind: INDEX_KINDS, outcome: ['active', 'failed', 'cancelled'] } as const;

const HTTP = {
  vouch_http_requests_total: counter(
    'Requests answered, by route and status; status "aborted" if the client closed the connection first.',
    { route: ANY, status: ANY },
  ),
  vouch_http_request_seconds: histogram(
    REQUEST_SECONDS,
    'Time from the arrival of a request to its answer, without requests that are refused from their head.',
    { route: ANY, status: ANY },
  ),
  vouch_http_body_bytes_total: counter('Bytes of request bodies received.'),
  vouch_http_rate_limited_total: counter('Requests refused with 429.', { route: ANY }),
  vouch_tls_certificate_expires_seconds: gauge('When the certificate of HTTPS expires, unix time.'),
  vouch_http_in_flight: gauge('Requests that are not answered yet.'),
  vouch_http_in_flight_body_bytes: gauge('Bytes of the bodies of requests that are not answered yet.'),
  vouch_bodies_waiting: gauge('Large bodies that wait for a thread.'),
  vouch_metrics_timestamp_seconds: gauge(
    'Time when these metrics were read, in unix seconds; they are reused for a second.',
  ),
};

const REFUSALS = {
  vouch_refused_total: counter('Requests and calls refused because of too much load, by the exceeded bound.', {
    reason: ANY,
  }),
};

const CALLS_SENT = {
  vouch_calls_aborted_total: counter(
    'Calls that ended before their answer: the process is gone, the collection has another owner, or the answer was lost.',
    { verb: VERBS },
  ),
  vouch_calls_awaiting_retry: gauge('Calls that wait to be sent again.'),
  vouch_calls_retried_total: counter('Calls sent again because no shard served their collection at that moment.', {
    verb: VERBS,
  }),
  vouch_eventual_reads_total: counter(
    'Searches with consistency "eventual", by the shard that answered: owner or follower.',
    {
      by: ['follower', 'owner'],
    },
  ),
  vouch_strong_searches_total: counter(
    'Searches of the present with consistency "strong", by the shard that answered: owner or follower.',
    {
      by: ['follower', 'owner'],
    },
  ),
};

const MESSAGES = {
  vouch_nats_requests_in_flight: gauge('Requests to other processes that are not answered yet.'),
  vouch_nats_request_bytes_in_flight: gauge('Bytes of requests to other processes that are not answered yet.'),
  vouch_nats_unsent_bytes: gauge('Bytes that wait in the connection to NATS.'),
};

const CALLS_RECEIVED = {
  vouch_reads_waiting: gauge('Reads that wait for their turn.'),
  vouch_shard_call_seconds: histogram(CALL_SECONDS, 'Time from the arrival of a call at the shard to its outcome.', {
    op: ANY,
    outcome: ANY,
  }),
  vouch_shard_calls_in_flight: gauge('Calls that are not answered yet.'),
  vouch_shard_call_bytes_in_flight: gauge('Bytes of the messages of calls that are not answered yet.'),
  vouch_exact_scans_total: counter('Exact scans of vectors, by where they ran: short ones in the event loop.', {
    where: ['loop', 'threads'],
  }),
  vouch_index_searches_total: counter('Searches of indexes that threads may make, by where they ran.', {
    where: ['loop', 'threads'],
  }),
  vouch_search_threads: gauge('Threads for long exact scans and searches of indexes; they end when idle.'),
};

const COLLECTIONS = {
  vouch_collections: gauge('Collections that the shard owns.'),
  vouch_collections_open: gauge('Collections in memory.'),
  vouch_collections_quarantined: gauge('Collections whose log does not verify, or whose opening has stopped shards.'),
  vouch_events_ahead_seconds: gauge(
    'How far the newest event of any open collection is ahead of the clock of the shard.',
  ),
  vouch_records: gauge('Live records of the collections in memory.'),
  vouch_vector_bytes: gauge('Memory that vectors take.'),
  vouch_memory_used_bytes: gauge('Memory of the shard, with what calls and openings in progress will take.'),
  vouch_memory_limit_bytes: gauge('Memory that the shard may have.'),
  vouch_store_used_bytes: gauge('Bytes in the store of all logs, copies included.'),
  vouch_store_limit_bytes: gauge('Bytes that the store can take; 0 if unknown.'),
  vouch_full: gauge('1 while the shard refuses writes, of all projects or of the largest.', {
    what: ['memory', 'store'],
  }),
  vouch_writes_waiting: gauge('Writes that wait for their commit.'),
  vouch_commit_seconds: histogram(CALL_SECONDS, 'Time until the log has made a frame durable.'),
  vouch_committed_bytes_total: counter('Bytes of the frames committed to the logs.'),
  vouch_committed_events_total: counter('Events committed to the logs.'),
  vouch_expired_records_total: counter('Records removed because they had expired.'),
  vouch_damaged: gauge(
    'Collections with a damaged part, found since the shard started. Part "vault" counts the master key too; part "opening" counts collections whose opening has stopped shards.',
    { part: ['log', 'vault', 'opening', 'snapshot', 'index', 'follower'] },
  ),
  vouch_openings_failed_total: counter(
    'Failed openings that this shard has recorded: its own event loop stalled, another shard did not answer, or a process ended. An end alone quarantines nothing.',
    { how: ['stalled', 'blocked', 'ended'] },
  ),
  vouch_watermark_writes_total: counter('Writes of a log’s watermark, by outcome.', { outcome: ['done', 'failed'] }),
  vouch_watermarks_behind: gauge('Collections whose log is longer than its watermark says.'),
};

const PLACEMENT = {
  vouch_shards: gauge('Shards with a live heartbeat.'),
  vouch_collections_unlisted: gauge(
    'Collections with an owner that are missing from the catalog, although they were not deleted.',
  ),
  vouch_owners_without_live_shard: gauge('Collections without a live owner.'),
  vouch_followers_present: gauge('Followers of collections on live shards.'),
  vouch_followers_wanted: gauge('Followers that collections should have.'),
  vouch_placement_leader: gauge('1 at the coordinator that places collections, 0 at the others.'),
  vouch_placement_move_seconds: histogram(MOVE_SECONDS, 'Time of a finished move, with its warm-up.', {
    kind: MOVE_KINDS,
  }),
  vouch_placement_moves_in_flight: gauge('Moves that are not finished yet.'),
  vouch_placement_moves_total: counter('Moves of collections that this coordinator has led, by kind and stage.', {
    kind: MOVE_KINDS,
    stage: ['started', 'finished', 'failed'],
  }),
};

const SERVICE_LOG = {
  vouch_log_size: gauge('Entries of the service log.'),
  vouch_log_published_size: gauge('Entries of the service log that its newest published checkpoint covers.'),
  vouch_log_entries_total: counter('Entries that this coordinator has appended to the service log.'),
  vouch_log_failures_total: counter('Rounds in which the service log could not be written, and that are repeated.'),
  vouch_log_cosignatures_total: counter('Checkpoints that a witness was asked to cosign, by outcome.', {
    witness: ANY,
    outcome: ['cosigned', 'failed'],
  }),
  vouch_log_stalled: gauge(
    '1 where the service log is stalled: it was rolled back or changed, or new entries have not been written, published or cosigned by a quorum for 30 s.',
  ),
};

const OWNERSHIP = {
  vouch_draining: gauge('1 while the shard moves its collections to other shards in order to end.'),
  vouch_lease_left_seconds: gauge(
    'Time that the shard may answer without renewing its lease; 0 when the lease has ended.',
  ),
  vouch_lease_lapses_total: counter('Times that the shard did not renew its lease in time and stopped answering.'),
  vouch_ownership_transfer_seconds: histogram(
    TRANSFER_SECONDS,
    'Time that writes waited while a collection was transferred to another shard, by outcome.',
    { outcome: ['done', 'refused'] },
  ),
  vouch_takeover_seconds: histogram(
    TRANSFER_SECONDS,
    'Time from learning of the ownership of a collection to serving it, by whether the shard had it open as a follower.',
    { as: ['follower', 'idle'] },
  ),
};

const FOLLOWERS = {
  vouch_collections_followed: gauge('Collections that the shard follows, by state.', {
    state: ['idle', 'opening', 'following', 'diverged'],
  }),
  vouch_feed_frames_total: counter('Committed frames sent to followers, applied by a follower, and missed by one.', {
    way: ['sent', 'applied', 'missed'],
  }),
  vouch_follower_compared_total: counter(
    'Times that a follower and its owner had the same state hash at the same event.',
  ),
  vouch_follower_diverged_total: counter(
    'Followers quarantined because their state differed from their owner’s. Never expected.',
  ),
  vouch_follower_lag_events: gauge('Events by which the slowest follower is behind its owner.'),
  vouch_follower_log_reads_total: counter('Times that a follower read the log because it had missed a frame.'),
  vouch_follower_searches_total: counter(
    'Searches received by a follower, by whether it answered or forwarded them to the owner.',
    { consistency: ['eventual', 'strong'], outcome: ['answered', 'forwarded'] },
  ),
  vouch_read_index_messages_total: counter(
    'Messages in which followers asked owners for the read index of strong searches; one for all that wait.',
  ),
  vouch_read_index_seconds: histogram(
    CALL_SECONDS,
    'Time from the arrival of a strong search at a follower until its copy had reached the read index.',
  ),
  vouch_follower_stale_seconds: gauge('Age that the oldest state of a follower may have; at most a day is reported.'),
};

const INDEXES = {
  vouch_index_build_progress: gauge('Progress of the least advanced build: 0 to 1.'),
  vouch_index_build_seconds: histogram(
    BUILD_SECONDS,
    'Time from the start of a build of an index to its end.',
    BUILD_LABELS,
  ),
  vouch_index_build_wait_seconds: histogram(
    BUILD_SECONDS,
    'Time from the order of a build of an index to its first turn.',
    { why: ['requested', 'maintenance'] },
  ),
  vouch_index_builds: gauge('Builds of indexes: running, paused during the turns of others, or waiting to begin.', {
    state: ['running', 'paused', 'waiting'],
  }),
  vouch_index_building: gauge('Indexes that are being built, are being loaded, or wait for it.'),
  vouch_index_bytes: gauge('Memory that indexes take beside the vectors.'),
  vouch_index_damaged_total: counter('Saved indexes that did not verify, were set aside and rebuilt.'),
  vouch_index_generations: gauge('Indexes that serve searches.', { kind: INDEX_KINDS }),
  vouch_index_load_seconds: histogram(BUILD_SECONDS, 'Time to verify and open a saved index.', BUILD_LABELS),
  vouch_index_tail_rows: gauge('Rows that no index has absorbed yet; searches scan them.'),
};

const AS_OF = {
  vouch_as_of_cache_bytes: gauge('Estimated memory of the past states that are kept.'),
  vouch_as_of_rebuild_seconds: histogram(REPLAY_SECONDS, 'Time to rebuild a past state from snapshot and log.', {
    outcome: ['done', 'failed'],
  }),
  vouch_as_of_searches_total: counter('Searches of past states, by where the state came from.', {
    from: ['current', 'memory', 'kept', 'rebuilt'],
  }),
  vouch_as_of_thread_restarts_total: counter('Times that the thread of past states failed and was started again.'),
};

const SNAPSHOTS = {
  vouch_snapshot_age_seconds: gauge('Highest age of the newest snapshot of an open collection.'),
  vouch_snapshot_bytes: gauge('Bytes of the snapshots on disk.'),
  vouch_snapshot_seconds: histogram(SNAPSHOT_SECONDS, 'Time to make a snapshot.', { outcome: ['done', 'failed'] }),
  vouch_snapshots_refused_total: counter(
    'Snapshots that no start used: damaged ones are set aside, unusable ones are left alone.',
    { reason: ['damaged', 'unusable'] },
  ),
  vouch_open_progress: gauge('Progress of the least advanced opening of a collection: 0 to 1; 1 without an opening.'),
  vouch_open_seconds: histogram(SNAPSHOT_SECONDS, 'Time to open a collection, from a snapshot or only from the log.', {
    from: ['snapshot', 'log'],
  }),
  vouch_log_check_failures_total: counter(
    'Checks of the log before a snapshot that found damage, or could not read the log and are repeated.',
    { reason: ['damaged', 'unreadable'] },
  ),
  vouch_log_checked_bytes_total: counter('Bytes of logs before a snapshot that were verified in the background.'),
  vouch_log_checks_waiting: gauge('Open collections whose log before their snapshot is not verified yet.'),
};

const PROCESSES = {
  vouch_cpu_seconds_total: counter('CPU time of the process.'),
  vouch_event_loop_lag_seconds: gauge('Delay of the event loop since the last reading, by share of the time.', {
    share: [0.5, 0.99, 1],
  }),
  vouch_pauses_total: counter(
    'Times that the process did not run for longer than 100 ms: it was stopped or suspended, or had no CPU.',
  ),
  vouch_resident_memory_bytes: gauge('Memory of the process.'),
  vouch_stall_seconds: histogram(
    STALL_SECONDS,
    'Stalls, by thread and by the call, route or task that ran; the log names the collection and the project.',
    { thread: ['loop', 'body'], op: ANY },
  ),
  vouch_stalls_total: counter(
    'Turns of the event loop longer than 100 ms, and of a thread for bodies longer than 1 s, in which the process worked.',
  ),
};

export const GROUPS = [
  { title: 'Requests', at: ['coordinator'], metrics: HTTP },
  { title: 'Refusals', at: ['coordinator', 'shard'], metrics: REFUSALS },
  { title: 'Calls to shards', at: ['coordinator'], metrics: CALLS_SENT },
  { title: 'Messages', at: ['coordinator', 'shard'], metrics: MESSAGES },
  { title: 'Calls at a shard', at: ['shard'], metrics: CALLS_RECEIVED },
  { title: 'Collections and commits', at: ['shard'], metrics: COLLECTIONS },
  { title: 'Placement', at: ['coordinator'], metrics: PLACEMENT },
  { title: 'Service log', at: ['coordinator'], metrics: SERVICE_LOG },
  { title: 'Ownership', at: ['shard'], metrics: OWNERSHIP },
  { title: 'Followers', at: ['shard'], metrics: FOLLOWERS },
  { title: 'Indexes', at: ['shard'], metrics: INDEXES },
  { title: 'Past states', at: ['shard'], metrics: AS_OF },
  { title: 'Snapshots and restarts', at: ['shard'], metrics: SNAPSHOTS },
  { title: 'Processes', at: ['coordinator', 'shard'], metrics: PROCESSES },
] as const satisfies readonly Group[];

export type MetricTable = typeof HTTP &
  typeof REFUSALS &
  typeof CALLS_SENT &
  typeof MESSAGES &
  typeof CALLS_RECEIVED &
  typeof COLLECTIONS &
  typeof PLACEMENT &
  typeof SERVICE_LOG &
  typeof OWNERSHIP &
  typeof FOLLOWERS &
  typeof INDEXES &
  typeof AS_OF &
  typeof SNAPSHOTS &
  typeof PROCESSES;

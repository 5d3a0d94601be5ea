/** Answers of a server to requests of JetStream's API. */

import type { Stream } from './stream.js';
import type { Applied, StoredMessage, StreamSettings } from './streamState.js';

/** Refusals with the codes of nats-server's `server/errors.json`. */
export const REFUSED = {
  noMessage: { code: 404, err_code: 10_037, description: 'no message found' },
  noStream: { code: 404, err_code: 10_059, description: 'stream not found' },
  nameInUse: { code: 400, err_code: 10_058, description: 'stream name already in use with a different configuration' },
  replicas: { code: 500, err_code: 10_074, description: 'replicas > 1 not supported in non-clustered mode' },
  noPeers: { code: 400, err_code: 10_005, description: 'no suitable peers for placement' },
  noConsumer: { code: 404, err_code: 10_014, description: 'consumer not found' },
} as const;

export const wrongSequence = (last: number) => ({
  code: 400,
  err_code: 10_071,
  description: `wrong last sequence: ${last}`,
});

/** Refuses a message whose subject has another message in replication; since nats-server 2.11. */
export const WRONG_SEQUENCE_IN_FLIGHT = { code: 400, err_code: 10_164, description: 'wrong last sequence' } as const;

export type Refusal = { readonly code: number; readonly err_code: number; readonly description: string };

export const refused = (error: Refusal): object => ({ type: 'io.nats.jetstream.api.v1.error_response', error });

const DEFAULTS = {
  ...{ retention: 'limits', max_consumers: -1, max_msgs: -1, max_bytes: -1, max_age: 0, max_msgs_per_subject: -1 },
  ...{ max_msg_size: -1, discard: 'old', storage: 'file', num_replicas: 1, duplicate_window: 120_000_000_000 },
};

/** The stored form of requested settings: a server leaves out what is false. */
export function settingsOf(wanted: Record<string, unknown>): StreamSettings {
  const settings: Record<string, unknown> = { ...DEFAULTS, ...wanted };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== false)) as StreamSettings;
}

/** Whether two configurations agree in the settings that identify a stream. */
export const isSame = (one: StreamSettings, other: StreamSettings): boolean =>
  JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(other).sort());

export interface InfoQuery {
  readonly subjects_filter?: string;
}

interface CachedInfo {
  readonly key: string;
  /** The answer as JSON. */
  readonly text: string;
}

/** Last answer of each server about each stream: shards ask for all of them every second. */
const cachedInfos = new WeakMap<Stream, Map<string, CachedInfo>>();

/** Returns the description of a stream as JSON. */
export function streamInfo(
  stream: Stream,
  server: string,
  up: (server: string) => boolean,
  { subjects_filter: filter }: InfoQuery = {},
): string {
  const { count } = stream.stateAt(server);
  const key = `${filter} ${stream.appliedAt(server)} ${count} ${stream.servers.map(up)}`;
  let byServer = cachedInfos.get(stream);
  if (byServer === undefined) {
    byServer = new Map();
    cachedInfos.set(stream, byServer);
  }
  const known = byServer.get(server);
  if (known?.key === key) return known.text;
  const text = JSON.stringify(freshInfo(stream, server, up, filter));
  byServer.set(server, { key, text });
  return text;
}

function freshInfo(
  stream: Stream,
  server: string,
  up: (server: string) => boolean,
  filter: string | undefined,
): object {
  const state = stream.stateAt(server);
  const wanted = filter === undefined ? [] : state.from(0, filter).map((seq) => state.get(seq)!.subject);
  const subjects: Record<string, number> = {};
  for (const subject of wanted) subjects[subject] = (subjects[subject] ?? 0) + 1;
  const first = state.get(state.firstSeq);
  const last = state.get(state.lastSeq);
  return {
    type: 'io.nats.jetstream.api.v1.stream_info_response',
    ...{ total: Object.keys(subjects).length, offset: 0, limit: 100_000 },
    config: state.settings,
    created: stream.created,
    state: {
      ...{ messages: state.count, bytes: state.bytes, consumer_count: 0 },
      ...{ first_seq: state.firstSeq, first_ts: timeText(first?.timeMs ?? 0) },
      ...{ last_seq: state.lastSeq, last_ts: timeText(last?.timeMs ?? 0) },
      ...{ num_subjects: state.subjects.size, num_deleted: state.lastSeq - state.firstSeq + 1 - state.count },
      ...(filter !== undefined && { subjects }),
    },
    cluster: {
      name: 'vouch',
      leader: server,
      ...(stream.isReplicated && {
        replicas: stream.servers
          .filter((other) => other !== server)
          .map((name) => ({ name, current: true, active: 0, ...(up(name) ? {} : { offline: true }) })),
      }),
    },
  };
}

const timeText = (ms: number): string => new Date(ms).toISOString();

export interface MessageQuery {
  readonly seq?: number;
  readonly next_by_subj?: string;
  readonly last_by_subj?: string;
}

export function foundMessage(stream: Stream, server: string, query: MessageQuery): StoredMessage | undefined {
  const state = stream.stateAt(server);
  if (query.last_by_subj !== undefined) return state.last(query.last_by_subj);
  if (query.next_by_subj !== undefined) return state.next(query.seq ?? 0, query.next_by_subj);
  return state.get(query.seq ?? 0);
}

export const messageAnswer = ({ subject, seq, headers, body, timeMs }: StoredMessage): object => ({
  type: 'io.nats.jetstream.api.v1.stream_msg_get_response',
  message: {
    ...{ subject, seq, time: timeText(timeMs) },
    ...(headers.length > 0 && { hdrs: headers.toString('base64') }),
    ...(body.length > 0 && { data: body.toString('base64') }),
  },
});

/** Headers of a message that is read directly, with its own. */
export function directHeaders(stream: Stream, { subject, seq, headers, timeMs }: StoredMessage): Buffer {
  const own = headers.length === 0 ? 'NATS/1.0\r\n' : headers.toString('latin1').slice(0, -2);
  const added = {
    ...{ 'Nats-Stream': stream.name, 'Nats-Subject': subject, 'Nats-Sequence': seq },
    'Nats-Time-Stamp': timeText(timeMs),
  };
  const lines = Object.entries(added).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${own}${lines.join('')}\r\n`, 'latin1');
}

/** Answer to the publisher of a message. */
export function acknowledgement(stream: Stream, applied: Applied): object {
  if (applied.kind === 'stored') return { stream: stream.name, seq: applied.seq };
  if (applied.kind === 'wrong sequence')
    return { ...refused(applied.last < 0 ? WRONG_SEQUENCE_IN_FLIGHT : wrongSequence(applied.last)) };
  return {};
}

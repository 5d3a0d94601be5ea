/** Single messages of the log streams, read from the stream's leader or from whichever replica answers first. */
import { DirectMsgHeaders, type Msg } from 'nats';
import { unavailable } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal } from '../natsError.js';
import type { StoredFrame } from './eventLog.js';

export interface StoredMessage extends StoredFrame {
  readonly subject: string;
}

/** `sequence` alone: the message there; with `next`: the first of that subject from there on; `last`: the subject's last. */
export type Query = { readonly sequence: number; readonly next?: string } | { readonly last: string };

/** Shape of `io.nats.jetstream.api.v1.stream_msg_get_response`. */
interface GetResponse {
  readonly error?: { readonly code: number; readonly err_code: number; readonly description: string };
  readonly message: { readonly subject: string; readonly seq: number; readonly data?: string };
}

/** Enough for the largest frame; a server that died with the question never answers it, nor does a stream without leader. */
const PATIENCE = { tryMs: 4_000, tries: 3 };
const STATUS_NO_MESSAGE = 404;

/**
 * From the leader, which has every acknowledged message. A leader that was deposed and has not noticed may answer
 * something older; an append that builds upon it is refused by the new one. Bodies come as base64 within JSON, so this
 * costs more than `readAnywhere`: 0.3 s for a frame of 16 MiB.
 */
export async function readFromLeader(
  connection: ClusterConnection,
  stream: string,
  query: Query,
  patience: typeof PATIENCE = PATIENCE,
): Promise<StoredMessage | undefined> {
  const answer = await ask(connection, `$JS.API.STREAM.MSG.GET.${stream}`, query, patience);
  const { error, message } = answer.json<GetResponse>();
  if (error) {
    const refusal = new JetStreamRefusal(error.err_code, error.description, error.code === 503);
    if (isRefusal(refusal, JETSTREAM.noMessageFound)) return undefined;
    throw refusal;
  }
  return { subject: message.subject, position: message.seq, bytes: Buffer.from(message.data ?? '', 'base64') };
}

/** From any replica, as raw bytes: a replica that lags may not have the newest messages yet, but those it has are right. */
export async function readAnywhere(
  connection: ClusterConnection,
  stream: string,
  query: Extract<Query, { sequence: number }>,
): Promise<StoredMessage | undefined> {
  const { headers, data } = await ask(connection, `$JS.API.DIRECT.GET.${stream}`, query, PATIENCE);
  if (headers?.code === STATUS_NO_MESSAGE) return undefined;
  if (headers?.code) throw unavailable('the log could not be read; retry shortly');
  // Its own headers, which follow the server's, are none: the leader tells them from its body without reading them.
  if (!headers?.has(DirectMsgHeaders.Sequence)) return readFromLeader(connection, stream, query);
  const position = Number(headers.get(DirectMsgHeaders.Sequence));
  return { subject: headers.get(DirectMsgHeaders.Subject), position, bytes: data };
}

async function ask(
  connection: ClusterConnection,
  subject: string,
  query: Query,
  { tryMs, tries }: typeof PATIENCE,
): Promise<Msg> {
  const request = JSON.stringify(
    'last' in query ? { last_by_subj: query.last } : { seq: query.sequence, next_by_subj: query.next },
  );
  for (let attempt = 1; ; attempt++) {
    try {
      return await connection.call(() => connection.nc.request(subject, request, { timeout: tryMs }));
    } catch (error) {
      if (attempt === tries || !connection.connected) throw error;
    }
  }
}

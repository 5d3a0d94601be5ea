/** Single messages of streams, read from the stream's leader or from any replica. */
import { DirectMsgHeaders, type Msg } from 'nats';
import { isUnavailable, unavailable } from '../errors/errors.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM, JetStreamRefusal, NoJetStream, refusalOf } from '../nats/natsError.js';
import type { StoredFrame } from './eventLog.js';

export interface StoredMessage extends StoredFrame {
  readonly subject: string;
}

/** `sequence`: the message there; with `next`: the first message of that subject from there on. `last`: the subject's last message. */
export type Query = { readonly sequence: number; readonly next?: string } | { readonly last: string };

/** `io.nats.jetstream.api.v1.stream_msg_get_response`. */
interface GetResponse {
  readonly error?: { readonly code: number; readonly err_code: number; readonly description: string };
  readonly message: { readonly subject: string; readonly seq: number; readonly data?: string };
}

/** Enough time for the largest frame. A server that dies with the request never answers it, nor does a stream without a leader. */
const PATIENCE = { tryMs: 4_000, tries: 3 };
const STATUS_NO_MESSAGE = 404;

/**
 * Reads from the leader, which has every acknowledged message. A leader that has lost its majority is a stale replica. It may
 * answer an older message; then an append after that is refused. Bodies come as base64 in JSON, so this costs more than
 * `readAnywhere`: 0.3 s for a frame of 16 MiB.
 */
export async function readFromLeader(
  connection: ClusterConnection,
  stream: string,
  query: Query,
  patience: typeof PATIENCE = PATIENCE,
): Promise<StoredMessage | undefined> {
  const answer = await ask(connection, `${connection.api}.STREAM.MSG.GET.${stream}`, query, patience);
  const { error, message } = answer.json<GetResponse>();
  if (error) {
    const refusal = refusalOf(error.code, error.err_code, error.description);
    if (isRefusal(refusal, JETSTREAM.noMessageFound)) return undefined;
    throw refusal;
  }
  return { subject: message.subject, position: message.seq, bytes: Buffer.from(message.data ?? '', 'base64') };
}

/** Reads raw bytes from any replica. A stale replica may lack the newest messages. */
export async function readAnywhere(
  connection: ClusterConnection,
  stream: string,
  query: Extract<Query, { sequence: number }>,
): Promise<StoredMessage | undefined> {
  const { headers, data } = await ask(connection, `${connection.api}.DIRECT.GET.${stream}`, query, PATIENCE);
  if (headers?.code === STATUS_NO_MESSAGE) return undefined;
  if (headers?.code) throw unavailable('the log could not be read; retry shortly');
  // The headers are not the server's: the leader sends headers and body apart.
  if (!headers?.has(DirectMsgHeaders.Sequence)) return readFromLeader(connection, stream, query);
  const position = Number(headers.get(DirectMsgHeaders.Sequence));
  return { subject: headers.get(DirectMsgHeaders.Subject), position, bytes: data };
}

/**
 * Overwrites the bytes of a message in all files of the server. False if the message was gone already. Then another process has
 * overwritten it, or the server was killed while it did so, and may have the bytes.
 */
export async function overwriteMessage(
  connection: ClusterConnection,
  stream: string,
  sequence: number,
  patience: typeof PATIENCE = PATIENCE,
): Promise<boolean> {
  try {
    await connection.call(() => connection.jsm.streams.deleteMessage(stream, sequence, true));
    return true;
  } catch (error) {
    if (!(error instanceof JetStreamRefusal) || error.temporary) throw error;
    if ((await readFromLeader(connection, stream, { sequence }, patience)) !== undefined) throw error;
    return false;
  }
}

/** Whether a repetition may succeed a little later. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof JetStreamRefusal ? error.temporary : isUnavailable(error);

/** Whether a message may have been stored although its publisher got this error. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  !(error instanceof JetStreamRefusal) && !(error instanceof NoJetStream);

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

/** Refusals of work because of too much load. */
import { VouchError } from './errors.js';

/** The message for a caller by the reason, which is the label of `vouch_refused_total`. */
const MESSAGES = {
  /** Coordinator: requests under way, of all projects or of one. */
  requests: 'too many requests are under way',
  project_requests: 'too many requests of your project are under way',
  /** Coordinator: its event loop has taken in enough for one turn. */
  turn: 'requests come faster than they can be read',
  /** Coordinator: bytes of bodies under way, and bodies that wait for a thread that parses them. */
  body_bytes: 'too many large bodies are under way',
  /** The connection is closed: its answer has begun. */
  answer_bytes: 'too many large answers wait for clients that are slow to take them',
  body_queue: 'too many large bodies wait to be read',
  /** Coordinator: requests for the metrics while they are being made. */
  metrics: 'too many ask for the metrics',
  /** What this process has asked others and what is not answered. */
  messages: 'too many questions to other processes are under way',
  /** Shard: calls, or bytes of them, under way. */
  calls: 'the shard has too many calls under way',
  /** Shard: reads of a collection that would have to wait too long, or have. */
  read_queue: 'the collection is asked more than its shard can answer',
  read_waited: 'the collection is asked more than its shard can answer',
  /** Shard: writes of a collection, too many of them or for too long. */
  write_queue: 'too many writes wait for this collection',
  write_waited: 'the writes of this collection wait too long',
  /** Shard: writes and openings of collections while its memory is nearly full. */
  memory: 'the memory of the shard is nearly full',
  /** Shard: repeated writes of a collection whose receipts are being made again. */
  receipts: 'too many repeated writes wait for their receipts',
} as const;

export type RefusalReason = keyof typeof MESSAGES;

const RETRY_AFTER_SECS = 1;

/** A refusal: nothing was done, and a later retry may succeed. */
export class Overloaded extends VouchError {
  constructor(readonly reason: RefusalReason) {
    super('unavailable', `${MESSAGES[reason]}; retry shortly`, { retryAfterSecs: RETRY_AFTER_SECS });
  }
}

const ERRORS = new Map((Object.keys(MESSAGES) as RefusalReason[]).map((reason) => [reason, new Overloaded(reason)]));

/** Returns the one error of a reason: making an error, with its stack, doubles the cost of a refusal. */
export const overloaded = (reason: RefusalReason): Overloaded => ERRORS.get(reason)!;

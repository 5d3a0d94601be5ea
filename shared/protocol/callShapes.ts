/**
 * Checks the shape of messages before they are read: any program with access to the NATS server can send anything.
 */
import typia, { type tags } from 'typia';
import type { Finite } from '../model/whole.js';
import type { ControlCall, ReadCall, ShardCall } from './calls.js';
import type { WriteCall } from './writes.js';

type VisibleAscii = string & tags.Pattern<'^[!-~]{1,128}$'>;

/** The actor of a write: its request id is in no other place of the message, and may be absent. */
export type SentActor = readonly [
  keyId: string & tags.Pattern<'^[!-~]{1,64}$'>,
  onBehalfOf: VisibleAscii | null,
  requestId: VisibleAscii | null,
];

/** Request id, deadline (unix milliseconds), call, and its actor; null: the service itself. */
export type SentCall<C> = readonly [requestId: string, deadlineMs: Finite, call: C, actor: SentActor | null];
export type AreCalls<C> = (value: unknown) => value is SentCall<C>[];

// Each costs less than a microsecond for a call, and some nanoseconds for each item of a batch.
export const areReads: AreCalls<ReadCall> = typia.createIs<SentCall<ReadCall>[]>();
export const areWrites: AreCalls<WriteCall> = typia.createIs<SentCall<WriteCall>[]>();
export const areControls: AreCalls<ControlCall> = typia.createIs<SentCall<ControlCall>[]>();
export const areShardCalls: AreCalls<ShardCall> = typia.createIs<SentCall<ShardCall>[]>();

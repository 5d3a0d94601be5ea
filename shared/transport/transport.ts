/** Interface for requests and answers between processes. A subject is an address, whose server may change at any time. */

import type { Actor } from '../model/actor.js';
import type { AuditedState } from '../model/readAudit.js';

/** Values that become bytes only where they leave the process. Neither side changes them. */
export interface Unpacked {
  readonly values: unknown;
  /** An upper bound of the packed bytes. */
  readonly sizeBytes: number;
  pack(): Uint8Array;
}

/** Body of a message. Between two processes it is bytes. */
export type Body = Uint8Array | Unpacked;

export const packedBody = (body: Body): Uint8Array => (body instanceof Uint8Array ? body : body.pack());

export const bodySizeBytes = (body: Body): number => (body instanceof Uint8Array ? body.length : body.sizeBytes);

export interface Envelope {
  /** Appears in every log line that the message causes. */
  readonly requestId: string;
  /** Unix milliseconds. A request that is not started by then is dropped. */
  readonly deadlineMs: number;
  /** The originator of the writes; absent: the service itself. */
  readonly actor?: Actor | undefined;
  /** Receives the state that answers a read of a collection whose reads are audited. Not called for other collections. */
  readonly onAudited?: ((state: AuditedState) => void) | undefined;
}

export interface Message extends Envelope {
  readonly subject: string;
  readonly body: Body;
  /** Correction for times in the body, which are by the sender's clock; `deadlineMs` is already corrected. */
  readonly shiftMs: number;
}

/** Receives a published message, without an answer. */
export type Listener = (subject: string, body: Uint8Array) => void;

/** Returns the body of the answer, which includes errors of the call; a throw is answered as `unavailable`. */
export type Handler = (message: Message) => Promise<Body>;

export interface Serving {
  /** Takes no new message, and resolves when those in progress are answered. */
  stop(): Promise<void>;
}

/** Unanswered requests, and bytes that wait to be sent. */
export interface TransportLoad {
  readonly requests: number;
  readonly bytes: number;
  readonly unsentBytes: number;
}

export interface Transport {
  /** The most bytes that the body of a request or of an answer can have. */
  readonly maxPayloadBytes: number;
  readonly load: TransportLoad;
  /**
   * Throws Overloaded if too much is unanswered. Throws VouchError `unavailable` if no process serves the subject, the deadline
   * passes, or the connection is lost. The outcome is then unknown, except after `NotServed` and `NotSent`. `AnswerLost` says,
   * long before the deadline, that no answer can arrive.
   */
  request(subject: string, body: Body, envelope: Envelope): Promise<Body>;
  /** Resolves when every other process reaches the subject. `*` matches one token. */
  serve(subject: string, handler: Handler): Promise<Serving>;
  /** Sends to all listeners, at most once each, in order. Never throws. */
  publish(subject: string, body: Uint8Array): void;
  /** Resolves when the listener receives every message published from now on. Its errors are logged. */
  listen(subject: string, listener: Listener): Promise<Serving>;
}

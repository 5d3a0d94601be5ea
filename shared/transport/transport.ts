/** Requests and answers between processes. A subject is an address; who serves it may change at any time. */

export interface Envelope {
  /** Travels with the message into every log line it causes. */
  readonly requestId: string;
  /** Unix milliseconds. What is not started by then is dropped unanswered. */
  readonly deadlineMs: number;
}

export interface Message extends Envelope {
  readonly subject: string;
  readonly body: Uint8Array;
  /** What to add to instants of the sender's clock, such as the body has; done for `deadlineMs` already. */
  readonly shiftMs: number;
}

/** Of what was published: nobody waits for an answer, so there is no deadline. */
export type Listener = (subject: string, body: Uint8Array) => void;

/** Returns the body of the answer. A handler answers its own errors in the body; a throw is answered as `unavailable`. */
export type Handler = (message: Message) => Promise<Uint8Array>;

export interface Serving {
  /** Takes no new message, and resolves when those under way are answered. */
  stop(): Promise<void>;
}

/** Questions that are not answered yet, and what waits to be sent. */
export interface TransportLoad {
  readonly requests: number;
  readonly bytes: number;
  readonly unsentBytes: number;
}

export interface Transport {
  /** The largest body that `request` and an answer can carry. */
  readonly maxPayloadBytes: number;
  readonly load: TransportLoad;
  /**
   * Throws Overloaded where too much is unanswered, VouchError `unavailable` when nobody serves the subject (at once), when the deadline passes, or when the
   * connection is lost. The outcome at the other side is then unknown, except for `NobodyServes` and `NotSent`; where the
   * answer is known to come no more, that is `AnswerLost`, long before the deadline.
   */
  request(subject: string, body: Uint8Array, envelope: Envelope): Promise<Uint8Array>;
  /** Resolves when the subject is served, as seen from every other process. `*` stands for one token. */
  serve(subject: string, handler: Handler): Promise<Serving>;
  /** Sends to everyone who listens now: at most once each, in order; lost where the connection is. Never throws. */
  publish(subject: string, body: Uint8Array): void;
  /**
   * Resolves when what is published from now on, by any process that learns of it, is heard. `stop` hears nothing more.
   * What the listener throws is logged.
   */
  listen(subject: string, listener: Listener): Promise<Serving>;
}

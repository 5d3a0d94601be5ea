/** What nats.js throws, as errors that may be shown to a caller. */
import { ErrorCode, NatsError } from 'nats';
import { unavailable, VouchError } from './errors.js';

/** Codes of JetStream's answers, from `server/errors.json` of nats-server. */
export const JETSTREAM = {
  noSuitablePeers: 10_005,
  noMessageFound: 10_037,
  streamNameInUse: 10_058,
  streamNotFound: 10_059,
  wrongLastSequence: 10_071,
  replicasNotSupported: 10_074,
  /** As `wrongLastSequence`, of a message that is still under way between the servers; since 2.11. */
  wrongLastSequenceUnderWay: 10_164,
} as const;

/** JetStream understood a request and refused it: nothing was stored. */
export class JetStreamRefusal extends VouchError {
  constructor(
    readonly jetStreamCode: number,
    description: string,
    /** Whether the same request can succeed a little later: no leader yet, a server that is still starting. */
    readonly temporary: boolean,
  ) {
    super('unavailable', `JetStream refused: ${description}`);
    this.name = 'JetStreamRefusal';
  }
}

/** Nobody took the request: nothing was stored. */
export class NoJetStream extends VouchError {
  constructor() {
    super('unavailable', 'JetStream is not available; retry shortly');
    this.name = 'NoJetStream';
  }
}

export const isRefusal = (error: unknown, code: number): boolean =>
  error instanceof JetStreamRefusal && error.jetStreamCode === code;

/** VouchErrors travel untouched; the outcome of what became `unavailable` here is unknown, but for the two classes above. */
export function fromNats(error: unknown): VouchError {
  if (error instanceof VouchError) return error;
  if (!(error instanceof NatsError)) return unavailable('the request to NATS failed', error);
  if (error.api_error) {
    const { code, err_code = 0, description } = error.api_error;
    return new JetStreamRefusal(err_code, description, code === 503);
  }
  switch (error.code) {
    case ErrorCode.NoResponders:
    case ErrorCode.JetStreamNotEnabled:
      return new NoJetStream();
    case ErrorCode.MaxPayloadExceeded:
      return new VouchError('payload_too_large', 'the message is larger than the NATS server takes', { cause: error });
    case ErrorCode.Timeout:
      return unavailable('NATS did not answer in time', error);
    default:
      return unavailable('the request to NATS failed', error);
  }
}

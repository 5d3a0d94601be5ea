/** Converts errors of nats.js to errors for a caller. */
import { ErrorCode, NatsError } from 'nats';
import { unavailable, VouchError } from '../errors/errors.js';
import { messageText } from '../errors/errorTable.js';
import { commandText } from '../process/commandText.js';

/** Codes of JetStream's answers, from `server/errors.json` of nats-server. */
export const JETSTREAM = {
  /** The limit of the account is reached. */
  accountResourcesExceeded: 10_002,
  noSuitablePeers: 10_005,
  /** `max_file_store` is reached. */
  insufficientResources: 10_023,
  noMessageFound: 10_037,
  storageExceeded: 10_047,
  streamNameInUse: 10_058,
  streamNotFound: 10_059,
  wrongLastSequence: 10_071,
  replicasNotSupported: 10_074,
  /** A message of the subject is in flight, so its last sequence is not known yet. */
  wrongLastSequenceInFlight: 10_164,
} as const;

/** Error of a request that JetStream refused: no message was stored. */
export class JetStreamRefusal extends VouchError {
  constructor(
    readonly jetStreamCode: number,
    description: string,
    /** Whether the request can succeed later: no leader is elected, the server is starting, or a message is in flight. */
    readonly temporary: boolean,
  ) {
    super('unavailable', `JetStream refused: ${description}`);
    this.name = 'JetStreamRefusal';
  }
}

export const refusalOf = (status: number, code: number, description: string): JetStreamRefusal =>
  new JetStreamRefusal(code, description, status === 503 || code === JETSTREAM.wrongLastSequenceInFlight);

/** Error of a request that no server accepted: no message was stored. */
export class NoJetStream extends VouchError {
  constructor() {
    super('unavailable', 'JetStream is not available; retry shortly');
    this.name = 'NoJetStream';
  }
}

export const isRefusal = (error: unknown, code: number): boolean =>
  error instanceof JetStreamRefusal && error.jetStreamCode === code;

/** Error of a request that the user lacks the permission for: no message was stored. */
export class NotPermitted extends VouchError {
  constructor(cause: Error) {
    super('unavailable', `the NATS server does not permit it: ${cause.message}`, { cause });
    this.name = 'NotPermitted';
  }
}

/** Handler for a failed change of a stream or bucket: throws `unavailable` that names the admin for NotPermitted, else the error. */
export const leftToAdmin =
  (problem: string) =>
  (error: unknown): never => {
    if (!isNatsError(error, ErrorCode.PermissionsViolation) && !(error instanceof NotPermitted)) throw error;
    throw unavailable(`${problem}, which only the admin may change: run ${commandText('keys', 'streams')}`, error);
  };

export const isNatsError = (error: unknown, ...codes: readonly ErrorCode[]): boolean =>
  error instanceof NatsError && codes.includes(error.code as ErrorCode);

/** Returns VouchErrors unchanged. The outcome of `unavailable` is unknown, except for the classes above. */
export function fromNats(error: unknown): VouchError {
  if (error instanceof VouchError) return error;
  if (!(error instanceof NatsError)) return unavailable('the request to NATS failed', error);
  if (error.api_error) {
    const { code, err_code = 0, description } = error.api_error;
    return refusalOf(code, err_code, description);
  }
  switch (error.code) {
    case ErrorCode.NoResponders:
    case ErrorCode.JetStreamNotEnabled:
      return new NoJetStream();
    case ErrorCode.MaxPayloadExceeded:
      return new VouchError('payload_too_large', messageText('payload_too_large', 'natsMessage'), { cause: error });
    case ErrorCode.PermissionsViolation:
      return new NotPermitted(error);
    case ErrorCode.Timeout:
      return unavailable('NATS did not answer in time', error);
    default:
      return unavailable('the request to NATS failed', error);
  }
}

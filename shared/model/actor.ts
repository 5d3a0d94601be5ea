/** The originator of a write: an API key, with what its caller states, or the service itself. */
/** Largest number of characters of `on_behalf_of` and of a request id. */
export const ACTOR_TEXT_MAX = 128;
/** Largest number of characters of a key id. */
export const ACTOR_KEY_ID_MAX = 64;

export interface Actor {
  /** The id of the API key; `system` for what the service does by itself. */
  readonly keyId: string;
  /** The header `Vouch-On-Behalf-Of`, as the caller sent it; null without one. */
  readonly onBehalfOf: string | null;
  /** The request's `x-request-id`; null for what the service does by itself. */
  readonly requestId: string | null;
}

export const SYSTEM_KEY_ID = 'system';
export const SYSTEM: Actor = { keyId: SYSTEM_KEY_ID, onBehalfOf: null, requestId: null };

/** Whether a text is 1 to `max` visible ASCII characters. */
export const isVisibleAscii = (text: string, max: number): boolean =>
  text.length >= 1 && text.length <= max && VISIBLE_ASCII.test(text);

const VISIBLE_ASCII = /^[\x21-\x7e]*$/;

export const isSameActor = (a: Actor | null, b: Actor | null): boolean =>
  a === b ||
  (a !== null && b !== null && a.keyId === b.keyId && a.onBehalfOf === b.onBehalfOf && a.requestId === b.requestId);

/** An actor in JSON, as stored and as shown. */
export type NamedActor = {
  /** The id of the API key; `system` for what the service does by itself. */
  readonly key_id: string;
  /** The value of the header `Vouch-On-Behalf-Of`. */
  readonly on_behalf_of?: string;
  /** The `x-request-id` of the request. */
  readonly request_id?: string;
};

export const namedActor = ({ keyId, onBehalfOf, requestId }: Actor): NamedActor => ({
  key_id: keyId,
  ...(onBehalfOf === null ? {} : { on_behalf_of: onBehalfOf }),
  ...(requestId === null ? {} : { request_id: requestId }),
});

export const actorOf = ({ key_id, on_behalf_of, request_id }: NamedActor): Actor => ({
  keyId: key_id,
  onBehalfOf: on_behalf_of ?? null,
  requestId: request_id ?? null,
});

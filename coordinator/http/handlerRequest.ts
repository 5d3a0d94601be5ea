/** A request that has passed every check of the edge, as passed to its handler. */
import type { Config } from '../../config/config.js';
import type { Bucket } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { type ErrorCode, isCollectionNotFound, isForbidden, refusal, unavailable } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { AuditedState } from '../../shared/model/readAudit.js';
import type { Call, ResultOf } from '../../shared/protocol/calls.js';
import { type KeyCollections, mayUse } from '../../shared/registry/keyCollections.js';
import { inSlices, Slice } from '../../shared/scheduling/slice.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { AccessEntries } from '../access/accessEntries.js';
import type { Caller } from '../auth/authenticate.js';
import type { Keyring } from '../auth/keyring.js';
import type { Collection } from '../cluster/catalog/collection.js';
import type { Backend } from '../cluster/clusterBackend.js';
import { invalid } from '../contract/refusal.js';
import { isCollectionName } from '../contract/values.js';
import type { ServedLog } from '../serviceLog/serviceLog.js';
import type { Auditing } from './auditing.js';
import type { EdgeMetrics } from './edgeMetrics.js';
import { jsonInSteps } from './jsonWriter.js';
import type { Reply } from './reply.js';
import type { SharedAnswer } from './sharedAnswer.js';
import type { SharedReads } from './sharedReads.js';

const DEFAULT_COLLECTION = 'default';
const SHOWN_CHARS = 64;
const WHOLE = /^\d{1,16}$/;

/** The errors of `find`. */
export const COLLECTION_ERRORS = ['collection_not_found', 'conflict'] as const satisfies readonly ErrorCode[];

/** Answers that need no key, or cover all projects. */
export interface OpenAnswers {
  readonly health: SharedAnswer<Reply>;
  readonly metrics: SharedAnswer<Reply>;
  readonly openApi: Reply;
}

/** The parts of the coordinator that handlers use. */
export interface Services {
  readonly backend: Backend;
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly metrics: EdgeMetrics;
  /** BUCKETS.keys, and this process's copy of it. */
  readonly keys: Bucket;
  readonly keyring: Keyring;
  /** The public keys that checkpoints are signed with; see `shared/registry/signers.ts`. */
  readonly signers: Bucket;
  readonly serviceLog: ServedLog;
  readonly open: OpenAnswers;
  readonly sharedReads: SharedReads;
  readonly accessEntries: AccessEntries;
}

export class HandlerRequest<Body = unknown, Query = unknown> {
  readonly body: Body;
  readonly query: Query;
  /** The decoded parameters of the path, in its order. */
  readonly parameters: readonly string[];
  /** The value of the header. */
  readonly idempotencyKey: string | undefined;
  /** The value of the header; empty without it. */
  readonly contentType: string;
  readonly caller: Caller;
  readonly envelope: Envelope;
  readonly auditing: Auditing;
  /** Collection id → the alias by which the request named it. */
  aliases: Map<number, string> | undefined;

  constructor(
    readonly services: Services,
    given: Pick<
      HandlerRequest<Body, Query>,
      'body' | 'query' | 'parameters' | 'idempotencyKey' | 'contentType' | 'caller' | 'envelope' | 'auditing'
    > & { readonly aliases?: Map<number, string> | undefined },
    /**
     * Waits for work that other requests share. Rejects at the deadline, and as soon as the client goes away. The request then
     * returns its place; the work continues for the other requests.
     */
    readonly wait: <T>(shared: Promise<T>) => Promise<T>,
  ) {
    this.body = given.body;
    this.query = given.query;
    this.parameters = given.parameters;
    this.idempotencyKey = given.idempotencyKey;
    this.contentType = given.contentType;
    this.caller = given.caller;
    this.envelope = given.envelope;
    this.auditing = given.auditing;
    this.aliases = given.aliases;
  }

  /**
   * The caller's collection of this name; null or undefined: the one named `default`. Throws `collection_not_found`, also for an
   * impossible name, and `conflict` while it is being imported.
   */
  async find(name: string | null | undefined): Promise<Collection> {
    const wanted = collectionName(name);
    let collection: Collection;
    try {
      collection = await this.services.backend.find(this.caller.project, wanted);
    } catch (error) {
      this.assertMayUse(wanted);
      throw name === null || name === undefined ? unnamed(error) : error;
    }
    // Before the key is judged: a refusal is an entry of the access log too.
    if (collection.auditReads !== undefined) this.auditing.audit?.named(collection);
    this.assertMayUse(collection.name, wanted);
    if (collection.name !== wanted) {
      this.aliases ??= new Map();
      this.aliases.set(collection.id, wanted);
    }
    return collection;
  }

  /** Throws `forbidden` if the key may not create, import or delete a collection of this name, which may be an alias. */
  async assertMayTake(name: string): Promise<void> {
    if (this.caller.collections === null) return;
    await this.find(name).catch((error: unknown) => {
      if (isForbidden(error)) throw error;
    });
    this.assertMayUse(name);
  }

  /**
   * The collection that was found under the name, if the key may use it: an alias counts as the collection that it leads to. Throws
   * `forbidden` for others, even if they do not exist.
   */
  async usable<C extends { readonly name: string }>(wanted: string, found: Promise<C>): Promise<C> {
    const collection = await found.catch((error: unknown) => {
      this.assertMayUse(wanted);
      throw error;
    });
    this.assertMayUse(collection.name, wanted);
    return collection;
  }

  /**
   * Throws `forbidden` if the key may not use the collection of this name, which is not an alias. The message has `wanted`, the name
   * in the request: this key may not learn to which collection an alias leads.
   */
  assertMayUse(name: string, wanted = name): void {
    const { collections } = this.caller;
    if (!mayUse(collections, name))
      throw refusal('forbidden', 'collection', { name: wanted, own: shownCollections(collections) });
  }

  /** This request with another deadline. */
  until(deadlineMs: number): HandlerRequest<Body, Query> {
    return new HandlerRequest(this.services, { ...this, envelope: { ...this.envelope, deadlineMs } }, this.wait);
  }

  /**
   * Sends a call to the collection's owner; see `Backend.call`. Throws `unavailable` if the collection was found by an alias, and
   * deleted since: the alias was moved before, so a repeated request finds another collection.
   */
  async call<C extends Call>(collection: Collection, call: C): Promise<ResultOf<C>> {
    const { auditing, envelope, services } = this;
    const onAudited = (state: AuditedState): void => auditing.begun().answered(collection, state);
    const { requestId, deadlineMs, actor } = envelope;
    try {
      const result = await services.backend.call(collection, call, { requestId, deadlineMs, actor, onAudited });
      auditing.audit?.found(collection, call, result);
      return result;
    } catch (error) {
      const alias = this.aliases?.get(collection.id);
      if (alias === undefined || !isCollectionNotFound(error)) throw error;
      throw unavailable(`the collection of the alias ${JSON.stringify(alias)} was replaced during the request; retry`);
    }
  }

  /** Finds the collection and sends it the call. Throws the errors of `find` and `call`. */
  async callNamed<C extends Call>(name: string | null | undefined, call: C): Promise<ResultOf<C>> {
    return this.call(await this.find(name), call);
  }

  /** The answer of `make`, which depends only on the caller's project and collections. Requests that arrive together share one. */
  shared(what: string, make: () => Promise<Reply>): Promise<Reply> {
    return this.wait(
      this.services.sharedReads.next(`${what} ${this.caller.project} ${this.caller.collections ?? ''}`, make),
    );
  }

  /** Time slices for an answer that takes long to write, until the deadline: projects take turns, however many answers they write. */
  slice(): Slice {
    return new Slice(this.services.clock, this.envelope.deadlineMs, { op: 'answer', subject: this.caller });
  }

  /** Makes the answer `json` of an object with long lists, in slices. */
  longJson<T extends object>(value: T): Promise<Reply> {
    return inSlices(jsonInSteps(value), this.slice());
  }

  /** The record, node or edge id in the path. Throws `validation_error`. */
  get id(): number {
    const [text = ''] = this.parameters;
    const id = Number(text);
    if (!WHOLE.test(text) || !Number.isSafeInteger(id))
      throw invalid('the id in the path is not a whole number from 0 to 2^53 - 1');
    return id;
  }

  /** The answer's field with the sequence of a write. The API has it in a cluster only, where it is a position in a replicated log. */
  logIndex(sequence: number): { log_index?: number } {
    return this.services.backend.mode === 'cluster' ? { log_index: sequence } : {};
  }
}

/** The collections of a limited key in a message. */
export const shownCollections = (collections: KeyCollections): string => (collections ?? []).join(', ');

export const nameOrDefault = (wanted: string | null | undefined): string => wanted ?? DEFAULT_COLLECTION;

/** The wanted name, or the default without one. Throws `collection_not_found` for an impossible name. */
export function collectionName(wanted: string | null | undefined): string {
  const name = nameOrDefault(wanted);
  if (isCollectionName(name)) return name;
  throw refusal('collection_not_found', 'named', { name: JSON.stringify(name.slice(0, SHOWN_CHARS)) });
}

/** The error of a request that names no collection. If `default` is missing, the message says that it is meant. */
const unnamed = (error: unknown): unknown =>
  isCollectionNotFound(error)
    ? refusal('collection_not_found', 'unnamed', { name: JSON.stringify(DEFAULT_COLLECTION) })
    : error;

/** Throws `validation_error` if the percent-encoding is broken. */
export function decodeParameter(encoded: string): string {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw invalid('the path has a broken percent-encoding');
  }
}

/**
 * The audit of one request: what it reads of collections whose reads are audited becomes an entry of their access logs, before the
 * answer leaves. A request that such a collection refuses becomes an entry too.
 */
import { isUtf8 } from 'node:buffer';
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable } from '../../shared/errors/errors.js';
import { DOMAIN } from '../../shared/hashing/hash.js';
import { type Actor, namedActor } from '../../shared/model/actor.js';
import type { AuditedState } from '../../shared/model/readAudit.js';
import type { Call } from '../../shared/protocol/calls.js';
import { unpack } from '../../shared/protocol/wire.js';
import type { KeyCollections } from '../../shared/registry/keyCollections.js';
import { AnswerLost } from '../../shared/transport/transportErrors.js';
import type { Collection } from '../cluster/catalog/collection.js';
import type { Backend } from '../cluster/clusterBackend.js';
import type { AccessEntries } from './accessEntries.js';
import { type FoundRecords, foundRecords, stateOf } from './foundRecords.js';
import { hashedParts } from './hashedParts.js';

/** Largest body that is kept. */
const KEPT_BYTES_MAX = 64 * 1024;
const NO_BYTES = new Uint8Array(0);
/** Largest number of records that an entry names. */
const NAMED_MAX = 64;
const FORBIDDEN = 403;
const REFUSED = 400;
/** Paths of the endpoints about a collection itself. */
const NAMED_IN_PATH = /^\/v1\/(?:namespaces|import)\/([^/]+)/;
const CREATION = 'POST /v1/namespaces';
/** Largest number of collections that are looked for in a refused request: those of a multi-search, and that of its `like`. */
const MEANT_MAX = 33;

export interface AuditServices {
  readonly backend: Pick<Backend, 'find'>;
  readonly accessEntries: Pick<AccessEntries, 'add'>;
  readonly clock: Clock;
  readonly config: { readonly limits: { readonly deadlineMs: number } };
}

interface Access {
  readonly collection: Collection;
  /** The state of the last read; absent: nothing was read. */
  state?: Partial<AuditedState>;
  isFull: boolean;
  found: FoundRecords | undefined;
}

interface KeptRequest {
  readonly hash: string;
  /** Undefined if it is too long. */
  readonly body: Buffer | undefined;
}

export interface AuditedRequest {
  /** `body`, `query` null: the endpoint takes none. */
  readonly route: {
    readonly name: string;
    readonly scope: string;
    readonly category: string;
    readonly alsoReads: boolean;
    readonly isOfProject: boolean;
    readonly body: string | null;
    readonly bodyFields: readonly string[];
    readonly query: unknown;
  };
  readonly head: { readonly method: string; readonly path: string; readonly query: string };
  /** Whether the body is msgpack. */
  readonly isPacked: boolean;
  readonly actor: Actor;
  readonly project: string;
  /** The collections that the key may use. */
  readonly collections: KeyCollections;
}

interface AuditedReply {
  readonly status: number;
  readonly body: string | Uint8Array;
}

export class RequestAudit {
  readonly #accesses = new Map<number, Access>();
  #kept: KeptRequest | undefined;

  constructor(
    private readonly services: AuditServices,
    private readonly request: AuditedRequest,
  ) {}

  /** Keeps a request that may become an entry, before its body is prepared. */
  async keep(body: Buffer, isForbidden = false): Promise<void> {
    const { route, head, collections } = this.request;
    const mayBeForbidden = isForbidden || collections !== null || body.length === 0;
    if (route.category !== 'read' && !route.alsoReads && !mayBeForbidden) return;
    const copy = body.length <= KEPT_BYTES_MAX ? Buffer.from(body) : undefined;
    const hash = await hashedParts(DOMAIN.accessRequest, `${targetOf(head)}\n`, body, this.services.clock);
    this.#kept = { hash, body: copy };
  }

  /** The request has named the collection, whose reads are audited as far as the catalog says. */
  named(collection: Collection): void {
    this.#accessOf(collection);
  }

  answered(collection: Collection, state: AuditedState): void {
    const access = this.#accessOf(collection);
    access.state = { ...state, since: access.state?.since ?? state.since };
    access.isFull ||= state.audit === 'full';
  }

  /** Notes the records of a result, after `answered`. */
  found(collection: Collection, call: Call, result: unknown): void {
    const access = this.#accesses.get(collection.id);
    if (access?.state === undefined) return;
    access.state = stateOf(call, result, access.state as AuditedState);
    const found = foundRecords(call, result);
    if (found === undefined) return;
    const { found: earlier } = access;
    access.found =
      earlier === undefined
        ? found
        : { ids: earlier.ids.concat(found.ids), scores: earlier.scores.concat(found.scores) };
  }

  /** Resolves when every access of the request is durable. Throws `unavailable`: then the answer must not leave. */
  async log(reply: AuditedReply): Promise<void> {
    const { route } = this.request;
    const isRefused = reply.status >= REFUSED;
    const isOfLog = route.scope === 'admin';
    const isEntry = reply.status === FORBIDDEN || (isRefused && !isOfLog && route.category === 'read');
    if (isEntry) await this.#findMeant(reply.status);
    const accesses = [...this.#accesses.values()].filter(({ state }) => state !== undefined || isEntry);
    if (accesses.length === 0) return;
    const hashing = isRefused ? undefined : this.#answerHash(reply);
    const answerHash = hashing instanceof Promise ? await hashing : hashing;
    try {
      await Promise.all(accesses.map((access) => this.#logOne(access, reply.status, answerHash)));
    } catch (error) {
      // A read may be repeated, whether or not it is in the log.
      const reason = error instanceof AnswerLost ? `${error.reason}; retry shortly` : messageOf(error);
      throw unavailable(`the read could not be entered into the access log: ${reason}`);
    }
  }

  #answerHash({ body }: AuditedReply): string | Promise<string> {
    const [text, bytes] = typeof body === 'string' ? [body, NO_BYTES] : ['', body];
    return hashedParts(DOMAIN.accessAnswer, text, bytes, this.services.clock);
  }

  #logOne(access: Access, status: number, answerHash: string | undefined): Promise<void> {
    const { accessEntries, clock, config } = this.services;
    const { requestId } = this.request.actor;
    const envelope = { requestId: requestId ?? '', deadlineMs: clock.nowMs() + config.limits.deadlineMs };
    return accessEntries.add(access.collection, this.#entry(access, status, answerHash), envelope);
  }

  /** The JSON of an entry. Ids and scores are joined: their texts are those of the answer, which the engine keeps. */
  #entry({ state, isFull, found }: Access, status: number, answerHash: string | undefined): string {
    const { route, actor, head } = this.request;
    const { ids = [], scores = [] } = found ?? {};
    const isNamed = found !== undefined && ids.length <= NAMED_MAX;
    const begin = JSON.stringify({
      actor: namedActor(actor),
      kind: route.name,
      status,
      request_hash: this.#kept?.hash,
      ...(isFull && { request: targetOf(head), body: textOf(this.#kept?.body) }),
      since: state?.since === state?.sequence ? undefined : state?.since,
      sequence: state?.sequence,
      state_hash: state?.stateHash,
      records: found && ids.length,
    });
    const named = isNamed ? `,"ids":[${ids.join()}]${scores.length > 0 ? `,"scores":[${scores.join()}]` : ''}` : '';
    return `${begin.slice(0, -1)}${named}${answerHash === undefined ? '' : `,"answer_hash":"${answerHash}"`}}`;
  }

  /** Finds the collections that a refused request means, as far as its text says. */
  async #findMeant(status: number): Promise<void> {
    const { backend } = this.services;
    const { project, head } = this.request;
    const inPath = NAMED_IN_PATH.exec(head.path)?.[1];
    // A collection in the path is not read: only a key that may not use it is of interest.
    const meant = inPath === undefined ? this.#meant() : status === FORBIDDEN ? decoded(inPath) : [];
    const names = [...new Set(meant)].slice(0, MEANT_MAX);
    // A call that was refused because of its only collection has named it already.
    if (names.length <= this.#accesses.size) return;
    for (const name of names) {
      const collection = await backend.find(project, name).catch(() => undefined);
      if (collection?.auditReads !== undefined) this.named(collection);
    }
  }

  #meant(): string[] {
    const { route, head, isPacked } = this.request;
    if (route.body === null || route.query !== null) {
      const named = new URLSearchParams(head.query).getAll('collection');
      return route.query === null || named.length > 0 ? named : ['default'];
    }
    const body = this.#kept?.body;
    if (body === undefined || route.scope === 'admin') return [];
    try {
      const value = (isPacked ? unpack(body) : JSON.parse(body.toString())) as Meant;
      return namedIn(value, route).filter((name) => typeof name === 'string');
    } catch {
      return [];
    }
  }

  #accessOf(collection: Collection): Access {
    const known = this.#accesses.get(collection.id);
    if (known !== undefined) return known;
    const access: Access = { collection, isFull: collection.auditReads === 'full', found: undefined };
    this.#accesses.set(collection.id, access);
    return access;
  }
}

/** The fields of a body that name collections, of any type. */
interface Meant {
  readonly collection?: unknown;
  readonly collections?: unknown;
  readonly like?: { readonly collection?: unknown } | null;
  readonly name?: unknown;
}

/** The values that name collections. A body without a name means `default`, unless it is about the project. */
function namedIn(value: Meant, { name, bodyFields, isOfProject }: AuditedRequest['route']): unknown[] {
  if (name === CREATION) return [value.name];
  if (bodyFields.includes('collections')) return [value.collections, value.like?.collection].flat();
  return bodyFields.includes('collection') ? [value.collection ?? (isOfProject ? undefined : 'default')] : [];
}

/** The name in a path; none if its percent-encoding is broken. */
function decoded(inPath: string): string[] {
  try {
    return [decodeURIComponent(inPath)];
  } catch {
    return [];
  }
}

const targetOf = ({ method, path, query }: AuditedRequest['head']): string =>
  `${method} ${path}${query === '' ? '' : '?'}${query}`;

/** The body as text, or as base64url of other bytes; undefined if it is empty or was not kept. */
function textOf(body: Buffer | undefined): string | undefined {
  if (body === undefined || body.length === 0) return undefined;
  return isUtf8(body) ? body.toString() : `base64url:${body.toString('base64url')}`;
}

/**
 * Every error code: its HTTP status, its meaning, what the caller can do, and its messages. A value replaces `{name}` in a
 * message. The page `docs/errors.md` is made from this table. Three codes also have messages elsewhere, where the cause is known.
 * The messages of `validation_error` name a path of the request. `internal_error` and `unavailable` name a part of the service.
 */
interface ErrorKind {
  readonly status: number;
  readonly meaning: string;
  readonly remedy: string;
  /** Templates by a name that is unique in its code. */
  readonly messages: Readonly<Record<string, string>>;
}

export const ERRORS = {
  validation_error: {
    status: 400,
    meaning: 'the body, a path or a query value is invalid',
    remedy: 'change the part that the message names, such as `$.query[3]`',
    messages: {
      absent: '{path} is missing: expected {expected}',
      mismatch: '{path}: expected {expected}, got {value}',
      usedByDeletion: 'the request id belongs to a deletion',
      usedByWrite: 'the request id belongs to the write of record {record}',
      usedUnencrypted: 'the request id belongs to record {record}, which is not encrypted',
      opaqueMetadata: 'the metadata of record {record} is not a JSON object: replace all of it',
      shreddedKey: 'key {key} is shredded; use another key',
    },
  },
  dimension_mismatch: {
    status: 400,
    meaning: "the vector's length is not the collection's dimension",
    remedy: 'send vectors of that dimension',
    messages: {
      vector: '{path} has {components}; collection {collection} has dimension {dimension}',
      uneven: '$.batch[{at}] is not as long as $.batch[0]',
      write: 'the collection has dimension {dimension}',
    },
  },
  invalid_index: {
    status: 400,
    meaning: 'an index kind that does not exist',
    remedy: 'use a kind of [Indexes](indexes.md)',
    messages: {},
  },
  unauthorized: {
    status: 401,
    meaning: 'no valid API key',
    remedy: 'send a key that exists and has not expired',
    messages: {
      absent: 'send your API key as "Authorization: Bearer <key>"',
      malformed: 'this is not an API key; expected "Bearer vk_" and 64 hex digits',
      unknown: 'the API key is unknown, expired or revoked',
    },
  },
  forbidden: {
    status: 403,
    meaning: "the key's scope or collections do not allow the request",
    remedy: 'use a key of the scope that the message names, or one that may use the collection',
    messages: {
      scope: 'this needs a key of scope {scope}; yours is {own}',
      collection: 'this key may not use collection {name}; it is limited to {own}',
      project: 'this concerns the whole project, and this key is limited to {own}',
      accessLog:
        'the reads of collection {name} are or were audited: only a key of scope admin deletes it with its access log; yours is {own}',
    },
  },
  collection_not_found: {
    status: 404,
    meaning: 'the project has no such collection',
    remedy: 'create it, or correct the name',
    messages: {
      named: 'there is no collection named {name}',
      unnamed:
        'the request names no collection, so {name} is meant, and there is none of that name; name one as collection, a field of the body or a query parameter',
      deleted: 'collection {name} was deleted',
      aliased: 'the collection of the alias {alias} was deleted: move the alias, or delete it',
    },
  },
  record_not_found: {
    status: 404,
    meaning: 'no such live record',
    remedy: 'read the ids that exist; a deleted id is not used again',
    messages: {
      record: 'there is no record {record} in the collection',
      external: 'no live record of the collection has the external id {external}',
    },
  },
  not_found: {
    status: 404,
    meaning: 'no such path, or no such node, edge, alias or key',
    remedy: 'correct the path or the id',
    messages: {
      path: 'there is nothing at this path',
      nearPath: 'there is nothing at this path: did you mean {path}?',
      node: 'there is no node {id} in the graph of the collection',
      edge: 'there is no edge {id} in the graph of the collection',
      alias: 'the project has no alias {name}',
      key: 'the project has no key of this id',
      vaultKey: 'the vault has no key {key}: nothing was ever stored under it',
      tile: 'the published service log has no such tile; its size is in /log/checkpoint',
      emptyLog: 'the service log has no entry yet',
    },
  },
  method_not_allowed: {
    status: 405,
    meaning: 'the path takes other methods',
    remedy: 'use a method of the header `Allow`',
    messages: { path: 'this path takes {methods}' },
  },
  conflict: {
    status: 409,
    meaning: 'the state of the collection does not allow the request now',
    remedy: 'wait, or change the state that the message names',
    messages: {
      dimension: 'collection {name} exists with dimension {dimension}; dimension and metric cannot change',
      normalise: 'collection {name} exists {has} normalise, which cannot change',
      audit:
        'collection {name} exists with audit_reads {has}; PATCH /v1/namespaces/{path} changes it, with a key of scope admin',
      retention:
        'collection {name} exists with access_retention_days {has}; PATCH /v1/namespaces/{path} changes it, with a key of scope admin',
      other: 'collection {name} exists with {has}, which cannot change',
      erasable: 'collection {name} exists {has} erasable, which cannot change',
      alias:
        '{name} is an alias of collection {collection}: name the collection, or choose another name; DELETE /v1/aliases/{path} removes the alias',
      deadAlias:
        '{name} is an alias whose collection was deleted: choose another name; DELETE /v1/aliases/{path} removes the alias',
      aliased: 'collection {name} has the alias {alias}: move the alias or delete it first',
      notAlias: '{name} is the name of a collection: choose another name for the alias',
      importing: 'collection {name} is being imported; finish the import, or delete the collection',
      notImported: 'collection {name} exists already, and was not imported',
      otherImport: 'collection {name} is an import of another export; choose another name',
      importFinished: 'the import of collection {name} is finished',
      importUnfinished: '{sequence} of {announced} events have arrived; send the rest',
      notShredded: 'key {key} is not shredded everywhere yet; repeat the request',
      notLogged: 'the collection has no write yet, so the service log does not have it',
      noAccess: 'the access log of the collection has no entry yet',
      changed: 'record {record} was changed by event {changed}, after {since}: read it again',
      gone: 'no live record has the external id {external} any more; one had it at event {since}: read it again',
      building: 'a build of this index is already in progress; wait until it has ended',
      rebuilding: 'the indexes of this project are being rebuilt already; wait until that has ended',
      notOwned: 'collection {id} is not owned by this shard under epoch {epoch}',
      handedOver: 'collection {id} is being handed over already',
      ownerChanged: 'the owner entry of collection {id} has changed meanwhile',
      notFollowed: 'this shard does not follow collection {id}, or must not',
    },
  },
  record_shredded: {
    status: 410,
    meaning: 'the key of the record was shredded',
    remedy: 'its content is lost for good',
    messages: { key: 'key {key} was shredded, and its records are lost' },
  },
  entries_removed: {
    status: 410,
    meaning: 'the entries of the access log were removed, since they are older than `access_retention_days`',
    remedy: 'begin with the first entry that is kept, which the message names',
    messages: { log: 'entries 1 to {removed} of the access log were removed: leave out {field}, or send {first}' },
  },
  payload_too_large: {
    status: 413,
    meaning: 'the body, or the commit that it needs, is too large: see [its bounds](api.md#bounds-of-a-request)',
    remedy: 'send it in parts',
    messages: {
      body: 'the body is larger than the {max} bytes allowed',
      withoutVectors: 'the body is too large without its vectors',
      batch: 'the batch takes more than the {max} bytes of one commit: send it in parts',
      deletion: '{matching} records match, and one request deletes at most {max}: delete them in parts',
      patch: '{matching} records match, and one request changes at most {max}: change them in parts',
      patches: 'the changed metadata take more than the {max} bytes of one commit: change fewer records at a time',
      commit: 'a commit of {bytes} bytes is larger than the {max} bytes that the log takes',
      message: 'a message of {bytes} bytes is larger than the {max} bytes that can be sent',
      natsMessage: 'the message is larger than the NATS server takes',
    },
  },
  unsupported_media_type: {
    status: 415,
    meaning: "the body's type, charset or coding cannot be read",
    remedy: 'send the type that the message names, uncompressed, in UTF-8',
    messages: {},
  },
  rate_limited: {
    status: 429,
    meaning: 'over the rate limit; the body has no `code`',
    remedy: 'retry after `Retry-After`',
    messages: {
      project: "the project's rate limit is exceeded; retry in {seconds} s (VOUCH_RATE_LIMITS sets it)",
      address: 'too many requests without a valid API key; slow down',
    },
  },
  internal_error: {
    status: 500,
    meaning: 'the service failed, stored bytes do not verify, or the key of an encrypted record is missing',
    remedy: 'the operator acts: see [Damaged files](operations/damage.md), and the log lines with the `x-request-id`',
    messages: { failed: 'the service failed; its log has the cause under {requestId}' },
  },
  not_implemented: {
    status: 501,
    meaning: 'an index was requested, and `VOUCH_ANN` is `false`',
    remedy: 'use exact search, or turn indexes on',
    messages: { indexes: 'index management is turned off on this node' },
  },
  unavailable: {
    status: 503,
    meaning:
      'a shard, NATS or a disk is out of reach, there is [too much load](operations/overload.md), or the deadline passed',
    remedy:
      'retry after `Retry-After`; a write may have happened, so retry it under its [request id](api.md#sending-again)',
    messages: {
      late: 'the request was not done by its deadline; its outcome is unknown',
    },
  },
  capacity_exceeded: {
    status: 507,
    meaning:
      'a bound of the project (records, bytes, collections, aliases, API keys, shreds of unknown keys) or of the store is reached; nothing was changed',
    remedy: 'delete what the message names, or ask the operator to raise the bound',
    messages: {
      quota: 'the quota of {kind} is full: the project uses {used} of {limit} {kind}, and the request adds {added}',
      collections: 'the project has {count} collections, its bound; delete one first',
      aliases: 'the project has {count} aliases, its bound; delete one first',
      apiKeys: 'the project has {count} API keys, its bound; revoke one first',
      unknownShreds:
        'the project has shredded {count} keys that the vault never knew, as many as it may; keys that are in use can still be shredded',
      storeFull: 'the store of the service is {percent} % full; only deletes and shreds are accepted',
      storeShare:
        'the store of the service is {percent} % full, and the project has more than its fair share of it; delete collections that are not needed',
      vectors: 'this node keeps {max} bytes of vectors at most',
      memory: 'the system has no more memory for vectors',
      ivfBuild: 'an IVF build with so many lists and rows needs more than 4 GiB',
    },
  },
} as const satisfies Readonly<Record<string, ErrorKind>>;

export type ErrorCode = keyof typeof ERRORS;

/** Messages of `unavailable` under too much load, keyed by reason. The reason is the label of `vouch_refused_total`. */
export const OVERLOAD = {
  // Coordinator: requests in flight, of all projects or of one; requests read in one turn of its event loop.
  requests: 'too many requests are in flight',
  project_requests: 'too many requests of your project are in flight',
  turn: 'requests arrive faster than they can be read',
  // Coordinator: bytes of bodies in flight, bodies that wait for a thread, answers that slow clients do not read.
  body_bytes: 'too many large bodies are in flight',
  body_queue: 'too many large bodies wait to be read',
  answer_bytes: 'too many large answers wait for slow clients',
  metrics: 'too many concurrent metrics requests',
  // Any process: its unanswered requests to other processes.
  messages: 'too many requests to other processes are in flight',
  // Shard: calls in flight; reads and writes that would wait too long (`…_queue`), or have waited too long (`…_waited`).
  calls: 'the shard has too many calls in flight',
  read_queue: 'the collection is asked more than its shard can answer',
  read_waited: 'the collection is asked more than its shard can answer',
  write_queue: 'too many writes wait for this collection',
  write_waited: 'the writes of this collection wait too long',
  access_queue: 'too many reads wait for the access log of this collection',
  memory: 'the memory of the shard is nearly full',
  // Shard: repeated writes whose receipts are made again.
  receipts: 'too many repeated writes wait for their receipts',
} as const;

type Names<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;

type TemplateOf<Code extends ErrorCode, Message> = Message extends keyof (typeof ERRORS)[Code]['messages']
  ? (typeof ERRORS)[Code]['messages'][Message] & string
  : never;

/** The values of a template: none if it has no `{name}`. */
export type Values<Code extends ErrorCode, Message> = [Names<TemplateOf<Code, Message>>] extends [never]
  ? []
  : [values: Readonly<Record<Names<TemplateOf<Code, Message>>, string | number>>];

export type MessageName<Code extends ErrorCode> = keyof (typeof ERRORS)[Code]['messages'] & string;

/** The message with its values. */
export function messageText<Code extends ErrorCode, Message extends MessageName<Code>>(
  code: Code,
  message: Message,
  ...[values]: Values<Code, Message>
): string {
  const template: string = (ERRORS[code].messages as Readonly<Record<string, string>>)[message]!;
  const texts = values as Readonly<Record<string, string | number>> | undefined;
  return template.replaceAll(/{(\w+)}/g, (_, name: string) => String(texts?.[name]));
}

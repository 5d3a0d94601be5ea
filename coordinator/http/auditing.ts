/**
 * The audit of a request, if it needs one. It begins with the request if a collection of the project has audited reads, as far as this
 * process knows. Otherwise it begins when the shard reports so: `audit_reads` has just been switched on.
 */

import type { VouchError } from '../../shared/errors/errors.js';
import { type AuditedRequest, type AuditServices, RequestAudit } from '../access/requestAudit.js';
import { type BodyMemory, reuseMemory } from '../body/bodyMemory.js';
import type { Share } from '../limits/inFlight.js';
import type { BodyReader } from './bodyReader.js';
import type { Reply } from './reply.js';
import type { RequestHead } from './requestHead.js';

/** Larger bodies are kept neither for an audit that begins late, whose entry then has no hash of the request, nor for a refusal. */
const LATE_BYTES_MAX = 64 * 1024;
const NO_BYTES = Buffer.alloc(0);

export class Auditing {
  #audit: RequestAudit | undefined;
  #isLate = false;
  #body: BodyMemory | undefined;

  constructor(
    private readonly services: AuditServices,
    /** Makes what the audit needs to know of the request. */
    private readonly request: () => AuditedRequest,
    isExpected: boolean,
  ) {
    if (isExpected) this.#audit = new RequestAudit(services, request());
  }

  get audit(): RequestAudit | undefined {
    return this.#audit;
  }

  /** The audit, which begins now at the latest. */
  begun(): RequestAudit {
    if (this.#audit === undefined) {
      this.#isLate = true;
      this.#audit = new RequestAudit(this.services, this.request());
    }
    return this.#audit;
  }

  /** Keeps the memory of a body that was read, for an audit that begins late, or returns it for reuse. */
  release(body: BodyMemory, isOfRead: boolean): void {
    if (isOfRead && this.#audit === undefined && body.length <= LATE_BYTES_MAX) this.#body = body;
    else reuseMemory(body);
  }

  /**
   * Rejects with the refusal of a call that its key may not make. Keeps a short body first, since it names the collection. If the
   * client waits for `100 Continue`, its body is not read.
   */
  async refuse(refused: VouchError, head: RequestHead, share: Share, body: BodyReader | undefined): Promise<never> {
    const { bodyBytes = Number.POSITIVE_INFINITY, expectation } = head;
    if (this.request().route.body === null) await this.#audit?.keep(NO_BYTES, true);
    else if (body !== undefined && bodyBytes <= LATE_BYTES_MAX && expectation === undefined) {
      const bytes = await body.read(share);
      await this.#audit?.keep(bytes, true);
      reuseMemory(bytes);
    }
    throw refused;
  }

  /** Resolves when every access of the request is durable. Throws `unavailable`: then the answer must not leave. */
  async log(reply: Reply): Promise<void> {
    if (this.#audit === undefined) return;
    const body = this.request().route.body === null ? NO_BYTES : this.#body;
    // A worker has taken over the memory of a body without bytes.
    if (this.#isLate && body !== undefined && (body === NO_BYTES || body.length > 0)) await this.#audit.keep(body);
    await this.#audit.log(reply);
  }

  /** Ends the use of the body. */
  end(): void {
    if (this.#body !== undefined) reuseMemory(this.#body);
    this.#body = undefined;
  }
}

/**
 * The way of a call to the collection's owner. What arrives for one collection within one turn of the event loop
 * travels in one message and is answered by one; a lone call waits for nobody. Control calls travel alone: one that
 * takes minutes must not keep the answers of others waiting.
 *
 * A call is sent again only where the first sending has certainly had no effect (`NobodyServes`), whatever it is. After
 * any other failure its outcome is unknown, and only the caller can tell what to do. For control calls:
 * - `configureIndex`, `rebuild`: the state of the index shows whether they took effect; sent again unasked, the one would
 *   meet its own build as a conflict, and the other would build twice.
 * - `hold`, `release`: may be repeated with the same token at will, and whoever holds does so until it is over.
 */
import type { Call } from '../../shared/calls.js';
import { unavailable } from '../../shared/errors.js';
import { collectionSubject, type Verb } from '../../shared/subjects.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import type { Envelope, Transport } from '../../shared/transport/transport.js';
import { type Outcome, packCalls, type Sent, unpackOutcomes, unwrap } from '../../shared/wire.js';
import { answerSizeOf, sizeOf } from './callSizes.js';
import { whileServed } from './whileServed.js';

const CALLS_PER_MESSAGE = 64;
/** While a collection changes hands, or its shard restarts, nobody serves it for a moment. */
const RETRY_AFTER_MS = [20, 60, 120] as const;

/** Who is asked under which epoch. */
interface Owners {
  epochOf(collectionId: number): number | undefined;
  processOf(collectionId: number): string | undefined;
  reread(collectionId: number): Promise<void>;
}

interface Waiting extends Sent<Call> {
  readonly sizeBytes: number;
  readonly answerBytes: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Queue {
  readonly collectionId: number;
  readonly verb: Verb;
  readonly waiting: Waiting[];
}

const VERBS: Readonly<Record<Call['op'], Verb>> = {
  get: 'read',
  search: 'read',
  describe: 'read',
  indexState: 'read',
  graphNode: 'read',
  graphNodes: 'read',
  graphEdges: 'read',
  graphSubgraph: 'read',
  graphQuery: 'read',
  getEncrypted: 'read',
  readLog: 'read',
  proofState: 'read',
  proofReceipt: 'read',
  proofInclusion: 'read',
  proofConsistency: 'read',
  checkpoint: 'read',
  timeline: 'read',
  insertEncrypted: 'write',
  shredKey: 'write',
  insert: 'write',
  insertBatch: 'write',
  softDelete: 'write',
  delete: 'write',
  updateMetadata: 'write',
  addNode: 'write',
  deleteNode: 'write',
  addEdge: 'write',
  deleteEdge: 'write',
  configureIndex: 'control',
  hold: 'control',
  release: 'control',
  rebuild: 'control',
  importFrames: 'control',
};

export class CallQueue {
  /** By collection and verb. */
  readonly #queues = new Map<string, Queue>();
  #flushing = false;

  constructor(
    private readonly transport: Pick<Transport, 'request' | 'maxPayloadBytes'>,
    private readonly owners: Owners,
  ) {}

  send(collectionId: number, call: Call, envelope: Envelope): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const verb = VERBS[call.op];
      const key = `${collectionId}.${verb}`;
      const waiting: Waiting = {
        ...envelope,
        call,
        sizeBytes: sizeOf(call),
        answerBytes: answerSizeOf(call),
        resolve,
        reject,
      };
      const queue = this.#queues.get(key);
      if (queue === undefined) this.#queues.set(key, { collectionId, verb, waiting: [waiting] });
      else queue.waiting.push(waiting);
      if (this.#flushing) return;
      this.#flushing = true;
      setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    this.#flushing = false;
    const queues = [...this.#queues.values()];
    this.#queues.clear();
    for (const queue of queues) {
      for (const message of this.#messages(queue)) void this.#deliver(queue, message);
    }
  }

  *#messages({ verb, waiting: queue }: Queue): Generator<Waiting[]> {
    const callsMax = verb === 'control' ? 1 : CALLS_PER_MESSAGE;
    let message: Waiting[] = [];
    let sizeBytes = 0;
    let answerBytes = 0;
    const bound = this.transport.maxPayloadBytes;
    for (const waiting of queue) {
      sizeBytes += waiting.sizeBytes;
      answerBytes += waiting.answerBytes;
      // Question and answer travel in one message each.
      const full = message.length === callsMax || sizeBytes > bound || answerBytes > bound;
      if (full && message.length > 0) {
        yield message;
        message = [];
        ({ sizeBytes, answerBytes } = waiting);
      }
      message.push(waiting);
    }
    yield message;
  }

  async #deliver(queue: Queue, message: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#request(queue, message);
      for (const [i, waiting] of message.entries()) {
        try {
          waiting.resolve(unwrap(outcomes[i] as Outcome));
        } catch (error) {
          waiting.reject(error);
        }
      }
    } catch (error) {
      for (const waiting of message) waiting.reject(error);
    }
  }

  async #request({ collectionId, verb }: Queue, message: readonly Waiting[]): Promise<Outcome[]> {
    const first = message[0] as Waiting;
    const deadlineMs = message.reduce((latest, waiting) => Math.max(latest, waiting.deadlineMs), first.deadlineMs);
    const body = packCalls<Call>(message);
    for (const waitMs of [...RETRY_AFTER_MS, undefined]) {
      try {
        const epoch = this.owners.epochOf(collectionId);
        if (epoch === undefined) throw new NobodyServes();
        const subject = collectionSubject(collectionId, epoch, verb);
        const asked = this.owners.processOf(collectionId);
        const answer = this.transport.request(subject, body, { requestId: first.requestId, deadlineMs });
        const isServed = (): boolean => this.owners.processOf(collectionId) === asked;
        const outcomes = unpackOutcomes(await (verb === 'control' ? whileServed(answer, isServed) : answer));
        if (outcomes.length !== message.length)
          throw unavailable('the shard answered something else than it was asked');
        return outcomes;
      } catch (error) {
        // Only what certainly had no effect may be sent twice.
        if (!(error instanceof NobodyServes) || waitMs === undefined) throw error;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        await this.owners.reread(collectionId);
      }
    }
    throw unavailable('nobody serves the collection');
  }
}

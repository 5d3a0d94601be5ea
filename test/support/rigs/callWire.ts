/** Scripted neighbours of a `CallQueue`: a wire that records messages, and an owner that changes. */
import { CallQueue } from '../../../coordinator/cluster/calls/callQueue.js';
import type { MembersListener, Server } from '../../../coordinator/cluster/members/members.js';
import { systemClock } from '../../../shared/clock.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import type { SentCall } from '../../../shared/protocol/callShapes.js';
import type { Call } from '../../../shared/protocol/calls.js';
import { type Outcome, packOutcomes, type Sent, unpackCalls } from '../../../shared/protocol/wire.js';
import type { Body, Transport } from '../../../shared/transport/transport.js';
import { NotServed } from '../../../shared/transport/transportErrors.js';

export interface Received {
  readonly subject: string;
  readonly calls: readonly Sent<Call>[];
}

export const areAnyCalls = (value: unknown): value is SentCall<Call>[] => Array.isArray(value);

/** Answers every call with its position in the message, unless a test says otherwise. Only `served` has a server. */
export class Wire implements Pick<Transport, 'request' | 'maxPayloadBytes'> {
  readonly received: Received[] = [];
  answer: (received: Received) => Outcome[] | Promise<Outcome[]> = ({ calls }) =>
    calls.map((_, place) => ({ ok: place }));

  constructor(
    readonly maxPayloadBytes: number,
    private readonly served: string,
  ) {}

  async request(subject: string, body: Body): Promise<Body> {
    const received = { subject, calls: unpackCalls(body, areAnyCalls) };
    this.received.push(received);
    if (!subject.startsWith(this.served)) throw new NotServed();
    return packOutcomes(await this.answer(received));
  }

  get subjects(): string[] {
    return this.received.map(({ subject }) => subject);
  }
}

/** Ownership of collection 7, set by the test. */
export class Owners {
  server: Server | undefined;
  isOwned = true;
  followers: readonly string[] = [];
  /** Owner in the store that this process has not received. */
  next: Server | undefined;
  listener: MembersListener | undefined;
  rereads = 0;

  constructor(epoch: number) {
    this.server = { shard: 's1', session: 'one', epoch };
  }

  epochOf(): number | undefined {
    return this.isOwned ? (this.server?.epoch ?? 1) : undefined;
  }

  serverOf(): Server | undefined {
    return this.isOwned ? this.server : undefined;
  }

  liveFollowers(): readonly string[] {
    return this.followers;
  }

  async ownersCaughtUp(): Promise<void> {
    this.rereads++;
    if (this.next !== undefined) this.server = this.next;
  }

  listen(listener: MembersListener): void {
    this.listener = listener;
  }

  /** Reports that another shard owns it. */
  moveTo(server: Server): void {
    this.server = server;
    this.listener?.ownerChanged(7);
  }

  /** Reports that the shard's process is another one, or gone. */
  become(session: string | undefined): void {
    const { shard, epoch } = this.server!;
    this.server = session === undefined ? undefined : { shard, session, epoch };
    this.listener?.processChanged(shard, session);
  }
}

export const queueOver = (
  wire: Pick<Transport, 'request' | 'maxPayloadBytes'>,
  owners: Owners,
  clock = systemClock,
): CallQueue => new CallQueue(wire, owners, clock, new Metrics('coordinator'));

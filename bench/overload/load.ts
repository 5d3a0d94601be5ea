/**
 * Load on an HTTP service: open (requests at a constant rate, independent of answers) or closed (a fixed number in flight). In an
 * open load the time of an answer counts from the moment when its request was due, even if it was sent later. So a service that
 * stalls cannot hide it by delaying the load.
 */
import { connect, type Socket } from 'node:net';
import { systemClock } from '../../shared/clock.js';
import { rawAnswer } from '../rawAnswer.js';

export interface LoadPlan {
  readonly host: string;
  readonly port: number;
  /** Time before counting starts, since queues are longer when they have just filled than later. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Requests a second; undefined: a closed load. */
  readonly rate: number | undefined;
  /** Number of connections, opened before the first request; a request without an idle one waits. */
  readonly connections: number;
  /** Sent in turn. */
  readonly requests: readonly Uint8Array[];
  /** The name of each request's kind. */
  readonly kinds: readonly string[];
}

export interface KindCounts {
  readonly answered: number;
  /** 503 with Retry-After. */
  readonly refused: number;
  /** Any other answer, and connections that ended. */
  readonly failed: number;
  /** Milliseconds, ascending. */
  readonly answeredMs: readonly number[];
  readonly refusedMs: readonly number[];
}

export interface LoadCounts {
  readonly seconds: number;
  /** Longest time from when a request was due until it was sent. It waits for a timer, or for an idle connection. */
  readonly lateMs: number;
  /** Descriptions of the first failures. */
  readonly failures: readonly string[];
  readonly kinds: Readonly<Record<string, KindCounts>>;
}

/** Message of a process that makes load: `counting` after its warm-up, and in the end its counts. */
export type LoadReport = 'counting' | LoadCounts;

interface Counting {
  answered: number;
  refused: number;
  failed: number;
  readonly answeredMs: number[];
  readonly refusedMs: number[];
}

const TICK_MS = 1;
/** Connections opened at once: a listening socket has room for 512 waiting ones. */
const OPENED_AT_ONCE = 200;
/** Longest wait for requests in flight after the end of the load. */
const DRAIN_MS = 12_000;
const FAILURES_MAX = 5;

/** `onCounting` is called after the warm-up. */
export function makeLoad(plan: LoadPlan, onCounting: () => void): Promise<LoadCounts> {
  return new Load(plan, onCounting).run();
}

class Load {
  readonly #idle: Connection[] = [];
  readonly #kinds = new Map<string, Counting>();
  readonly #failures: string[] = [];
  #startedMs = 0;
  #sent = 0;
  #underWay = 0;
  #lateMs = 0;
  #onDrained: () => void = () => {};

  constructor(
    private readonly plan: LoadPlan,
    private readonly onCounting: () => void,
  ) {}

  async run(): Promise<LoadCounts> {
    const { rate, connections, warmUpSeconds } = this.plan;
    await this.#connect();
    this.#startedMs = systemClock.monotonicMs();
    setTimeout(this.onCounting, warmUpSeconds * 1000);
    if (rate === undefined) for (let i = 0; i < connections; i++) this.#send(systemClock.monotonicMs());
    else await this.#atRate(rate);
    await this.#drained();
    const seconds = (Math.min(systemClock.monotonicMs(), this.#endMs) - this.#countedFromMs) / 1000;
    for (const connection of this.#idle) connection.close();
    return { seconds, lateMs: this.#lateMs, failures: this.#failures, kinds: Object.fromEntries(this.#counts()) };
  }

  /** Opens all connections before the load, so that their opening is not measured. */
  async #connect(): Promise<void> {
    while (this.#idle.length < this.plan.connections) {
      const count = Math.min(OPENED_AT_ONCE, this.plan.connections - this.#idle.length);
      const opened = Array.from({ length: count }, () => this.#opened());
      await Promise.all(opened.map(({ connected }) => connected));
      this.#idle.push(...opened);
    }
  }

  #opened(): Connection {
    const connection: Connection = new Connection(this.plan, (status, detail) =>
      this.#answered(connection, status, detail),
    );
    return connection;
  }

  get #countedFromMs(): number {
    return this.#startedMs + this.plan.warmUpSeconds * 1000;
  }

  get #endMs(): number {
    return this.#countedFromMs + this.plan.seconds * 1000;
  }

  async #atRate(rate: number): Promise<void> {
    for (;;) {
      const nowMs = systemClock.monotonicMs();
      if (nowMs >= this.#endMs) return;
      for (let due = this.#due(rate); due <= nowMs; due = this.#due(rate)) {
        if (this.#idle.length === 0) break;
        if (due >= this.#countedFromMs) this.#lateMs = Math.max(this.#lateMs, nowMs - due);
        this.#send(due);
      }
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  }

  #due(rate: number): number {
    return this.#startedMs + (this.#sent * 1000) / rate;
  }

  #send(dueMs: number): void {
    const { requests, kinds } = this.plan;
    const place = this.#sent++ % requests.length;
    const idle = this.#idle.pop() as Connection;
    const connection = idle.isOpen ? idle : this.#opened();
    this.#underWay++;
    connection.send(requests[place] as Uint8Array, kinds[place] as string, dueMs);
  }

  /** `status` 0: the connection ended first. */
  #answered(connection: Connection, status: number, detail: string): void {
    const nowMs = systemClock.monotonicMs();
    this.#underWay--;
    const counting = this.#of(connection.kind);
    const ms = nowMs - connection.dueMs;
    // An answer after the end of an open load does not count.
    const isInTime = nowMs >= this.#countedFromMs && nowMs <= this.#endMs;
    const isTimed = connection.dueMs >= this.#countedFromMs;
    if (status === 200) {
      if (isInTime) counting.answered++;
      if (isTimed) counting.answeredMs.push(ms);
    } else if (status === 503 && /retry-after: \d/i.test(detail)) {
      if (isInTime) counting.refused++;
      if (isTimed) counting.refusedMs.push(ms);
    } else {
      counting.failed++;
      if (this.#failures.length < FAILURES_MAX) this.#failures.push(detail.slice(0, 300));
    }
    this.#idle.push(connection.isOpen ? connection : this.#opened());
    if (this.plan.rate === undefined && nowMs < this.#endMs) this.#send(nowMs);
    else if (this.#underWay === 0) this.#onDrained();
  }

  #drained(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#endMs - systemClock.monotonicMs() + DRAIN_MS);
      this.#onDrained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #of(kind: string): Counting {
    let counting = this.#kinds.get(kind);
    if (counting === undefined) {
      counting = { answered: 0, refused: 0, failed: 0, answeredMs: [], refusedMs: [] };
      this.#kinds.set(kind, counting);
    }
    return counting;
  }

  *#counts(): Generator<[string, KindCounts]> {
    for (const [kind, counting] of this.#kinds) {
      counting.answeredMs.sort((a, b) => a - b);
      counting.refusedMs.sort((a, b) => a - b);
      yield [kind, counting];
    }
  }
}

/** A connection with at most one request in flight. */
class Connection {
  kind = '';
  dueMs = 0;
  /** Resolves when it is connected, or has failed. */
  readonly connected: Promise<unknown>;
  readonly #socket: Socket;
  #received = '';
  #isWaiting = false;
  #isClosed = false;

  constructor(
    { host, port }: LoadPlan,
    private readonly onAnswer: (status: number, detail: string) => void,
  ) {
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text: string) => this.#take(text));
    this.#socket.on('error', () => undefined);
    this.connected = new Promise((resolve) => this.#socket.once('connect', resolve).once('close', resolve));
    this.#socket.on('close', () => this.#ended());
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  send(request: Uint8Array, kind: string, dueMs: number): void {
    this.kind = kind;
    this.dueMs = dueMs;
    this.#isWaiting = true;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #ended(): void {
    this.#isClosed = true;
    if (this.#isWaiting) this.#answer(0, 'the connection ended');
  }

  #take(text: string): void {
    this.#received += text;
    const answer = rawAnswer(this.#received);
    if (answer === undefined) return;
    this.#received = '';
    this.#answer(answer.status, answer.whole);
  }

  #answer(status: number, detail: string): void {
    this.#isWaiting = false;
    this.onAnswer(status, detail);
  }
}

/** One log that is followed, with what was seen of it in a file. */
import { readFile } from 'node:fs/promises';
import typia from 'typia';
import { systemClock } from '../../shared/clock.js';
import { createFile, ifThere, replaceFile } from '../../shared/files/durable.js';
import { LogAlarm, type Policy, type SeenLog, visitLog } from '../../verifier/index.js';
import { grouped } from '../terminal/line.js';
import { callersPath, readPolicy } from '../verify/files.js';
import type { MonitorRequest } from './request.js';

/** A collection of the project whose key was given. */
interface OwnCollection {
  readonly name: string;
  /** Since when the service does not list it, unix milliseconds; null while it does. */
  readonly missingMs: number | null;
}

interface State {
  readonly version: 1;
  readonly log: SeenLog;
  /** By id. */
  readonly own: Readonly<Record<string, OwnCollection>>;
}

const isState = typia.createIs<State>();
const isList = typia.createIs<{ readonly collections: readonly { readonly id: number; readonly name: string }[] }>();

/** A bundle of the largest entries. */
const FILE_BYTES_MAX = 32 * 1024 * 1024;
const ANSWER_MS = 30_000;
/** A deletion is logged some seconds after it was answered. */
const LOGGED_WITHIN_MS = 60_000;

export class Monitor {
  private constructor(
    private readonly request: MonitorRequest,
    private readonly policy: Policy,
    private readonly file: string,
    private state: State | undefined,
  ) {}

  /** Throws an Error of one line if the policy or the state cannot be read. */
  static async open(request: MonitorRequest): Promise<Monitor> {
    const file = callersPath(request.state);
    return new Monitor(request, await readPolicy(request.policy), file, await readState(file));
  }

  /** Reads what is new; returns it in words. Throws LogAlarm, and an Error where the log could not be checked. */
  async visit(): Promise<string> {
    const { state } = this;
    const visited = await visitLog((path) => fetchBytes(`${this.request.log}/${path}`), this.policy, state?.log);
    const own = await this.#own(visited.seen);
    this.state = { version: 1, log: visited.seen, own };
    await replaceFile(this.file, `${JSON.stringify(this.state)}\n`);
    const { checkpoint, entries } = visited;
    const by = checkpoint.witnesses.map(({ name }) => name).join(', ');
    const cosigned = by === '' ? 'cosigned by nobody' : `cosigned by ${by}`;
    return `${grouped(checkpoint.size)} entries of ${checkpoint.origin}, ${grouped(entries.length)} new, ${cosigned}`;
  }

  /** Returns the file with the evidence. */
  async keepEvidence({ message, evidence }: LogAlarm): Promise<string> {
    const text = [`${new Date(systemClock.nowMs()).toISOString()} ${message}\n`, ...evidence].join('\n');
    for (let n = 1; ; n++) {
      const file = `${this.file}.alarm-${n}`;
      if (await createFile(file, text)) return file;
    }
  }

  /** The project's collections. Throws LogAlarm where one has vanished, and the log does not say that it was deleted. */
  async #own(seen: SeenLog): Promise<State['own']> {
    const before = this.state?.own ?? {};
    if (this.request.key === undefined) return before;
    const listed = await this.#listed(this.request.key);
    const now = systemClock.nowMs();
    const own: Record<string, OwnCollection> = Object.fromEntries(
      [...listed].map(([id, name]) => [id, { name, missingMs: null }]),
    );
    for (const [id, { name, missingMs }] of Object.entries(before)) {
      const logged = seen.collections[id];
      if (listed.has(id) || logged === undefined || logged.isDeleted) continue;
      if (missingMs !== null && now - missingMs >= LOGGED_WITHIN_MS)
        throw new LogAlarm(
          `the collection ${name}, id ${id}, has vanished, and the log does not say that it was deleted`,
          [seen.checkpoint],
        );
      own[id] = { name, missingMs: missingMs ?? now };
    }
    return own;
  }

  async #listed(key: string): Promise<ReadonlyMap<string, string>> {
    const url = new URL('/v1/namespaces', this.request.log).href;
    const bytes = await fetchBytes(url, { authorization: `Bearer ${key}` });
    const list: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (!isList(list)) throw new Error(`${url} does not list collections`);
    return new Map(list.collections.map(({ id, name }) => [String(id), name]));
  }
}

/** Undefined at the first visit. */
async function readState(file: string): Promise<State | undefined> {
  const text = await ifThere(readFile(file, 'utf8'));
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isState(value)) throw new Error(`${file} does not hold what a monitor has seen`);
  return value;
}

/** Throws an Error of one line. */
async function fetchBytes(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  let response: Response;
  try {
    response = await fetch(url, { headers, signal, redirect: 'error' });
  } catch (error) {
    const cause = (error as Error).cause ?? error;
    throw new Error(`${url} cannot be read: ${(cause as Error).message}`);
  }
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > FILE_BYTES_MAX) throw new Error(`${url} is larger than a file of a log`);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

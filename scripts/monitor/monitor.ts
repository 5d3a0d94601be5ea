/** Follows one log, and keeps its state in a file. */
import { readFile } from 'node:fs/promises';
import typia from 'typia';
import { systemClock } from '../../shared/clock.js';
import { createFile, ifThere, replaceFile } from '../../shared/files/durable.js';
import {
  LogAlarm,
  type LogVisit,
  type Policy,
  readAgain,
  type SeenLog,
  visitLog,
  type WholeAnswer,
  wholeAnswer,
} from '../../verifier/index.js';
import { counted, grouped } from '../terminal/line.js';
import { callersPath, readPolicy } from '../verify/files.js';
import { type Answer, compare, type KeyHolder, type SizeAndRoot, type ToCompare, toCompare } from './comparison.js';
import type { MonitorRequest } from './request.js';

/** A collection of the project whose key was given. */
interface OwnCollection {
  readonly name: string;
  /** When the service was first seen not to list it, unix milliseconds; null while it does. */
  readonly missingMs: number | null;
  /** Its newest checkpoint in the log. */
  readonly logged?: SizeAndRoot;
}

interface State {
  readonly version: 1;
  readonly log: SeenLog;
  /** The project's collections by id. */
  readonly own: Readonly<Record<string, OwnCollection>>;
  /** Checkpoints of these collections that are not compared with their logs yet. */
  readonly toCompare?: readonly ToCompare[];
}

const isState = typia.createIs<State>();
const isList = typia.createIs<{ readonly collections: readonly { readonly id: number; readonly name: string }[] }>();

/** The bounds of a file of the log: the largest is a bundle of the largest entries. */
const BOUNDS = { withinMs: 30_000, maxBytes: 32 * 1024 * 1024 };
/** Time within which a deletion must be logged; usually some seconds. */
const LOGGED_WITHIN_MS = 60_000;
/** Time within which the log must mention a collection: a census is hourly, and a checkpoint may wait a little. */
const MENTIONED_WITHIN_MS = 2 * 3_600_000;
/** Comparisons before the state is saved. */
const COMPARED_AT_ONCE = 256;

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

  /** Reads the new entries; returns a summary. Throws LogAlarm, and an Error if the log could not be checked. */
  async visit(): Promise<string> {
    const { key } = this.request;
    const visited = await visitLog(this.#readLog, this.policy, this.state?.log);
    const { checkpoint, entries, seen } = visited;
    if (key === undefined) await this.#save({ ...this.state, version: 1, log: seen, own: this.state?.own ?? {} });
    const compared = key === undefined ? 0 : await this.#checkOwn(visited, this.#holderOf(key));
    this.#assertMentioned(seen);
    const by = checkpoint.witnesses.map(({ name }) => name).join(', ');
    return [
      `${counted(checkpoint.size, 'entry', 'entries')} of ${checkpoint.origin}`,
      `${grouped(entries.length)} new`,
      ...(compared === 0 ? [] : [`${grouped(compared)} compared`]),
      by === '' ? 'without cosignatures' : `cosigned by ${by}`,
    ].join(', ');
  }

  /** Returns the file with the evidence; for a repeated alarm that of the first visit. */
  async keepEvidence({ message, evidence }: LogAlarm): Promise<string> {
    const text = [`${new Date(systemClock.nowMs()).toISOString()} ${message}\n`, ...evidence].join('\n');
    for (let n = 1; ; n++) {
      const file = `${this.file}.alarm-${n}`;
      if (await createFile(file, text)) return file;
      const [first = ''] = (await readFile(file, 'utf8')).split('\n');
      if (first.slice(first.indexOf(' ') + 1) === message) return file;
    }
  }

  readonly #readLog = (path: string): Promise<Uint8Array> => fetchBytes(`${this.request.log}/${path}`);

  async #save(state: State): Promise<void> {
    this.state = state;
    await replaceFile(this.file, `${JSON.stringify(state)}\n`);
  }

  /** Throws an Error if the log has not mentioned a collection for too long, neither in a census nor in another entry. */
  #assertMentioned({ census, collections }: SeenLog): void {
    const now = systemClock.nowMs();
    const countedMs = census?.timeMs ?? 0;
    if (now - countedMs <= MENTIONED_WITHIN_MS) return;
    for (const [id, { timeMs, isDeleted }] of Object.entries(collections)) {
      const ageMs = now - Math.max(timeMs, countedMs);
      if (!isDeleted && ageMs > MENTIONED_WITHIN_MS)
        throw new Error(
          `the log has not mentioned collection ${id} for ${counted(Math.floor(ageMs / 60_000), 'minute')}`,
        );
    }
  }

  /** Checks the project's collections; returns the number of compared checkpoints. Throws like `visit`. */
  async #checkOwn(visited: LogVisit, holder: KeyHolder): Promise<number> {
    const { seen } = visited;
    const names = await holder.listed();
    const { own, added } = await this.#newCheckpoints(visited, this.#own(seen, names), names);
    let left = [...(this.state?.toCompare ?? []), ...added].filter(({ id }) => own[id] !== undefined);
    await this.#save({ version: 1, log: seen, own, toCompare: left });
    const count = left.length;
    for (let at = 0; at < count; at += COMPARED_AT_ONCE) {
      const outcome = await compare(left.slice(0, COMPARED_AT_ONCE), names, holder);
      left = [...left.slice(COMPARED_AT_ONCE), ...outcome.left];
      await this.#save({ version: 1, log: seen, own, toCompare: left });
      if (outcome.reason !== undefined) throw new Error(outcome.reason);
    }
    return count - left.length;
  }

  /** New entries about the project's collections; for collections that are new to this monitor, all their entries. */
  async #newCheckpoints(
    { seen, entries }: LogVisit,
    own: State['own'],
    names: ReadonlyMap<string, string>,
  ): Promise<{ readonly own: State['own']; readonly added: readonly ToCompare[] }> {
    const before = this.state;
    const last = new Map(
      Object.entries(own).flatMap(([id, { logged }]) => (logged === undefined ? [] : [[id, logged]])),
    );
    const isNew = (id: string): boolean =>
      names.has(id) && before?.own[id] === undefined && before?.log.collections[id] !== undefined;
    const again =
      before !== undefined && [...names.keys()].some(isNew) ? await readAgain(this.#readLog, before.log) : [];
    const added = [
      ...toCompare(again, 0, isNew, last),
      ...toCompare(entries, seen.size - entries.length, (id) => names.has(id), last),
    ];
    const known = Object.entries(own).map(([id, one]) => {
      const logged = last.get(id);
      return [id, logged === undefined ? one : { ...one, logged }] as const;
    });
    return { own: Object.fromEntries(known), added };
  }

  /** The project's collections. Throws LogAlarm if one has vanished without a deletion in the log. */
  #own(seen: SeenLog, names: ReadonlyMap<string, string>): State['own'] {
    const before = this.state?.own ?? {};
    const now = systemClock.nowMs();
    const own: Record<string, OwnCollection> = Object.fromEntries(
      [...names].map(([id, name]) => [id, { ...before[id], name, missingMs: null }]),
    );
    for (const [id, one] of Object.entries(before)) {
      const logged = seen.collections[id];
      if (names.has(id) || logged === undefined || logged.isDeleted) continue;
      const { name, missingMs } = one;
      if (missingMs !== null && now - missingMs >= LOGGED_WITHIN_MS)
        throw new LogAlarm(
          `the collection ${name}, id ${id}, has vanished, and the log does not say that it was deleted`,
          [seen.checkpoint],
        );
      own[id] = { ...one, missingMs: missingMs ?? now };
    }
    return own;
  }

  #holderOf(key: string): KeyHolder {
    const headers = { authorization: `Bearer ${key}` };
    const urlOf = (path: string): string => new URL(path, this.request.log).href;
    return {
      ask: (path) => fetchAnswer(urlOf(path), headers),
      listed: async () => {
        const list: unknown = JSON.parse(textOf(await fetchBytes(urlOf('/v1/namespaces'), headers)));
        if (!isList(list)) throw new Error(`${urlOf('/v1/namespaces')} does not list collections`);
        return new Map(list.collections.map(({ id, name }) => [String(id), name]));
      },
    };
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
  if (!isState(value)) throw new Error(`${file} is not the state file of a monitor`);
  return value;
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** Throws an Error of one line, also for a refusal. */
async function fetchBytes(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Uint8Array> {
  const { ok, status, bytes } = await fetched(url, headers);
  if (!ok) throw new Error(`${url} answers ${status}`);
  return bytes;
}

/** Throws an Error of one line. */
async function fetchAnswer(url: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const { status, bytes } = await fetched(url, headers);
  return { status, text: textOf(bytes) };
}

async function fetched(url: string, headers: Readonly<Record<string, string>>): Promise<WholeAnswer> {
  try {
    return await wholeAnswer(url, { headers, redirect: 'error' }, BOUNDS);
  } catch (error) {
    const cause = (error as Error).cause ?? error;
    throw new Error(`${url} cannot be read: ${(cause as Error).message}`);
  }
}

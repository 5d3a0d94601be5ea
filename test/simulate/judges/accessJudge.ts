/**
 * Judges the access logs at the end of a run. Each answered read is in the log of its collection exactly once, with the hashes of
 * its request and answer. Each entry is of a read that a client has sent, and names a state that the collection had.
 */

import { messageOf } from '../../../shared/errors/errors.js';
import { DOMAIN, hash, toHex } from '../../../shared/hashing/hash.js';
import { decodeAccessFrame } from '../../../shared/log/accessFrame.js';
import { verifyAccessLog } from '../../../verifier/index.js';
import type { LogOf } from '../../soak/readLogs.js';
import type { SimulatedService } from '../cluster/simulatedService.js';
import type { AskedRead } from './askedReads.js';
import type { StatesJudge } from './statesJudge.js';

interface Entry {
  readonly entry: number;
  readonly actor: { readonly request_id: string };
  readonly kind: string;
  readonly status: number;
  readonly request_hash?: string;
  readonly answer_hash?: string;
  readonly since?: number;
  readonly sequence?: number;
  readonly state_hash?: string;
}

interface Answer {
  /** Present in the answer of a search over several collections. */
  readonly partial_failures?: readonly { readonly collection: string }[];
  /** Present in the answer of `GET /v1/proof/state`. */
  readonly final_state_hash?: string;
  /** Present in the answer of a search in the past; the soak's checker compares it with the log. */
  readonly as_of_state_hash?: string;
}

/** Returns what is wrong. `collections`: those that have an access log. */
export async function judgeAccess(
  service: SimulatedService,
  collections: readonly LogOf[],
  reads: readonly AskedRead[],
): Promise<string[]> {
  const wrong: string[] = [];
  for (const { name, id } of collections) {
    const entries: Entry[] = [];
    try {
      const frames = readWhileVerified(service.accessFrames(id), entries);
      const claims = service.nats?.loss === undefined ? service.accessClaims(id) : [];
      const report = await verifyAccessLog(frames, BigInt(id), claims);
      wrong.push(...report.wrong.map(({ reason }) => `the service log names another access log of ${name}: ${reason}`));
    } catch (error) {
      wrong.push(`the access log of ${name} does not verify: ${messageOf(error)}`);
      continue;
    }
    // Entries before a loss may be lost, and the states that they name.
    const fromMs = service.nats?.loss?.atMs ?? 0;
    const sent = reads.filter((read) => read.collections.includes(name));
    const judge = new AccessJudge({ name, id }, entries, service.states);
    wrong.push(...judge.wrongIn(sent.filter(({ sentMs }) => sentMs >= fromMs)), ...judge.unsent(sent));
    service.world.trace.number(entries.length);
  }
  return wrong;
}

async function* readWhileVerified(
  frames: AsyncIterable<Uint8Array>,
  entries: Entry[],
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const bytes of frames) {
    yield bytes;
    for (const entry of decodeAccessFrame(bytes).entries)
      entries.push(JSON.parse(Buffer.from(entry).toString()) as Entry);
  }
}

class AccessJudge {
  readonly #byRequest = new Map<string, Entry[]>();

  constructor(
    private readonly collection: LogOf,
    entries: readonly Entry[],
    private readonly states: StatesJudge,
  ) {
    for (const entry of entries) {
      const { request_id: requestId } = entry.actor;
      this.#byRequest.set(requestId, [...(this.#byRequest.get(requestId) ?? []), entry]);
    }
  }

  /** Returns what is wrong in the entries of these reads. */
  wrongIn(reads: readonly AskedRead[]): string[] {
    return reads.flatMap((read) => {
      const entries = this.#byRequest.get(read.requestId) ?? [];
      const wrong = [
        ...(entries.length > 1 ? [`has ${entries.length} entries`] : []),
        ...(entries.length === 0 && this.#isAnswered(read) ? ['has no entry'] : []),
        ...entries.flatMap((entry) => this.#wrongEntry(entry, read)),
      ];
      return wrong.map((what) => `${describe(read)} ${what} in the access log of ${this.collection.name}`);
    });
  }

  /** Returns the answered entries that are of none of these reads. Refused requests for the state of an index have entries too. */
  unsent(reads: readonly AskedRead[]): string[] {
    const sent = new Set(reads.map(({ requestId }) => requestId));
    const answered = [...this.#byRequest.values()].flat().filter(({ status }) => status < 400);
    const others = answered.filter(({ actor }) => !sent.has(actor.request_id));
    return others.map(
      ({ actor, kind }) =>
        `the access log of ${this.collection.name} has an entry of ${actor.request_id} (${kind}), which did not read it`,
    );
  }

  /** Whether the client has an answer, or a refusal, that needs an entry. */
  #isAnswered({ answer }: AskedRead): boolean {
    if (answer === undefined || answer.status >= 500) return false;
    const { partial_failures = [] } = contentOf(answer);
    return !partial_failures.some(({ collection }) => collection === this.collection.name);
  }

  #wrongEntry(entry: Entry, { request, answer }: AskedRead): string[] {
    const { sequence, state_hash: stateHash } = entry;
    const wrong: string[] = [];
    if (entry.request_hash !== requestHash(request)) wrong.push('has another request hash');
    const had = sequence === undefined ? undefined : this.states.hashAt(this.collection.id, sequence);
    // A past state may be one within a frame, which no process has shown.
    if (stateHash !== had && !(had === undefined && isOfPast(request)))
      wrong.push(`has a state of event ${sequence} that the collection did not have`);
    if (sequence === undefined && entry.status < 400) wrong.push('has no state');
    if (answer === undefined || answer.status >= 500) return wrong;
    if (entry.status !== answer.status) wrong.push(`has status ${entry.status}, and was answered ${answer.status}`);
    if (answer.status >= 400) return wrong;
    if (entry.answer_hash !== answerHash(answer)) wrong.push('has the hash of another answer');
    const { final_state_hash: present = stateHash, as_of_state_hash: shown = present } = contentOf(answer);
    if (entry.since === undefined && shown !== stateHash) wrong.push('has another state than the answer');
    return wrong;
  }
}

const contentOf = ({ body }: { readonly body: Buffer }): Answer => JSON.parse(body.toString()) as Answer;

const isOfPast = ({ body }: AskedRead['request']): boolean => /"as_of_log_index":\d/.test(body.toString());

const requestHash = ({ method, path, query, body }: AskedRead['request']): string =>
  hashed(DOMAIN.accessRequest, Buffer.from(`${method} ${path}${query === undefined ? '' : '?'}${query ?? ''}\n`), body);

const answerHash = ({ body }: { readonly body: Buffer }): string => hashed(DOMAIN.accessAnswer, body);

const hashed = (domain: number, ...parts: readonly Buffer[]): string =>
  toHex(hash(Buffer.concat([Buffer.from([domain]), ...parts])));

const describe = ({ requestId, request: { method, path, query }, answer }: AskedRead): string =>
  `${requestId} (${method} ${path}${query === undefined ? '' : '?'}${query ?? ''}: ${answer?.status ?? 'no answer'})`;

/**
 * The answers of shards, as they send them. An owner answers no read that comes to it when another owner has begun, or
 * when its lease has ended, unless it has renewed that since; and a follower's eventual answer is no older than it may be.
 */
import { Malformed } from '../../../shared/errors/malformed.js';
import { type Outcome, unpackOutcomes } from '../../../shared/protocol/wire.js';
import type { Party } from '../world/party.js';
import type { Findings } from './findings.js';
import type { LogsJudge } from './logsJudge.js';
import { DRIFT_SHARE, type OwnersJudge } from './ownersJudge.js';

const READ = /^vouch\.c\.(\d+)\.(\d+)\.read$/;
const EVENTUAL = /^vouch\.f\.(\d+)$/;

interface Asked {
  readonly at: Party;
  readonly subject: string;
  /** Another owner had begun when it came. */
  readonly isOver: boolean;
  /** The last heartbeat of the shard, where its lease had ended when it came. */
  readonly endedLease: number | undefined;
  /** What the answer must show. */
  readonly floor: number;
}

/** None where the message is no answer of calls: an error, which its headers tell, or one of the transport. */
function outcomesIn(body: Buffer): readonly Outcome[] {
  try {
    const outcomes = unpackOutcomes(body);
    return Array.isArray(outcomes) ? outcomes : [];
  } catch (error) {
    if (error instanceof Malformed) return [];
    throw error;
  }
}

export class AnswersJudge {
  /** By the subject of the answer. */
  readonly #asked = new Map<string, Asked>();

  constructor(
    private readonly findings: Findings,
    private readonly owners: OwnersJudge,
    private readonly logs: LogsJudge,
    private readonly staleMs: number,
  ) {}

  /** A message that is to be answered has come to a process. */
  arrived(at: Party, subject: string, reply: string): void {
    const [, id, epoch] = READ.exec(subject) ?? [];
    if (id !== undefined) {
      const isOver = this.owners.isOver(Number(id), at.name, Number(epoch));
      const endedLease = this.owners.endedLeaseOf(at.name);
      this.#asked.set(reply, { at, subject, isOver, endedLease, floor: 0 });
    }
    const [, followed] = EVENTUAL.exec(subject) ?? [];
    if (followed === undefined) return;
    const floor = this.logs.shownBy(Number(followed), this.findings.world.nowMs - this.staleMs * (1 + DRIFT_SHARE));
    this.#asked.set(reply, { at, subject, isOver: false, endedLease: undefined, floor });
  }

  published(from: Party, subject: string, body: Buffer): void {
    const asked = this.#asked.get(subject);
    if (asked?.at !== from) return;
    this.#asked.delete(subject);
    for (const outcome of outcomesIn(body)) if ('ok' in outcome) this.#answered(asked, outcome.ok);
  }

  #answered({ at, subject, isOver, endedLease, floor }: Asked, result: unknown): void {
    const [, id, epoch] = READ.exec(subject) ?? [];
    if (id !== undefined) this.owners.begun(Number(id), at.name, Number(epoch));
    if (isOver) this.findings.add(`${at.name} answers ${subject}, which came when another owner had begun`);
    if (endedLease !== undefined && this.owners.endedLeaseOf(at.name) === endedLease)
      this.findings.add(`${at.name} answers ${subject}, which came when it had no lease`);
    const { sequence } = result as { readonly sequence?: number };
    if (sequence !== undefined && sequence < floor)
      this.findings.add(`${at.name} answers ${subject} from event ${sequence}, and ${floor} was applied long before`);
  }
}

/**
 * Judges the answers that shards send. An owner must not answer a read that arrived after another owner had begun. If it arrived
 * after the owner's lease had ended, the lease must have been renewed since. A follower's eventual answer must not be older than
 * allowed.
 */
import { Malformed } from '../../../shared/errors/malformed.js';
import { type Outcome, unpackOutcomes } from '../../../shared/protocol/wire.js';
import type { Party } from '../world/party.js';
import type { Findings } from './findings.js';
import type { LogsJudge } from './logsJudge.js';
import { DRIFT_SHARE, type OwnersJudge } from './ownersJudge.js';

const READ = /^vouch\.c\.(\d+)\.(\d+)\.read$/;
const EVENTUAL = /^vouch\.f\.(\d+)$/;

/** A read that has arrived at a process. */
interface Asked {
  readonly at: Party;
  readonly subject: string;
  /** Whether another owner had begun when it arrived. */
  readonly isOver: boolean;
  /** Time of the shard's last heartbeat, if its lease had ended when the read arrived; otherwise undefined. */
  readonly endedLease: number | undefined;
  /** Least sequence of the state that may answer. */
  readonly floor: number;
}

/** Returns the outcomes in an answer; none if the message is an error, or one of the transport itself. */
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
  /** Reads without an answer, by the subject of the answer. */
  readonly #asked = new Map<string, Asked>();

  constructor(
    private readonly findings: Findings,
    private readonly owners: OwnersJudge,
    private readonly logs: LogsJudge,
    private readonly staleMs: number,
  ) {}

  /** Receives each message that arrives at a process. */
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

  /** Receives each message that a process publishes. */
  published(from: Party, subject: string, body: Buffer): void {
    const asked = this.#asked.get(subject);
    if (asked?.at !== from) return;
    this.#asked.delete(subject);
    for (const outcome of outcomesIn(body)) if ('ok' in outcome) this.#answered(asked, outcome.ok);
  }

  #answered({ at, subject, isOver, endedLease, floor }: Asked, result: unknown): void {
    const [, id, epoch] = READ.exec(subject) ?? [];
    if (id !== undefined) this.owners.begun(Number(id), at.name, Number(epoch));
    if (isOver) this.findings.add(`${at.name} answers ${subject}, which arrived after another owner had begun`);
    if (endedLease !== undefined && this.owners.endedLeaseOf(at.name) === endedLease)
      this.findings.add(`${at.name} answers ${subject}, which arrived after its lease had ended`);
    const { sequence } = result as { readonly sequence?: number };
    if (sequence !== undefined && sequence < floor)
      this.findings.add(`${at.name} answers ${subject} from event ${sequence}, and ${floor} was applied long before`);
  }
}

/** Judges that an owner removes no record before its expiry. The log cannot show that, since a removal has the time of the expiry. */
import type { CollectionState } from '../../../shard/state/collectionState.js';
import { Journal } from '../../../shard/state/journal.js';
import type { Event } from '../../../shared/log/event.js';
import { SYSTEM_KEY_ID } from '../../../shared/model/actor.js';
import type { Findings } from './findings.js';
import { before, JudgeOf } from './wrapped.js';

/** A clock may jump back by ten seconds between the choice of a record and the commit of its removal. */
const JUMP_MS = 10_000;

const judges = new JudgeOf<ExpiryJudge>();

export class ExpiryJudge {
  constructor(private readonly findings: Findings) {
    judges.set(findings.world, this);
  }

  /** Receives the events of each commit before it begins. */
  commits(journal: Journal, events: readonly Event[]): void {
    const { state } = journal as unknown as { state: CollectionState };
    const nowMs = this.findings.world.wallMs();
    for (const event of events) {
      if (event.type !== 'delete' || event.actor?.keyId !== SYSTEM_KEY_ID) continue;
      const atMs = state.expiries.of(event.recordId);
      if (atMs === undefined || atMs > nowMs + JUMP_MS)
        this.findings.add(`record ${event.recordId} is removed at ${nowMs}, and expires ${atMs ?? 'never'}`);
    }
  }
}

before(Journal.prototype, 'commit', (journal, [events]) => judges.current?.commits(journal, events));

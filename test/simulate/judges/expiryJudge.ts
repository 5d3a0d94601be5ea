/**
 * Judges expiries by the clock of the owner, which no log shows. A record is not removed before its expiry. A read is answered
 * after the removal of each record that had expired when the read began.
 */
import { CollectionHandle } from '../../../shard/collection/collectionHandle.js';
import type { CollectionState } from '../../../shard/state/collectionState.js';
import { Journal } from '../../../shard/state/journal.js';
import type { Event } from '../../../shared/log/event.js';
import { SYSTEM_KEY_ID } from '../../../shared/model/actor.js';
import type { Findings } from './findings.js';
import { after, before, JudgeOf } from './wrapped.js';

/** A clock may jump back by ten seconds between two looks at it. */
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

  /** Receives each read that begins at an owner. `answer` is awaited. */
  reads(handle: CollectionHandle, answer: Promise<unknown>): void {
    const begunMs = this.findings.world.wallMs();
    const judge = (): void => {
      const nextMs = handle.openCollection?.state.expiries.nextMs ?? Number.POSITIVE_INFINITY;
      if (nextMs <= begunMs - JUMP_MS)
        this.findings.add(`a read that began at ${begunMs} is answered with a record that expired at ${nextMs}`);
    };
    answer.then(judge, () => undefined);
  }
}

before(Journal.prototype, 'commit', (journal, [{ events }]) => judges.current?.commits(journal, events));
after(CollectionHandle.prototype, 'read', (handle, answer) => judges.current?.reads(handle, answer));

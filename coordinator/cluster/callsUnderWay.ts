/**
 * Messages that wait for their answer, so that none waits for a process that has gone: its end is an event, and nothing
 * here costs a timer a request.
 */
import type { VouchError } from '../../shared/errors.js';
import { AnswerLost } from '../../shared/transport/answerLost.js';
import type { Server } from './members.js';

/** The process that was asked is gone: what it did is not known. */
export class ProcessGone extends AnswerLost {
  constructor() {
    super('the shard that was asked is gone');
    this.name = 'ProcessGone';
  }
}

interface UnderWay {
  readonly collectionId: number;
  readonly server: Server;
  readonly isRead: boolean;
  readonly end: (error: VouchError) => void;
}

export class CallsUnderWay {
  readonly #underWay = new Set<UnderWay>();

  /** As `answer`, but `ProcessGone` as soon as `server` cannot give it any more. */
  async awaiting<T>(collectionId: number, server: Server, isRead: boolean, answer: Promise<T>): Promise<T> {
    let underWay: UnderWay | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        underWay = { collectionId, server, isRead, end: reject };
        this.#underWay.add(underWay);
        answer.then(resolve, reject);
      });
    } finally {
      this.#underWay.delete(underWay as UnderWay);
    }
  }

  /** The process that runs under the shard's name now has this session; undefined: none lives. */
  processChanged(shard: string, session: string | undefined): void {
    for (const { server, end } of this.#underWay)
      if (server.shard === shard && server.session !== session) end(new ProcessGone());
  }

  /**
   * Another epoch has begun. A former owner that lives answers every write it has taken, so those are waited for; a read
   * it may answer no more, and asked again it comes to the new owner.
   */
  ownerChanged(collectionId: number, epoch: number | undefined): void {
    for (const underWay of this.#underWay)
      if (underWay.isRead && underWay.collectionId === collectionId && underWay.server.epoch !== epoch)
        underWay.end(new ProcessGone());
  }
}

/** The choice and order of collections that are asked for the length of their logs. */
import { expect } from 'chai';
import type { Members, MembersListener, Owned } from '../../../../../coordinator/cluster/members/members.js';
import { HEADS_PER_LOOK, UnseenLogs } from '../../../../../coordinator/cluster/reports/unseenLogs.js';
import { systemClock } from '../../../../../shared/clock.js';
import { unavailable } from '../../../../../shared/errors/errors.js';

const ENVELOPE = { requestId: 'test', deadlineMs: 0 };

class ScriptedMembers {
  readonly asked: number[][] = [];
  /** Shard of each collection. */
  readonly owners = new Map<number, string>();
  readonly sessions = new Map<string, string>();
  /** Callback for each request. */
  onAsked = (): void => {};
  isAway = false;
  #listener: MembersListener | undefined;

  own(id: number, shard: string): void {
    this.owners.set(id, shard);
    this.#listener!.ownerChanged(id);
  }

  disown(id: number): void {
    this.owners.delete(id);
    this.#listener!.ownerChanged(id);
  }

  /** Sets the session of a shard's process; undefined ends the process. */
  live(shard: string, session: string | undefined): void {
    if (session === undefined) this.sessions.delete(shard);
    else this.sessions.set(shard, session);
    this.#listener!.processChanged(shard, session);
  }

  get members(): Pick<Members, 'listen' | 'owned' | 'serverOf' | 'ask'> {
    const ask = async (_: string, { collectionIds }: { readonly collectionIds: readonly number[] }) => {
      this.asked.push([...collectionIds]);
      this.onAsked();
      if (this.isAway) throw unavailable('it does not answer');
      return { sequences: collectionIds.map((id) => (id === 13 ? null : id)) };
    };
    return {
      listen: (listener) => {
        this.#listener = listener;
      },
      owned: () => new Map([...this.owners].map(([id, shard]) => [id, { shard } as Owned])),
      serverOf: (id) => {
        const shard = this.owners.get(id);
        const session = shard === undefined ? undefined : this.sessions.get(shard);
        return shard === undefined || session === undefined ? undefined : { shard, session, epoch: 1 };
      },
      ask: ask as unknown as Members['ask'],
    };
  }
}

describe('logs that may have grown unseen', () => {
  const setUp = (): { cluster: ScriptedMembers; look: (logged?: readonly number[]) => Promise<number[]> } => {
    const cluster = new ScriptedMembers();
    const unseen = new UnseenLogs(cluster.members, systemClock);
    const look = async (logged: readonly number[] = []) =>
      [...(await unseen.sequences(new Map(logged.map((id) => [id, id])), ENVELOPE)).keys()].sort((a, b) => a - b);
    return { cluster, look };
  };

  it('are requested once from each process that serves them', async () => {
    const { cluster, look } = setUp();
    cluster.own(1, 'a');
    cluster.own(2, 'b');
    expect(await look(), 'no shard serves them').to.deep.equal([]);
    cluster.live('a', 'a1');
    cluster.live('b', 'b1');
    expect(await look()).to.deep.equal([1, 2]);
    expect(await look()).to.deep.equal([]);
    cluster.live('a', undefined);
    cluster.live('a', 'a2');
    expect(await look(), 'a has another process').to.deep.equal([1]);
    cluster.own(2, 'a');
    expect(await look(), '2 has another owner').to.deep.equal([2]);
    cluster.own(1, 'a');
    cluster.disown(1);
    expect(await look(), '1 was deleted').to.deep.equal([]);
    expect(cluster.asked).to.have.length(4);
  });

  it('are requested again after a missing answer', async () => {
    const { cluster, look } = setUp();
    cluster.live('a', 'a1');
    cluster.own(1, 'a');
    cluster.own(13, 'a');
    cluster.isAway = true;
    expect(await look()).to.deep.equal([]);
    cluster.isAway = false;
    expect(await look(), '13 is not served there').to.deep.equal([1]);
    expect(cluster.asked).to.deep.equal([
      [1, 13],
      [1, 13],
    ]);
    await look();
    expect(cluster.asked.at(-1)).to.deep.equal([13]);
  });

  it('are requested again if the owner changed during the request', async () => {
    const { cluster, look } = setUp();
    cluster.live('a', 'a1');
    cluster.own(1, 'a');
    cluster.onAsked = () => {
      cluster.onAsked = () => {};
      cluster.own(1, 'a');
    };
    expect(await look()).to.deep.equal([1]);
    expect(await look()).to.deep.equal([1]);
    expect(await look()).to.deep.equal([]);
  });

  it('are requested in portions: never logged ones first, then those with the oldest entry', async () => {
    const { cluster, look } = setUp();
    cluster.live('a', 'a1');
    const count = HEADS_PER_LOOK + 100;
    for (let id = 101; id <= 100 + count; id++) cluster.own(id, 'a');
    // 101 has the oldest log entry, and the last 50 collections have none.
    const logged = Array.from({ length: count - 50 }, (_, i) => 50 + count - i);
    const never = Array.from({ length: 50 }, (_, i) => 51 + count + i);
    const first = await look(logged);
    expect(first)
      .to.have.length(HEADS_PER_LOOK)
      .and.include.members([...never, 101, 102]);
    expect(first).to.not.include(50 + count);
    cluster.own(7, 'a');
    expect(await look(logged))
      .to.have.length(101)
      .and.include.members([7, 50 + count]);
    expect(await look(logged)).to.deep.equal([]);
  });
});

/** A service whose event loop turns are measured, and the stage of its attacker. */
import { type Answered, Asker } from '../../../bench/stalls/asker.js';
import { type Attack, Stage } from '../../../bench/stalls/stage.js';
import { type Mode, Service } from '../../support/launch/service.js';
import { PATIENCE_MS } from '../../support/patience.js';
import { type LongestTurn, StallWatch } from './stallWatch.js';

export interface Outcome {
  readonly answers: readonly Answered[];
  readonly turns: readonly LongestTurn[];
}

export class AttackedService {
  private constructor(
    private readonly watch: StallWatch,
    private readonly service: Service,
    readonly stage: Stage,
    private readonly followed: boolean,
  ) {}

  /**
   * Starts one shard, which serves every collection. `followed`: and a second one that follows it and answers searches.
   */
  static async start(mode: Mode, { followed = false } = {}): Promise<AttackedService> {
    const watch = new StallWatch();
    try {
      const followers = followed ? { VOUCH_FOLLOWERS: '1' } : {};
      const service = await Service.start(mode, { ...watch.settings, ...followers }, { shards: followed ? 2 : 1 });
      const { admin } = await service.newProject();
      const asker = new Asker(service.url, admin.key!);
      return new AttackedService(
        watch,
        service,
        new Stage(asker, followed ? { consistency: 'eventual' } : {}),
        followed,
      );
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  async measure(attack: Attack): Promise<Outcome> {
    let answers: readonly Answered[] = [];
    if (this.followed) await this.service.until(() => this.#isFollowed());
    const turns = await this.watch.during(async () => {
      answers = await inTime(attack());
    });
    return { answers, turns };
  }

  /** Whether every collection has a follower that has opened it. */
  async #isFollowed(): Promise<boolean> {
    const [owned, following] = await Promise.all([
      this.service.metric('vouch_collections'),
      this.service.metric('vouch_collections_followed', 'state="following"'),
    ]);
    return owned > 0 && owned === following;
  }

  async stop(): Promise<void> {
    await this.service.stop();
    this.watch.close();
  }

  /** Kills it even if its event loops are blocked. */
  async kill(): Promise<void> {
    await Promise.all(this.service.processNames.map((name) => this.service.kill(name)));
    await this.stop();
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

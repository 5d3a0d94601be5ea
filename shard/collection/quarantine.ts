/** The reason why a collection is closed: its stored bytes do not verify, or its opening has stopped shards. */
import { messageOf, VouchError } from '../../shared/errors/errors.js';
import type { Damaged } from '../../shared/log/damaged.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { CollectionContext } from './collectionContext.js';

export class Quarantine {
  #damage: Damaged | undefined;
  #error: VouchError | undefined;

  constructor(
    private readonly config: CollectionConfig,
    private readonly context: Pick<CollectionContext, 'damages' | 'logger'>,
  ) {}

  /** Error for callers; undefined if the collection is not quarantined. */
  get error(): VouchError | undefined {
    return this.#error;
  }

  get part(): Damaged['part'] | undefined {
    return this.#damage?.part;
  }

  /** Key whose damaged vault entry is the reason. */
  get keyId(): string | undefined {
    return this.#damage?.keyId;
  }

  /** Closes the collection, with a log line and a report. Returns the error for callers. */
  begin(damage: Damaged): VouchError {
    const { id: collectionId, project, name } = this.config;
    const { part, message: reason } = damage;
    this.context.logger.error({ collectionId, project, name, reason }, 'collection quarantined');
    this.context.damages.report({ collectionId, part, reason });
    this.#damage = damage;
    const what = part === 'opening' ? '' : `, its stored ${part} does not verify`;
    this.#error = new VouchError(
      'internal_error',
      `collection ${JSON.stringify(name)} is quarantined${what}: ${messageOf(damage)}`,
    );
    return this.#error;
  }

  end(why: string): void {
    const { id: collectionId } = this.config;
    this.context.logger.info({ collectionId, keyId: this.keyId }, `${why}; the collection serves again`);
    if (this.part !== undefined) this.context.damages.mended(collectionId, this.part);
    this.#damage = undefined;
    this.#error = undefined;
  }
}

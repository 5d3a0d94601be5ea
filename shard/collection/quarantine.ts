/** A quarantine: why a collection is closed. Its stored bytes do not verify, or its opening has stopped shards. */
import { messageOf, VouchError } from '../../shared/errors/errors.js';
import type { Damaged } from '../../shared/log/damaged.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { CollectionContext } from './collectionContext.js';

export class Quarantine {
  /** For callers of the collection. */
  readonly error: VouchError;

  /** Writes a log line and reports the damage. */
  constructor(
    private readonly config: CollectionConfig,
    private readonly context: Pick<CollectionContext, 'damages' | 'logger'>,
    private readonly damage: Damaged,
  ) {
    const { id: collectionId, project, name } = config;
    const { part, message: reason } = damage;
    context.logger.error({ collectionId, project, name, reason }, 'collection quarantined');
    context.damages.report({ collectionId, part, reason });
    const what = part === 'opening' ? '' : `, its stored ${part} does not verify`;
    this.error = new VouchError(
      'internal_error',
      `collection ${JSON.stringify(name)} is quarantined${what}: ${messageOf(damage)}`,
    );
  }

  get part(): Damaged['part'] {
    return this.damage.part;
  }

  /** The key whose vault entry is damaged; undefined for any other reason. */
  get keyId(): string | undefined {
    return this.damage.keyId;
  }

  end(why: string): void {
    const { id: collectionId } = this.config;
    this.context.logger.info({ collectionId, keyId: this.keyId }, `${why}; the collection serves again`);
    this.context.damages.mended(collectionId, this.part);
  }
}

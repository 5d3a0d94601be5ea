/** Opens the parts of a collection: the log, its state, and what follows from both. */
import { noticingDamage } from '../../shared/log/damaged.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { noteWork } from '../../shared/scheduling/currentWork.js';
import { CollectionIndex } from '../index/collectionIndex.js';
import { type OpenState, openState } from '../snapshot/openState.js';
import type { CollectionState } from '../state/collectionState.js';
import { contentKeysOf } from '../vault/collectionVault.js';
import type { ContentKeys } from '../vault/contentKeys.js';
import type { CollectionContext } from './collectionContext.js';
import { CollectionWatermark } from './watermark.js';
import type { NotedWatermark } from './watermarkNotes.js';

/** The parts of an open collection, in the order in which they are made. */
export interface OpenedCollection extends OpenState {
  readonly log: EventLog;
  readonly contents: ContentKeys;
  readonly watermark: CollectionWatermark;
  readonly index: CollectionIndex;
}

/** See `Collection.open`. `noted`: the watermark before the log was opened. */
export async function openParts(
  config: CollectionConfig,
  context: CollectionContext,
  noted: NotedWatermark | undefined,
  toOwn: boolean,
): Promise<OpenedCollection> {
  const log = await noticingDamage(() => context.logs.open(config.id));
  const contents = contentKeysOf(config, context);
  let state: CollectionState | undefined;
  try {
    if (toOwn) await log.barrier();
    noteWork('opening', config);
    const opened = await openState(config, log, { ...context, contents });
    const { journal } = opened;
    state = opened.state;
    const { vectors } = state;
    const watermark = new CollectionWatermark({ config, log, journal }, context.watermarks, context.clock);
    await watermark.assertAs(noted);
    const indexed = {
      config,
      vectors,
      get sequence() {
        return journal.seenSequence;
      },
      get fileKey() {
        return opened.state.encrypted.hasContents ? contents.fileKey : undefined;
      },
      records: state,
    };
    context.openings.step(config.id, 'index', 0);
    const index = await CollectionIndex.open(indexed, context.indexes);
    state.onDeath = (slot, isReplaced) => index.remove(slot, isReplaced);
    return { ...opened, log, contents, watermark, index };
  } catch (error) {
    contents.close();
    state?.vectors.destroy();
    await log.close();
    throw error;
  }
}

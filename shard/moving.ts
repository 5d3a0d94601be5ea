import { unavailable, type VouchError } from '../shared/errors.js';

/** Whoever asks a collection that its shard is letting go of is told so; another shard, or this one again, serves it shortly. */
export const moving = (): VouchError => unavailable('the collection is moving to another shard; retry shortly');

/** Prepares requests for certificates of erasure. */
import type { EraseRequest } from '../contract/erasures.js';
import { filterOf } from '../contract/filter.js';
import { invalid } from '../contract/refusal.js';
import { assertNotEmpty, assertOne } from './recordSets.js';

/** Throws `validation_error`. */
export function prepareErasure({ key_ids = null, metadata_filter = null, collection = null, logged }: EraseRequest) {
  assertOne({ key_ids, metadata_filter });
  if (metadata_filter === null && collection !== null)
    throw invalid('$.collection needs metadata_filter: a key is shredded in all collections of the project');
  assertNotEmpty(metadata_filter, 'add a condition, or name the keys in key_ids');
  return {
    collection,
    keyIds: key_ids ?? [],
    filter: metadata_filter === null ? undefined : filterOf(metadata_filter, '$.metadata_filter'),
    isLogged: logged === true,
  };
}

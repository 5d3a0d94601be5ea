/** A filter against one record's metadata: what `MetadataIndex.select` finds, for a record that is not in the index. */
import { unreachable } from '../../shared/errors.js';
import { type Filter, PATH_SEPARATOR } from '../../shared/filter.js';
import { forEachValue, type MetadataObject, metadataObject } from './metadataObject.js';
import { isNegated, predicateOf } from './predicate.js';

/** Whether stored metadata is a JSON object and matches. */
export type Matches = (stored: Uint8Array | null) => boolean;

/** Costs, of each record, reading its metadata and a look at all of it for each test. */
export function matchesOf(filter: Filter): Matches {
  const matches = objectMatches(filter);
  return (stored) => {
    const object = metadataObject(stored);
    return object !== undefined && matches(object);
  };
}

function objectMatches(filter: Filter): (object: MetadataObject) => boolean {
  switch (filter.op) {
    case 'and': {
      const parts = filter.of.map(objectMatches);
      return (object) => parts.every((part) => part(object));
    }
    case 'or': {
      const parts = filter.of.map(objectMatches);
      return (object) => parts.some((part) => part(object));
    }
    case 'not': {
      const part = objectMatches(filter.of);
      return (object) => !part(object);
    }
    case 'test': {
      const path = filter.path.join(PATH_SEPARATOR);
      const holds = predicateOf(filter.test);
      const wanted = !isNegated(filter.test);
      return (object) => {
        let isFound = false;
        forEachValue(object, (at, value) => {
          isFound ||= at === path && holds(value);
        });
        return isFound === wanted;
      };
    }
    default:
      return unreachable(filter);
  }
}

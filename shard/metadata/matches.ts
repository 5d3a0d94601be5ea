/** A filter against one record's metadata: finds what `MetadataIndex.select` finds, without an index. */
import { unreachable } from '../../shared/errors/errors.js';
import { canonicalJson } from '../../shared/hashing/canonicalJson.js';
import { type Filter, type Json, PATH_SEPARATOR, type Test } from '../../shared/model/filter.js';
import { forEachValue, type MetadataObject, metadataObject } from './metadataObject.js';

type ObjectMatches = (object: MetadataObject) => boolean;

/** A function that tells whether stored metadata is a JSON object and matches. Each call parses and visits all of it. */
export function matchesOf(filter: Filter): (stored: Uint8Array | null) => boolean {
  const matches = objectMatches(filter);
  return (stored) => {
    const object = metadataObject(stored);
    return object !== undefined && matches(object);
  };
}

function objectMatches(filter: Filter): ObjectMatches {
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
      const holds = holdsIn(filter.path.join(PATH_SEPARATOR), filter.test);
      const wanted = !isNegated(filter.test);
      return (object) => holds(object) === wanted;
    }
    default:
      return unreachable(filter);
  }
}

/** A function that tells whether an object has a value at the path that the test, without its negation, holds for. */
export function holdsIn(path: string, test: Test): ObjectMatches {
  const holds = predicateOf(test);
  return (object) => {
    let isFound = false;
    forEachValue(object, (at, value) => {
      isFound ||= at === path && holds(value);
    });
    return isFound;
  };
}

/** Whether the test is the opposite of what `holdsIn` and `PathIndex.select` find. */
export const isNegated = (test: Test): boolean =>
  test.kind === 'ne' || test.kind === 'nin' || (test.kind === 'exists' && !test.value);

function predicateOf(test: Test): (value: Json) => boolean {
  switch (test.kind) {
    case 'eq':
    case 'ne':
      return isAmong([test.value]);
    case 'in':
    case 'nin':
      return isAmong(test.values);
    case 'gt':
      return (value) => isOfKind(value, test.value) && value > test.value;
    case 'gte':
      return (value) => isOfKind(value, test.value) && value >= test.value;
    case 'lt':
      return (value) => isOfKind(value, test.value) && value < test.value;
    case 'lte':
      return (value) => isOfKind(value, test.value) && value <= test.value;
    case 'exists':
      return () => true;
    default:
      return unreachable(test);
  }
}

function isAmong(values: readonly Json[]): (value: Json) => boolean {
  const sought = new Set(values.map(canonicalJson));
  return (value) => sought.has(canonicalJson(value));
}

const isOfKind = <T extends number | string>(value: Json, bound: T): value is T => typeof value === typeof bound;

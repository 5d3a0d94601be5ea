import { canonicalJson } from '../../shared/canonicalJson.js';
import { unreachable } from '../../shared/errors.js';
import type { Json, Test } from '../../shared/filter.js';

export type Predicate = (value: Json) => boolean;

/** Whether the test holds for a value; for `ne`, `nin` and not `exists`, whether its opposite does. */
export function predicateOf(test: Test): Predicate {
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

/** Whether the test is the opposite of what `predicateOf` and `PathIndex.select` find. */
export const isNegated = (test: Test): boolean =>
  test.kind === 'ne' || test.kind === 'nin' || (test.kind === 'exists' && !test.value);

function isAmong(values: readonly Json[]): Predicate {
  const sought = new Set(values.map(canonicalJson));
  return (value) => sought.has(canonicalJson(value));
}

const isOfKind = <T extends number | string>(value: Json, bound: T): value is T => typeof value === typeof bound;

/** The input of the search screen, and the request that it makes. */
import type { SearchRequest, TextSearchRequest } from '../../coordinator/contract/search.js';
import { recordNameIn } from '../parts/recordName.js';

/** The operators of conditions, with their texts. */
export const OPERATORS = {
  eq: 'is equal to',
  ne: 'is not equal to',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
  nin: 'is none of',
  prefix: 'begins with',
  contains: 'contains',
  words: 'has all words',
  any: 'has any of the words',
  phrase: 'has the words in a row',
  exists: 'exists',
} as const;

export interface Condition {
  readonly key: string;
  readonly operator: keyof typeof OPERATORS;
  /** JSON, or a bare string. */
  readonly value: string;
}

export interface Form {
  readonly by: 'vector' | 'record' | 'words';
  /** Numbers between commas or blanks, or JSON. */
  readonly vector: string;
  readonly record: string;
  /** The words to find, or to rank by. */
  readonly text: string;
  /** `near`: words only reorder near records. Otherwise they also find records at any distance. */
  readonly joined: 'near' | 'blend' | 'rrf';
  readonly textWeight: string;
  readonly conditions: readonly Condition[];
  readonly joinedBy: '$and' | '$or';
  /** Empty: no decay. */
  readonly halfLifeSecs: string;
  /** From 0 to 1; empty or 0: the nearest. */
  readonly diversity: string;
  readonly usesGraph: boolean;
  readonly graphWeight: string;
}

/** How one search is carried out. */
export interface Side {
  /** The number of hits. */
  readonly k: number;
  readonly kind: 'index' | 'exact';
  /** The number of committed events whose state is searched; null: the present state. */
  readonly moment: number | null;
}

export const EMPTY_FORM: Form = {
  by: 'record',
  vector: '',
  record: '',
  text: '',
  joined: 'near',
  textWeight: '0.5',
  conditions: [],
  joinedBy: '$and',
  halfLifeSecs: '',
  diversity: '',
  usesGraph: false,
  graphWeight: '0.15',
};

/**
 * The request; null if the form is still empty. One by words alone has neither `query` nor `like`. `sequence`: the number of
 * committed events, which an exact search of the present names. Throws an Error that says which input is invalid.
 */
export function requestOf(
  form: Form,
  { k, kind, moment }: Side,
  collection: string,
  sequence: number,
): SearchRequest | TextSearchRequest | null {
  const filter = filterOf(form);
  const common = {
    ...{ collection, k, with: ['metadata' as const, 'text' as const] satisfies SearchRequest['with'] },
    ...(filter !== null && { metadata_filter: filter }),
  };
  if (form.by === 'words')
    return form.text.trim() === ''
      ? null
      : { ...common, query_text: form.text, ...(moment !== null && { as_of_log_index: moment }) };
  const what = form.by === 'vector' ? vectorIn(form.vector) : recordIn(form.record);
  if (what === null) return null;
  const at = moment ?? (kind === 'exact' ? sequence : null);
  return {
    ...common,
    ...what,
    ...(form.text.trim() !== '' && { query_text: form.text, ...hybridOf(form) }),
    ...(form.halfLifeSecs !== '' && { decay_half_life_secs: Number(form.halfLifeSecs) }),
    ...(Number(form.diversity) > 0 && { diversity: Number(form.diversity) }),
    ...(form.usesGraph && { graph_rerank: { weight: Number(form.graphWeight) } }),
    ...(at !== null && { as_of_log_index: at }),
  };
}

const hybridOf = ({ joined, textWeight }: Form): Pick<SearchRequest, 'hybrid'> =>
  joined === 'near' ? {} : { hybrid: { fusion: joined, text_weight: Number(textWeight) } };

function vectorIn(text: string): { readonly query: number[] } | null {
  const numbers = text
    .replace(/[[\]]/g, ' ')
    .split(/[\s,;]+/)
    .filter((part) => part !== '')
    .map(Number);
  if (numbers.length === 0) return null;
  if (numbers.some(Number.isNaN)) throw new Error('The vector must be numbers, separated by commas or blanks.');
  return { query: numbers };
}

function recordIn(text: string): Pick<SearchRequest, 'like' | 'like_external_id'> | null {
  const name = recordNameIn(text);
  if (name === null) return null;
  return 'id' in name ? { like: name.id } : { like_external_id: name.external_id };
}

/** Throws an Error if a condition cannot be sent as it is: without it more records would match. */
function filterOf({ conditions, joinedBy }: Form): SearchRequest['metadata_filter'] | null {
  if (conditions.some(({ key, value }) => key.trim() === '' && value !== ''))
    throw new Error('A condition has a value and no key: fill in the key, or remove the condition.');
  const parts = conditions
    .filter(({ key }) => key.trim() !== '')
    .map(({ key, operator, value }) => ({ [key.trim()]: testOf(operator, value) }));
  if (parts.length === 0) return null;
  return (parts.length === 1 ? parts[0] : { [joinedBy]: parts }) as SearchRequest['metadata_filter'] & object;
}

/** The operators of words are modes of one operator. */
function testOf(operator: Condition['operator'], value: string): object {
  if (operator === 'words') return { words: { all: value } };
  if (operator === 'any' || operator === 'phrase') return { words: { [operator]: value } };
  return { [operator]: operandOf(operator, value) };
}

function operandOf(operator: Condition['operator'], text: string): unknown {
  if (operator === 'exists') {
    if (!['', 'true', 'false'].includes(text.trim())) throw new Error('Whether a key exists is true or false.');
    return text.trim() !== 'false';
  }
  if (operator === 'in' || operator === 'nin') {
    const value = valueIn(text.trim().startsWith('[') ? text : `[${text}]`);
    if (Array.isArray(value)) return value;
    if (/["[\]{}]/.test(text)) throw new Error('The list is not JSON. An example: ["red, dark", "blue"]');
    return text.split(',').map((part) => valueIn(part.trim()));
  }
  return operator === 'prefix' || operator === 'contains' ? text : valueIn(text);
}

/** A JSON value, or else the text itself as a string. Throws an Error for a number that would be rounded. */
function valueIn(text: string): unknown {
  let isRounded = false;
  const parsed = (): unknown => {
    try {
      return JSON.parse(text, (_, item: unknown) => {
        if (typeof item === 'number' && Math.abs(item) > Number.MAX_SAFE_INTEGER) isRounded = true;
        return item;
      });
    } catch {
      return text;
    }
  };
  const value = parsed();
  if (isRounded) throw new Error('A number is too large to be exact. Put it in quotes if it is stored as a text.');
  return value;
}

/** The fields that options name. A misspelt name would leave out the data of every row, and the load would seem to be done. */
import { type Columns, shownNames, valueAt } from './row.js';
import type { Fields } from './source.js';

/** The named fields, each with its option. Those of `--vector` and `--id` are in every row, or the row does not fit. */
function namedFields(columns: Omit<Columns, 'isNormalised'>): Map<string, string> {
  const { text, tag, expiresAt, keyId, metadata, numbers } = columns;
  const own = { text: [text], tag: [tag], 'expires-at': [expiresAt], 'key-id': [keyId] };
  const lists = { ...own, metadata: metadata === 'rest' ? [] : metadata, numbers: [...numbers] };
  return new Map(
    Object.entries(lists).flatMap(([option, names]) =>
      names.filter((name) => name !== undefined).map((name): [string, string] => [name, `--${option}`]),
    ),
  );
}

/** Why a row does not fit whose source has columns: all its rows lack a named one. Undefined: it has them all. */
export function missingColumn(fields: Fields, columns: Omit<Columns, 'isNormalised'>): string | undefined {
  const missing = [...namedFields(columns)].find(
    ([name]) => !Object.hasOwn(fields, name) && !Object.hasOwn(fields, name.split('.')[0]!),
  );
  if (missing === undefined) return undefined;
  const [name, option] = missing;
  return `it has no ${name}, which ${option} names; its fields are ${shownNames(fields)}`;
}

/** The named fields that no row had until now. */
export class UnseenFields {
  readonly #unseen: Map<string, string>;

  constructor(columns: Columns) {
    this.#unseen = namedFields(columns);
  }

  note(fields: Fields): void {
    if (this.#unseen.size === 0) return;
    for (const name of this.#unseen.keys()) if (valueAt(fields, name) !== undefined) this.#unseen.delete(name);
  }

  /** For people, at the end of the load; undefined if all fields were there. */
  get remark(): string | undefined {
    if (this.#unseen.size === 0) return undefined;
    const names = Array.from(this.#unseen, ([name, option]) => `${name}, which ${option} names`);
    return `no row has ${names.join(', or ')}`;
  }
}

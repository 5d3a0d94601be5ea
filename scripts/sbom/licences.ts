/** The licences in a bill of materials, as lines for a person. */
import { tableLines } from '../terminal/table.js';
import type { Bill, Component, Licence } from './bill.js';

const NONE = 'none stated';

const nameOf = (licence: Licence): string =>
  'expression' in licence ? licence.expression : (licence.license.id ?? licence.license.name ?? NONE);

export const licenceOf = ({ licenses = [] }: Component): string => licenses.map(nameOf).join(', ') || NONE;

/** The lines of a table: each licence with the parts under it. */
export function licenceLines({ components }: Bill): string[] {
  const byLicence = new Map<string, string[]>();
  for (const component of components) {
    const licence = licenceOf(component);
    byLicence.set(licence, [...(byLicence.get(licence) ?? []), component.name]);
  }
  const rows = [...byLicence].sort(([, a], [, b]) => b.length - a.length);
  return tableLines(
    [{ title: 'licence' }, { title: 'parts' }, { title: 'names' }],
    rows.map(([licence, names]) => [licence, names.length, names.join(' ')]),
  );
}

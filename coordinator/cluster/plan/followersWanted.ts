/** How many followers a collection should have, as configured: its own number, its project's, or that of all. Pure. */
import type { Config } from '../../../config/config.js';

export const followersWanted = (
  { count, projects, collections }: Config['followers'],
  { project, name }: { readonly project: string; readonly name: string },
): number => (namesAny(collections) ? collections![`${project}/${name}`] : undefined) ?? projects?.[project] ?? count;

/** Asked of thousands of collections twice a second: making their full names would be most of a placement round. */
function namesAny(numbers: Config['followers']['collections']): boolean {
  for (const _ in numbers) return true;
  return false;
}

/** Names of collections that must agree: the requested one, the signed one, and the one in a log. */
import { print, type Verdict } from './print.js';

export interface Named {
  readonly project: string;
  readonly name: string;
  readonly id: bigint;
}

/** The expected collection. `collection`: a name or an id. */
export interface Asked {
  readonly collection: string | undefined;
  readonly project: string | undefined;
}

export const titleOf = ({ project, name, id }: Named): string => `${project}/${name}, id ${id}`;

export const isSameName = (a: Named, b: Named): boolean =>
  a.project === b.project && a.name === b.name && a.id === b.id;

/** Prints that something is valid, but belongs to another collection than expected. */
export function printOtherName(what: string, found: Named, expected: string): Verdict {
  print('failed', what, `of another collection: ${titleOf(found)}`);
  print('plain', 'expected', expected);
  return 'otherName';
}

/** Compares the signed name with the requested one. */
export function holdAsked(what: string, found: Named, { collection, project }: Asked): Verdict {
  const isNamed = collection === undefined || found.name === collection || String(found.id) === collection;
  if (isNamed && (project === undefined || found.project === project)) return 'holds';
  return printOtherName(what, found, project === undefined ? collection! : `${project}/${collection ?? found.name}`);
}

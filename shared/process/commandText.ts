/** The words by which a person runs a command: a message that advises one must work where it is read. */

/** The variable that the command of the package sets, for itself and for the processes that it starts. */
export const PACKAGE_VARIABLE = 'VOUCH_PACKAGE';

/**
 * `npm run keys -- list` in a checkout, and `vouch keys list` where the package of `npm pack` runs. `npmFlags`: options of npm
 * itself.
 */
export function commandText(name: string, args = '', npmFlags = ''): string {
  const words = process.env[PACKAGE_VARIABLE] ? ['vouch', name, args] : inCheckout(name, args, npmFlags);
  return words.filter((word) => word !== '').join(' ');
}

const inCheckout = (name: string, args: string, npmFlags: string): string[] => [
  ...(name === 'start' ? ['npm start'] : [`npm run ${name}`]),
  npmFlags,
  args === '' ? '' : `-- ${args}`,
];

import { launch } from './process.js';

/** Installs a package into the folder's node_modules; false if npm lacks it or reaches no registry. */
export async function installFromRegistry(
  folder: string,
  spec: string,
  more: readonly string[] = [],
): Promise<boolean> {
  const args = ['install', '--prefix', folder, '--prefer-offline', '--no-audit', '--no-fund', ...more, spec];
  const { code } = await launch('npm', args, { cwd: folder }).waitForEnd();
  return code === 0;
}

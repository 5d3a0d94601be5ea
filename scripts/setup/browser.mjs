/**
 * A Chromium for the tests of the console, which are long: an installed one, else that of Debian or Ubuntu, which root may install.
 * Without one these tests are skipped.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run, SetupError } from './command.mjs';
import { note, step } from './steps.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Short waits for mirrors, since the other tests need no browser. */
const PATIENCE = ['-o', 'Acquire::Retries=0', '-o', 'Acquire::http::Timeout=10', '-o', 'DPkg::Lock::Timeout=10'];
const WITHIN_SECS = '150';

export async function ensureBrowser(root) {
  if (NAMES.some(isOnPath)) return;
  const why = 'the tests of the console are skipped';
  if (process.getuid?.() !== 0 || !isOnPath('apt-get') || !isOnPath('timeout'))
    return note('browser', `Chromium is not installed: ${why}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args) =>
    run('apt-get', ['timeout', [WITHIN_SECS, 'apt-get', '-y', ...PATIENCE, ...args]], { cwd: root, env, advice: '' });
  try {
    await step('browser', 'installing Chromium with apt-get', async () => {
      await apt('update');
      await apt('install', '--no-install-recommends', 'chromium');
      return 'installed';
    });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    note('browser', `apt-get has no Chromium: ${why}`);
  }
}

function isOnPath(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}

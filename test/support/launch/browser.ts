/** A real Chromium, driven by its own protocol. */
import { type Browser, chromium } from 'playwright-core';
import { findTool } from './foreignTool.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** A name of this machine that browsers, unlike `localhost`, do not trust: to them it is a machine in the LAN. */
export const LAN_HOST = 'vouch.test';
/** Keeps the browser from any connection except to the pages of a test. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  `--host-resolver-rules=MAP ${LAN_HOST} 127.0.0.1`,
];

/** Path of the browser; undefined if this machine lacks it. */
export const findBrowser = (): string | undefined => NAMES.map(findTool).find((path) => path !== undefined);

export const NO_BROWSER = `this machine has no browser (${NAMES.join(', ')})`;

/** Starts the browser without its sandbox, which needs rights that root in a container may lack; its pages are ours. */
export const startBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: [...QUIET, '--no-sandbox'] });

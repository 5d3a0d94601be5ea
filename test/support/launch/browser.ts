/** A real Chromium, driven over its own protocol. */
import { type Browser, chromium } from 'playwright-core';
import { findTool } from './foreignTool.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** A name of this machine that browsers do not trust as they trust `localhost`: an address in a LAN, for them. */
export const LAN_HOST = 'vouch.test';
/** It must not ask anyone anything besides the pages of a test. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  `--host-resolver-rules=MAP ${LAN_HOST} 127.0.0.1`,
];

/** The path of the browser; undefined where this machine lacks it. */
export const findBrowser = (): string | undefined => NAMES.map(findTool).find((path) => path !== undefined);

export const NO_BROWSER = `there is none of ${NAMES.join(', ')} on this machine`;

/** Its own sandbox needs rights that root in a container may lack; the pages are ours. */
export const startBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: [...QUIET, '--no-sandbox'] });

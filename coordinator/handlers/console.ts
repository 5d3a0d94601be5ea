/** Serves the built files of the console. They contain no data: a page gets its data from the API, with a key. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Header, text } from '../http/reply.js';
import { type ServiceRoute, serviceRoute, success, withAnyQuery } from '../http/route.js';

const FOLDER = fileURLToPath(new URL('../../console/', import.meta.url));
const PAGE = 'index.html';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** A page may load its own files and call this service. No other page may frame it. */
const policy = (styles: string): string =>
  [
    ...["default-src 'none'", "script-src 'self'", `style-src ${styles}`, "img-src 'self' data:", "connect-src 'self'"],
    ...["worker-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; ');
const guards = (styles: string): readonly Header[] => [
  ['content-security-policy', policy(styles)],
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-origin'],
];
/** Every file except the page may be cached for ever: its name changes with its content. */
const KEPT: Header = ['cache-control', 'public, max-age=31536000, immutable'];
const ASKED_EACH_TIME: Header = ['cache-control', 'no-cache'];

/** Routes of the console, which are not part of the API. */
export async function consoleRoutes(): Promise<ServiceRoute[]> {
  const names = (await readdir(FOLDER)).filter((name) => TYPES[extname(name)] !== undefined);
  const files = await Promise.all(
    names.map(async (name) => {
      const body = await readFile(join(FOLDER, name));
      const headers = name === PAGE ? [...guards(stylesIn(body)), ASKED_EACH_TIME] : [...guards("'none'"), KEPT];
      const reply = { status: 200, contentType: TYPES[extname(name)]!, body, headers };
      return fileRoute(name === PAGE ? '/console/' : `/console/${name}`, () => reply);
    }),
  );
  // Relative, since a proxy may serve everything under a prefix.
  const headers = [['location', 'console/'] as const];
  const leads = (path: string, status: number) => fileRoute(path, () => ({ ...text(''), status, headers }));
  return [...files, leads('/console', 308), leads('/', 307)];
}

/** The policy's source for the page's inline styles. */
function stylesIn(page: Buffer): string {
  const styles = /<style>(.*?)<\/style>/s.exec(page.toString('utf8'))?.[1];
  return styles === undefined ? "'none'" : `'sha256-${createHash('sha256').update(styles).digest('base64')}'`;
}

const fileRoute = (path: string, handle: ServiceRoute['handle']): ServiceRoute =>
  withAnyQuery(serviceRoute({ path, scope: null, summary: 'A file of the console', answers: success('text'), handle }));

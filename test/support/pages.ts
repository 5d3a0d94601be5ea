/** Reads the pages of the root and of `docs/` for their tests. */
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { filesBelow, ROOT } from './sourceTree.js';

export interface Page {
  /** Path relative to the root. */
  readonly path: string;
  readonly text: string;
}

export interface ShellBlock {
  readonly commands: string;
  /** Output that the page shows in a `text` block directly below. */
  readonly output: string | undefined;
  /** Reason why the commands are not run: ```` ```sh not-run: <reason> ````. */
  readonly notRun: string | undefined;
}

export interface Link {
  readonly page: string;
  /** Target path of the link, relative to the root. */
  readonly path: string;
  readonly anchor: string | undefined;
}

export const README = 'README.md';

export const pageAt = (path: string): Page => ({ path, text: readFileSync(join(ROOT, path), 'utf8') });

export const SECURITY = 'SECURITY.md';

const OTHERS = ['CONTRIBUTING.md', 'CHANGELOG.md'];

export const readPages = (): readonly Page[] => [README, SECURITY, ...OTHERS, ...filesBelow('docs', '.md')].map(pageAt);

export const shellBlocks = ({ text }: Page): ShellBlock[] =>
  [...text.matchAll(/^```sh(?: not-run: ([^\n]+))?\n(.*?)^```\n(?:\s*^```text\n(.*?)^```)?/gms)].map(
    ([, notRun, commands = '', output]) => ({ commands, output, notRun }),
  );

const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```$/gms, '');

/** Links to files and sections of the repository. */
export const linksOf = ({ path: page, text }: Page): Link[] =>
  [...withoutCode(text).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(([, to = '', anchor]) => ({
    page,
    path: to === '' ? page : normalize(join(dirname(page), to)),
    anchor,
  }));

/** Anchors of the headings, as GitHub makes them. */
export const anchorsOf = (text: string): string[] =>
  [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

// Covers: README.md, docs/
/** The README and the pages of `docs/` name files, sections, commands, settings, metrics and errors that exist. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { SETTINGS } from '../../../config/settings.js';
import { ERRORS } from '../../../shared/errors/errorTable.js';
import { anchorsOf, linksOf, pageAt, README, readPages, shellBlocks } from '../../support/pages.js';
import { filesBelow, ROOT, SOURCE_FOLDERS } from '../../support/sourceTree.js';

const README_LINES_MAX = 250;
const PAGE_LINES_MAX = 400;
/** Environment variables that are not settings. */
const OTHER_VARIABLES = [
  ...['VOUCH_CONFIG', 'VOUCH_NATS_SERVER', 'VOUCH_KEY', 'VOUCH_URL'],
  ...['VOUCH_API_CASES', 'VOUCH_SEED', 'VOUCH_PICTURES'],
  ...['VOUCH_STALLS_SHOW', 'VOUCH_STALLS_PROFILE', 'VOUCH_STALLS_DEPTH'],
];
/** Names of streams, which begin like variables. */
const STREAM = /^VOUCH_(?:LOG|LOGS|SEALS|SERVICE_LOG|VAULT)(?:_\w*)?$/;
const KERNEL = join(ROOT, 'shard/kernel/assembly');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };

describe('the pages', () => {
  const pages = readPages();
  const named = (pattern: RegExp): string[] => [
    ...new Set(pages.flatMap(({ text }) => [...text.matchAll(pattern)].map(([all, group]) => group ?? all))),
  ];

  it('are at most 250 lines (README) or 400 lines (others) long', () => {
    const long = pages.filter(
      ({ path, text }) => text.split('\n').length - 1 > (path === README ? README_LINES_MAX : PAGE_LINES_MAX),
    );
    expect(long.map(({ path }) => path)).to.deep.equal([]);
  });

  it('link to files and sections that exist', () => {
    const links = pages.flatMap(linksOf);
    const broken = links.filter(({ path, anchor }) => {
      if (!existsSync(join(ROOT, path))) return true;
      return anchor !== undefined && !anchorsOf(read(path)).includes(anchor);
    });
    expect(broken).to.deep.equal([]);
    expect(links.length).to.be.above(200);
  });

  it('name files of the repository that exist', () => {
    const files = named(/`((?:bench|config|coordinator|docs|scripts|shard|shared|test|verifier)\/[\w./-]*\.\w+)`/g);
    expect(files.filter((path) => !existsSync(join(ROOT, path)))).to.deep.equal([]);
  });

  it('are each reachable from the README by links', () => {
    const reached = new Set([README]);
    for (const path of reached)
      if (path.endsWith('.md')) for (const link of linksOf(pageAt(path))) reached.add(link.path);
    expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).to.deep.equal([]);
  });

  it('exist if code, alerts or messages name them', () => {
    const sources = SOURCE_FOLDERS.flatMap((folder) => filesBelow(folder, '.ts'));
    const texts = [...sources, 'config/alerts.yml'].map(pageAt);
    const mentions = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(docs\/[\w/]+\.md)(?:#([\w-]+))?/g)].map(([, page = '', anchor]) => ({
        path,
        page,
        anchor,
      })),
    );
    const broken = mentions.filter(
      ({ page, anchor }) =>
        !existsSync(join(ROOT, page)) || (anchor !== undefined && !anchorsOf(read(page)).includes(anchor)),
    );
    expect(broken).to.deep.equal([]);
    expect(mentions.length).to.be.above(5);
  });

  it('share a rule with comments: a source file that a comment names exists', () => {
    const paths = SOURCE_FOLDERS.flatMap((folder) => filesBelow(folder, '.ts'));
    const exists = (named: string): boolean =>
      paths.some((path) => `/${path}`.endsWith(`/${named}`)) || existsSync(join(KERNEL, named));
    const broken = paths.flatMap((path) =>
      [...read(path).matchAll(/^\s*(?:\/\*\*|\*|\/\/).*?`([\w/.]+\.ts)`/gm)]
        .map(([, named = '']) => named)
        .filter((named) => !exists(named.replace(/^(?:kernel\/)?assembly\//, '')))
        .map((named) => `${path} names ${named}`),
    );
    expect(broken).to.deep.equal([]);
  });

  it('name commands that exist', () => {
    const commands = named(/\bnpm run ([\w:-]+)/g);
    expect(commands).to.include.members(['standalone', 'verify', 'cluster']);
    expect(commands.filter((name) => !(name in scripts))).to.deep.equal([]);
  });

  it('name every setting, and no variable that does not exist', () => {
    const variables = Object.values(SETTINGS).map(({ variable }) => variable);
    const settings = read('docs/operations/settings.md');
    expect(variables.filter((variable) => !settings.includes(`\`${variable}\``))).to.deep.equal([]);
    const known = [...variables, ...OTHER_VARIABLES];
    const unknown = named(/\bVOUCH_[A-Z_]+[A-Z]\b/g).filter((name) => !known.includes(name) && !STREAM.test(name));
    expect(unknown).to.deep.equal([]);
  });

  it('name only error codes that exist', () => {
    const codes = named(/\b[45]\d\d `([a-z_]+)`/g).concat(named(/"code":"([a-z_]+)"/g));
    expect(codes).to.include('unavailable');
    expect(codes.filter((code) => !(code in ERRORS) && code !== 'degraded')).to.deep.equal([]);
  });

  it('give a reason for each command that is not run', () => {
    const starts = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/^```(?:sh|bash|shell|console)\b.*$/gm)].map(([line]) => ({ path, line })),
    );
    expect(starts.filter(({ line }) => !/^```sh(?: not-run: \w.+)?$/.test(line))).to.deep.equal([]);
    expect(pages.flatMap(shellBlocks)).to.have.length(starts.length);
  });
});

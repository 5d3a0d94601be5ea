/** Sentences that are hard to read, found by rules that need no understanding: in comments, in titles of tests and in pages. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sourceTree.js';

export const PROSE_GROUPS = ['product', 'tests', 'pages'] as const;
export const PROSE_RULES = ['standIn', 'oddWord', 'longSentence'] as const;

type ProseGroup = (typeof PROSE_GROUPS)[number];
export type ProseRule = (typeof PROSE_RULES)[number];

type Kind = 'comment' | 'title' | 'page';

interface Piece {
  readonly kind: Kind;
  readonly line: number;
  readonly text: string;
}

export interface ProseFinding {
  readonly rule: ProseRule;
  readonly group: ProseGroup;
  /** `path:line text`. */
  readonly place: string;
}

/** Words that refer to something named elsewhere: a comment that begins with one cannot be read alone. */
const STAND_IN =
  /^(?:of|the same|as|those|that|whoever|or|by|but|than|nor|nothing|none|what|which|whose|theirs?)\b(?! (?:is|a|an|are) (?:the|a|an)\b)/i;

/** Words for which the field has a plainer one. */
const ODD_WORDS = [
  ...['tells?', 'told', 'telling', 'whoever', 'nobody', 'somebody', 'hears?', 'heard', 'pass(?:es|ed)? over'],
  ...['lets? go of', 'goes on', 'went on', 'gone on', 'begins? anew', 'begun anew', 'anew', 'stands?', 'stood'],
  ...['what there is', 'of what', 'by what', 'than what', 'is none', 'are none', 'but for', 'nothing but', 'none but'],
  ...['all but', 'shall', 'is no (?!longer|more|different)\\w+', 'are no (?!longer|more)\\w+'],
];
const ODD_WORD = new RegExp(`\\b(?:${ODD_WORDS.join('|')})\\b`, 'i');

const WORDS_MAX: Readonly<Record<Kind, number>> = { comment: 25, title: 18, page: 30 };

/** All findings in files at these paths, which are relative to the root. */
export const findProse = (paths: readonly string[]): ProseFinding[] =>
  paths.flatMap((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    const lines = text.split('\n');
    const group = path.endsWith('.md') ? 'pages' : path.startsWith('test/') ? 'tests' : 'product';
    const pieces =
      group === 'pages' ? [...paragraphs(lines)] : [...comments(text), ...(group === 'tests' ? titles(lines) : [])];
    return pieces.flatMap((piece) =>
      rulesBrokenBy(piece).map((rule) => ({ rule, group, place: `${path}:${piece.line} ${piece.text}` })),
    );
  });

export function rulesBrokenBy({ kind, text }: Pick<Piece, 'kind' | 'text'>): ProseRule[] {
  const plain = text.replace(/`[^`]*`/g, 'x').trim();
  if (/^(?:biome-ignore|@ts-)/.test(plain)) return [];
  const long = plain
    .split(/(?<=[.;:!?])\s+(?=["'`(*[A-Z0-9])/)
    .filter((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > WORDS_MAX[kind]);
  return [
    ...(kind !== 'page' && STAND_IN.test(plain) ? (['standIn'] as const) : []),
    ...(ODD_WORD.test(plain) ? (['oddWord'] as const) : []),
    ...long.map(() => 'longSentence' as const),
  ];
}

/** Drawings and layouts in a comment. */
const DRAWING = /```[\s\S]*?```/g;

/** Comments that begin a line: blocks, and runs of lines. */
function comments(text: string): Piece[] {
  const found = [
    ...[...text.matchAll(/^[ \t]*\/\*\*?([\s\S]*?)\*\//gm)].map((match) => ({ match, beforeText: /\n\s*\* ?/g })),
    ...[...text.matchAll(/(?:^[ \t]*\/\/.*\n)+/gm)].map((match) => ({ match, beforeText: /^\s*\/\/ ?/gm })),
  ];
  return found.map(({ match, beforeText }) => ({
    kind: 'comment',
    line: text.slice(0, match.index).split('\n').length,
    text: (match[1] ?? match[0]).replace(beforeText, ' ').replace(DRAWING, '. ').replace(/\s+/g, ' ').trim(),
  }));
}

function* titles(lines: readonly string[]): Generator<Piece> {
  for (const [i, line] of lines.entries()) {
    const title = /\b(?:it|describe)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/.exec(line)?.[2];
    if (title !== undefined) yield { kind: 'title', line: i + 1, text: title };
  }
}

/** Paragraphs, items of lists and cells of tables, without headings and code. */
function* paragraphs(lines: readonly string[]): Generator<Piece> {
  let isCode = false;
  let first = 0;
  let texts: string[] = [];
  const piece = (text: string, line: number): Piece => ({
    kind: 'page',
    line,
    text: text.replace(/\]\([^)]*\)/g, ']'),
  });
  for (const [i, line] of [...lines, ''].entries()) {
    const isFence = /^\s*```/.test(line);
    const begins = /^\s*(?:#|\||[-*] |\d+\. |!\[|$)/.test(line);
    if ((isFence || begins) && texts.length > 0) {
      yield piece(texts.join(' '), first);
      texts = [];
    }
    if (isFence) isCode = !isCode;
    if (isFence || isCode || /^\s*(?:#|!\[|$)/.test(line)) continue;
    if (/^\s*\|/.test(line)) for (const cell of line.split('|')) yield piece(cell, i + 1);
    else {
      if (texts.length === 0) first = i + 1;
      texts.push(line.replace(/^\s*(?:[-*]|\d+\.) /, '').trim());
    }
  }
}

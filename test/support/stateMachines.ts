/** State machines as code declares them, and as the drawing at the head of their file shows them. */
import ts from 'typescript';
import type { Source } from './sourceTree.js';

export interface StateMachine {
  readonly path: string;
  /** The kinds of the unions that the file declares, sorted. */
  readonly declared: readonly string[];
  /** The names in the drawing, sorted; empty if the file has no drawing. */
  readonly drawn: readonly string[];
}

/**
 * A drawing of states is a fenced block with arrows, in the comment at the head of a file. Fenced blocks of other drawings and of
 * layouts begin with `text`.
 */
const HEAD = /^\/\*\*.*?\*\//s;
const FENCED = /```\n(?<lines>[^`]*?▶[^`]*?)```/;
const LINES = '─│┌┐└┘├┤┬┴┼';
const HEADS = '▶◀▲▼';
/** A label touches its arrow on both sides. A state has a space on each side. */
const LABEL = new RegExp(`─[^${LINES}${HEADS}\\s][^${LINES}${HEADS}\\n]*─`, 'g');
const BETWEEN_STATES = new RegExp(`[${LINES}${HEADS},\\n]+`);
const STATE_TYPE = /State$/;

type Read = Pick<Source, 'path' | 'text'> & { readonly imports: readonly Pick<Source['imports'][number], 'path'>[] };

/**
 * Finds the files with a drawing, and the files with a union that is the type of a mutable private field. The field is in the same
 * file, or in one that imports it.
 */
export function stateMachines(sources: readonly Read[]): StateMachine[] {
  const files = sources.map((source) => ({ ...source, file: parsed(source.path, source.text) }));
  const used = new Set(
    files.flatMap(({ path, imports, file }) =>
      stateFields(file).flatMap((name) => [path, ...imports.map((one) => one.path)].map((from) => `${from} ${name}`)),
    ),
  );
  return files
    .map(({ path, text, file }) => {
      const isUsed = (name: string): boolean => used.has(`${path} ${name}`);
      return { path, declared: declaredIn(file, isUsed), drawn: drawnIn(text) };
    })
    .filter(({ declared, drawn }) => declared.length > 0 || drawn.length > 0);
}

function drawnIn(text: string): string[] {
  const lines = FENCED.exec(HEAD.exec(text)?.[0] ?? '')?.groups?.lines ?? '';
  const withoutLabels = lines.replace(/^ \* ?/gm, '').replace(LABEL, '──');
  return sorted(withoutLabels.split(BETWEEN_STATES).map((part) => part.trim()));
}

/** The kinds of the types that are used. The members of a union have a literal `kind`, or are literals themselves. */
function declaredIn(file: ts.SourceFile, isUsed: (name: string) => boolean): string[] {
  const types = new Map<string, ts.Node>();
  for (const statement of file.statements) {
    if (ts.isTypeAliasDeclaration(statement)) types.set(statement.name.text, statement.type);
    if (ts.isInterfaceDeclaration(statement)) types.set(statement.name.text, statement);
  }
  return sorted([...types].flatMap(([name, type]) => (isUsed(name) ? kindsOf(types, type) : [])));
}

/** The types named `…State` of mutable private fields. */
const stateFields = (file: ts.SourceFile): string[] =>
  file.statements
    .flatMap((statement) => (ts.isClassDeclaration(statement) ? [...statement.members] : []))
    .filter(ts.isPropertyDeclaration)
    .filter(({ name, modifiers }) => ts.isPrivateIdentifier(name) && !modifiers?.some(isReadonly))
    .flatMap(({ type }) => (type && ts.isTypeReferenceNode(type) ? type.typeName.getText(file) : []))
    .filter((name) => STATE_TYPE.test(name));

function kindsOf(types: ReadonlyMap<string, ts.Node>, type: ts.Node | undefined): string[] {
  if (type === undefined) return [];
  if (ts.isUnionTypeNode(type)) return type.types.flatMap((member) => kindsOf(types, member));
  if (ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal)) return [type.literal.text];
  if (ts.isTypeReferenceNode(type)) return kindsOf(types, types.get(type.typeName.getText()));
  if (!ts.isTypeLiteralNode(type) && !ts.isInterfaceDeclaration(type)) return [];
  return type.members
    .filter(ts.isPropertySignature)
    .filter(({ name }) => name.getText() === 'kind')
    .flatMap((member) => kindsOf(types, member.type));
}

const parsed = (path: string, text: string): ts.SourceFile =>
  ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);

const isReadonly = ({ kind }: ts.ModifierLike): boolean => kind === ts.SyntaxKind.ReadonlyKeyword;

const sorted = (names: readonly string[]): string[] => [...new Set(names)].filter((name) => name !== '').sort();

/** Parses the project's own sources for the tidy test with the TypeScript compiler. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export const SOURCE_FOLDERS = [
  'bench',
  'client',
  'config',
  'console',
  'coordinator',
  'scripts',
  'shard',
  'shared',
  'test',
  'verifier',
] as const;
/** AssemblyScript, which the TypeScript compiler does not know. */
const ASSEMBLY = /\/assembly\//;

export interface Import {
  /** Specifier as written. */
  readonly specifier: string;
  /** Path of the imported source file, if it is one of ours. */
  readonly path: string | undefined;
  /** Imported values; `*` for a namespace, `default` for a default import. */
  readonly names: readonly string[];
  readonly typeOnly: boolean;
}

export interface Place {
  readonly text: string;
  readonly line: number;
}

export interface FunctionFacts extends Place {
  readonly lines: number;
  /** Whether it contains tests or suites, which make up its length. */
  readonly isSuite: boolean;
}

export interface Source {
  /** Path relative to the root, with slashes. */
  readonly path: string;
  readonly folder: (typeof SOURCE_FOLDERS)[number];
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly functions: readonly FunctionFacts[];
  /** Functions and their types, with the number of their parameters. */
  readonly signatures: readonly (Place & { readonly parameters: number })[];
  /** The `default` of each switch over a property, which may prove that the cases before it leave nothing. */
  readonly defaults: readonly (Place & { readonly isProof: boolean })[];
  /** Every call and `new`, by the text of its callee: `Date.now`, `new Date`, `it.only`, `open`. */
  readonly calls: readonly (Place & { readonly args: readonly string[] })[];
  readonly anyTypes: readonly Place[];
}

/** Paths below `folder`, relative to the root, without folders that do not belong to the project. */
export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !ASSEMBLY.test(path))
    .sort();
}

const parsed = new Map<string, readonly Source[]>();

/** Sources in these folders. Each folder is parsed once. */
export const readSources = (folders: readonly Source['folder'][] = SOURCE_FOLDERS): Source[] =>
  folders.flatMap((folder) => {
    const sources =
      parsed.get(folder) ??
      [...filesBelow(folder, '.ts'), ...filesBelow(folder, '.tsx')].map((path) => readSource(path, folder));
    parsed.set(folder, sources);
    return [...sources];
  });

function readSource(path: string, folder: Source['folder']): Source {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const facts = {
    path,
    folder,
    text,
    lines: text.trimEnd().split('\n').length,
    imports: [] as Import[],
    functions: [] as FunctionFacts[],
    signatures: [] as (Place & { parameters: number })[],
    defaults: [] as (Place & { isProof: boolean })[],
    calls: [] as (Place & { args: string[] })[],
    anyTypes: [] as Place[],
  };
  const lineOf = (position: number): number => file.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ts.Node): void => {
    const line = lineOf(node.getStart(file));
    const imported = importOf(node, path);
    if (imported) facts.imports.push(imported);
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const called = node.expression.getText(file);
      const args = (node.arguments ?? []).map((argument) => argument.getText(file));
      facts.calls.push({ text: ts.isNewExpression(node) ? `new ${called}` : called, line, args });
    }
    if (node.kind === ts.SyntaxKind.AnyKeyword) facts.anyTypes.push({ text: 'any', line });
    if (ts.isFunctionLike(node) && 'body' in node && node.body)
      facts.functions.push({
        text: nameOf(node, file),
        line,
        lines: lineOf(node.getEnd()) - line + 1,
        isSuite: holdsTests(node, file),
      });
    if (ts.isFunctionLike(node))
      facts.signatures.push({ text: nameOf(node, file), line, parameters: node.parameters.length });
    if (ts.isDefaultClause(node)) facts.defaults.push(...defaultOf(node, lineOf(node.getStart(file))));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return facts;
}

/** Returns the facts of a `default`; none unless its switch is over a property. */
function defaultOf(clause: ts.DefaultClause, line: number): (Place & { isProof: boolean })[] {
  const { expression } = clause.parent.parent;
  if (!ts.isPropertyAccessExpression(expression)) return [];
  const kinds = [expression.getText(), expression.expression.getText()];
  // A function that takes the remaining value states its type, so the compiler checks which kinds are left.
  const isHandedOn = (node: ts.Node): boolean =>
    ts.isCallExpression(node) && node.arguments.some((argument) => kinds.includes(argument.getText()));
  const proves = (node: ts.Node): boolean => isHandedOn(node) || ts.forEachChild(node, proves) === true;
  return [{ text: expression.getText(), line, isProof: proves(clause) }];
}

/** Imports and re-exports, dynamic imports, and worker files named by `new URL('./x.js', import.meta.url)`. */
function importOf(node: ts.Node, from: string): Import | undefined {
  if (ts.isImportDeclaration(node) || (ts.isExportDeclaration(node) && node.moduleSpecifier)) {
    const specifier = (node.moduleSpecifier as ts.StringLiteral).text;
    const clause = ts.isImportDeclaration(node) ? node.importClause : undefined;
    const typeOnly = ts.isImportDeclaration(node) ? (clause?.isTypeOnly ?? false) : node.isTypeOnly;
    return { specifier, path: resolvePath(specifier, from), names: namesOf(clause), typeOnly };
  }
  const isDynamic = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  const isUrl = ts.isNewExpression(node) && node.expression.getText() === 'URL';
  const [first] = (isDynamic || isUrl ? node.arguments : undefined) ?? [];
  if (!first || !ts.isStringLiteralLike(first)) return undefined;
  return { specifier: first.text, path: resolvePath(first.text, from), names: ['*'], typeOnly: false };
}

function namesOf(clause: ts.ImportClause | undefined): string[] {
  const bindings = clause?.namedBindings;
  const named = !bindings
    ? []
    : ts.isNamespaceImport(bindings)
      ? ['*']
      : bindings.elements
          .filter(({ isTypeOnly }) => !isTypeOnly)
          .map((element) => (element.propertyName ?? element.name).text);
  return clause?.name ? ['default', ...named] : named;
}

function resolvePath(specifier: string, from: string): string | undefined {
  if (!specifier.startsWith('.') || !specifier.endsWith('.js')) return undefined;
  const path = normalize(join(dirname(from), specifier))
    .replaceAll('\\', '/')
    .replace(/\.js$/, '.ts');
  return existsSync(join(ROOT, `${path}x`)) ? `${path}x` : path;
}

const nameOf = (node: ts.SignatureDeclaration, file: ts.SourceFile): string =>
  (node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined))?.getText(file) ?? 'a function';

function holdsTests(node: ts.Node, file: ts.SourceFile): boolean {
  let found = false;
  const visit = (child: ts.Node): void => {
    found ||= ts.isCallExpression(child) && /^(?:it|describe)\b/.test(child.expression.getText(file));
    if (!found) ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
  return found;
}

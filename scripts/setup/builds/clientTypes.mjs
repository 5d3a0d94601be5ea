/**
 * Writes the types of the client package, in `client/contract/`, from the types of the API: names in camelCase, without the tags of
 * validation. Each file of `coordinator/contract/` with requests and answers becomes one file. `userKeyed.ts` and `fields.ts` list
 * fields. Copies of other files find the field with the name nearest to a misspelt one.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { contractSources } from '../sources.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

const CONTRACT = 'coordinator/contract';
/** Names the files with the types of requests and answers. */
const SCHEMAS = `${CONTRACT}/schemas.ts`;
/** Types written by hand: objects with keys of the caller, and vectors, which may be typed arrays. */
const WRITTEN_BY_HAND = ['JsonObject', 'Vector'];

/** Files that are copied into one folder. */
const COPIED = [`${CONTRACT}/spelling.ts`, `${CONTRACT}/otherNames.ts`, 'config/nearest.ts'];

/** Interfaces whose unknown fields the API ignores. */
const EXTENSIBLE = ['IndexParameters'];

/** Throws an Error for a type that it cannot write. */
class TypeWriter {
  /** Interfaces and aliases by name, each with its file. */
  #declarations = new Map();
  #constants = new Map();
  #published;
  #fields = new Set();
  #userKeyed = new Set();
  /** Names of interfaces and objects that the file being written needs. */
  #needed;

  constructor() {
    for (const path of contractSources(root)) {
      const text = readFileSync(join(root, path), 'utf8');
      this.#read(ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true));
    }
    const schemas = readFileSync(join(root, SCHEMAS), 'utf8');
    this.#published = [...schemas.matchAll(/^import type \* as \w+ from '\.\/(\w+)\.js'/gm)].map(
      ([, name]) => `${name}.ts`,
    );
  }

  /** The texts of the files by name. */
  files() {
    const written = this.#published.map((name) => [name, this.#file(`${CONTRACT}/${name}`)]);
    const copied = COPIED.map((path) => [`${homeName(path)}.ts`, copyOf(path)]);
    return [...written, ...copied, ['userKeyed.ts', this.#userKeyedFile()], ['fields.ts', this.#fieldsFile()]];
  }

  #read(source) {
    for (const node of source.statements) {
      if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
        this.#declarations.set(node.name.text, { file: source.fileName, node });
      if (ts.isVariableStatement(node))
        for (const { name, initializer } of node.declarationList.declarations)
          if (initializer !== undefined) this.#constants.set(name.getText(), initializer.getText());
    }
    const visit = (node) => {
      if (ts.isPropertySignature(node)) this.#fields.add(node.name.getText());
      ts.forEachChild(node, visit);
    };
    visit(source);
  }

  #file(file) {
    this.#needed = new Set();
    const written = [...this.#declarations.values()]
      .filter((declaration) => declaration.file === file)
      .flatMap(({ node }) => (ts.isInterfaceDeclaration(node) ? [this.#interface(node)] : []));
    const byFile = new Map();
    for (const name of [...this.#needed].sort()) {
      const from = WRITTEN_BY_HAND.includes(name) ? '../values.js' : `./${this.#homeOf(name)}.js`;
      if (from !== `./${homeName(file)}.js`) byFile.set(from, [...(byFile.get(from) ?? []), name]);
    }
    const lines = [...byFile].sort().map(([from, names]) => `import type { ${names.join(', ')} } from '${from}';\n`);
    const head = `/** Made from ${file} at the build. */\n${lines.join('')}`;
    return `${head}\n${written.join('\n')}`;
  }

  #homeOf(name) {
    return homeName(this.#declarations.get(name).file);
  }

  #interface(node) {
    const bases = (node.heritageClauses ?? []).flatMap(({ types }) =>
      types.map((type) => this.#reference(type.expression.getText())),
    );
    const heritage = bases.length === 0 ? '' : ` extends ${bases.join(', ')}`;
    return `${this.#comment(node, '')}export interface ${node.name.text}${heritage} ${this.#members(node.members, '')}\n`;
  }

  #members(members, indent) {
    const inner = `${indent}  `;
    const lines = members.map((member) => {
      const comment = this.#comment(member, inner);
      if (ts.isIndexSignatureDeclaration(member)) {
        const [key] = member.parameters;
        return `${comment}${inner}[${key.name.getText()}: string]: ${this.#type(member.type, inner)};\n`;
      }
      if (!ts.isPropertySignature(member)) throw new Error(`cannot write ${member.getText()}`);
      const name = member.name.getText();
      const type = this.#type(member.type, inner);
      if (/\bJsonObject\b|\[\w+: string\]/.test(type)) this.#userKeyed.add(name);
      return `${comment}${inner}${camelCase(name)}${member.questionToken ? '?' : ''}: ${type};\n`;
    });
    return `{\n${lines.join('')}${indent}}`;
  }

  #type(node, indent) {
    if (ts.isParenthesizedTypeNode(node)) return inParentheses(this.#type(node.type, indent));
    if (ts.isUnionTypeNode(node))
      return node.types.map((type) => this.#type(type, indent).replace(/^\(([^()]*)\)$/, '$1')).join(' | ');
    if (ts.isIntersectionTypeNode(node))
      return node.types
        .filter((type) => !this.#isTag(type))
        .map((type) => this.#type(type, indent))
        .join(' & ');
    if (ts.isArrayTypeNode(node))
      return node.elementType.getText() === 'Component'
        ? this.#reference('Vector')
        : `${inParentheses(this.#type(node.elementType, indent))}[]`;
    if (ts.isTypeLiteralNode(node)) return this.#members(node.members, indent);
    if (ts.isTypeReferenceNode(node)) return this.#reference(node.typeName.getText(), indent);
    if (ts.isIndexedAccessTypeNode(node)) return this.#elementsOf(node.objectType.getText());
    if (ts.isLiteralTypeNode(node) || ts.isToken(node)) return node.getText();
    throw new Error(`cannot write the type ${node.getText()}`);
  }

  /** An interface becomes its name; an alias becomes its definition. */
  #reference(name, indent = '') {
    const found = this.#declarations.get(name);
    if (found === undefined && !WRITTEN_BY_HAND.includes(name)) throw new Error(`cannot find the type ${name}`);
    if (found !== undefined && ts.isTypeAliasDeclaration(found.node))
      return inParentheses(this.#type(found.node.type, indent));
    this.#needed.add(name);
    return name;
  }

  /** The union of the strings in a constant list, from `(typeof LIST)`. */
  #elementsOf(list) {
    const name = /^\(typeof (\w+)\)$/.exec(list)?.[1] ?? '';
    const elements = [...(this.#constants.get(name) ?? '').matchAll(/'[^']*'/g)].join(' | ');
    if (elements === '') throw new Error(`cannot write the elements of ${list}`);
    return inParentheses(elements);
  }

  #isTag(node) {
    if (!ts.isTypeReferenceNode(node)) return false;
    const type = this.#declarations.get(node.typeName.getText())?.node.type;
    if (type !== undefined && ts.isIntersectionTypeNode(type)) return type.types.every((one) => this.#isTag(one));
    return node.typeName.getText().startsWith('tags.') || /^tags\.TagBase\b/.test(type?.getText() ?? '');
  }

  /** The comment above a node, with names of fields in camelCase. */
  #comment(node, indent) {
    const text = node.getSourceFile().text;
    const ranges = ts.getLeadingCommentRanges(text, node.pos) ?? [];
    const last = ranges
      .map(({ pos, end }) => text.slice(pos, end))
      .filter((comment) => comment.startsWith('/**'))
      .at(-1);
    if (last === undefined) return '';
    const renamed = last.replaceAll(/`([a-z]+(?:_[a-z]+)+)`/g, (all, name) =>
      this.#fields.has(name) ? `\`${camelCase(name)}\`` : all,
    );
    return `${renamed
      .split('\n')
      .map((line) => `${indent}${line.trim().replace(/^\*/, ' *')}\n`)
      .join('')}`;
  }

  #userKeyedFile() {
    const names = [...this.#userKeyed].sort().map((name) => `'${name}'`);
    return `/** Made from ${CONTRACT} at the build. */\n\n/** Fields of requests and answers whose values have keys that the caller chose. */\nexport const USER_KEYED: ReadonlySet<string> = new Set([${names.join(', ')}]);\n`;
  }

  /** The fields of every request and query, and of the objects in them. */
  #fieldsFile() {
    const names = [...this.#declarations]
      .filter(([name, { file, node }]) => isRequest(name) && this.#isPublished(file) && ts.isInterfaceDeclaration(node))
      .map(([name]) => name);
    const shapes = new Map();
    // A shape may add further names to the list.
    for (const name of names) {
      const fields = this.#fieldsOf(name).map(([field, kind]) => {
        const isShape = this.#declarations.has(kind);
        if (isShape && !names.includes(kind)) names.push(kind);
        return `    ${field}: '${kind}',\n`;
      });
      shapes.set(name, fields.join(''));
    }
    const lines = [...shapes].map(([name, fields]) => `  ${name}: {\n${fields}  },\n`);
    return `/** Made from ${CONTRACT} at the build. */

/**
 * The fields of requests in the spelling of the API, each with its kind. The kind \`value\` is a string, number, boolean
 * or vector; \`json\` is a value with keys of the caller. Another kind is the name of an object with fields.
 */
export const REQUEST_FIELDS = {\n${lines.join('')}} as const;\n`;
  }

  #isPublished(file) {
    return this.#published.includes(`${homeName(file)}.ts`);
  }

  /** The fields of an interface and of those that it extends, each with its kind. */
  #fieldsOf(name) {
    const { node } = this.#declarations.get(name);
    const bases = (node.heritageClauses ?? []).flatMap(({ types }) =>
      types.map(({ expression }) => expression.getText()),
    );
    const own = node.members.flatMap((member) =>
      ts.isPropertySignature(member) ? [[member.name.getText(), this.#kindOf(member.type)]] : [],
    );
    return [...bases.flatMap((base) => this.#fieldsOf(base)), ...own];
  }

  #kindOf(node) {
    if (ts.isTypeLiteralNode(node)) return 'json';
    if (ts.isParenthesizedTypeNode(node)) return this.#kindOf(node.type);
    if (ts.isArrayTypeNode(node)) return this.#kindOf(node.elementType);
    if (ts.isUnionTypeNode(node) || ts.isIntersectionTypeNode(node))
      return node.types.map((type) => this.#kindOf(type)).find((kind) => kind !== 'value') ?? 'value';
    if (!ts.isTypeReferenceNode(node)) return 'value';
    const name = node.typeName.getText();
    if (name === 'JsonObject') return 'json';
    const found = this.#declarations.get(name)?.node;
    if (found === undefined) return 'value';
    if (ts.isTypeAliasDeclaration(found)) return this.#kindOf(found.type);
    return EXTENSIBLE.includes(name) ? 'json' : name;
  }
}

/** `log_index` → `logIndex`. */
const camelCase = (name) => name.replaceAll(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

const isRequest = (name) => /(?:Request|Query|Reference)$/.test(name);

const homeName = (file) => file.replace(/^.*\//, '').replace(/\.ts$/, '');

const copyOf = (path) =>
  `/** Copied from ${path} at the build. */\n${readFileSync(join(root, path), 'utf8').replaceAll(/from '[./\w]*\/(\w+\.js)'/g, "from './$1'")}`;

const inParentheses = (type) => (/^[^{]* [|&] /.test(type) && !/^\(.*\)$/.test(type) ? `(${type})` : type);

const folder = join(root, 'client', 'contract');
const files = new TypeWriter().files();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const [name, text] of files) writeFileSync(join(folder, name), text);

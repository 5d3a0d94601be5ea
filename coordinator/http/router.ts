/** Finds the route of a method and a path. A path is matched segment by segment; `{name}` matches any one segment. */
import { nearestOf, plain } from '../../config/nearest.js';
import type { Method } from '../contract/openapi.js';

export interface Routable {
  readonly method: Method;
  readonly path: string;
}

export type Match<R> =
  | { readonly kind: 'route'; readonly route: R; readonly parameters: readonly string[] }
  /** The path has no such method; `allow` lists the methods it has. */
  | { readonly kind: 'method'; readonly allow: string }
  | { readonly kind: 'none' };

interface Node<R> {
  readonly segments: Map<string, Node<R>>;
  parameter: Node<R> | undefined;
  readonly methods: Map<string, R>;
}

/** A longer path is near to none. */
const PATH_CHARS_MAX = 256;
const SLASHES_AT_END = /\/+$/;
/** A word that callers may try where the paths of this API have `namespaces`. */
const OTHER_WORD = /\bcollections?\b/;

/** A path of the routes, as misspelt paths are compared with it: without the parameters, for which any text is right. */
interface KnownPath {
  readonly path: string;
  /** A digit for each segment: 1 for a parameter, otherwise 0. */
  readonly parameters: string;
  readonly known: string;
}

/** The segments of a path that are not at places of parameters. */
const withoutParameters = (path: string, parameters: string): string =>
  plain(
    path
      .split('/')
      .filter((_, i) => parameters[i] !== '1')
      .join('/'),
  );

function knownPath(path: string): KnownPath {
  const parameters = path
    .split('/')
    .map((segment) => (segment.startsWith('{') ? '1' : '0'))
    .join('');
  return { path, parameters, known: withoutParameters(path, parameters) };
}

const NONE = { kind: 'none' } as const;
const newNode = <R>(): Node<R> => ({ segments: new Map(), parameter: undefined, methods: new Map() });

const allowed = (methods: Iterable<string>): string =>
  [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');

export class Router<R extends Routable> {
  readonly #root = newNode<R>();
  /** Paths without parameters, found by one look-up. */
  readonly #fixed = new Map<string, Node<R>>();
  readonly #paths: readonly KnownPath[];

  constructor(routes: readonly R[]) {
    this.#paths = [...new Set(routes.map(({ path }) => path))].map(knownPath);
    for (const route of routes) {
      const node = this.#grow(route.path);
      if (node.methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
      node.methods.set(route.method, route);
      if (!route.path.includes('{')) this.#fixed.set(route.path, node);
    }
  }

  /** The parameters are in the order of the path, still percent-encoded. */
  match(method: string, path: string): Match<R> {
    const parameters: string[] = [];
    const node = this.#fixed.get(path) ?? this.#walk(path, parameters);
    if (node === undefined || node.methods.size === 0) return NONE;
    // HEAD is answered as GET, without its body.
    const route = node.methods.get(method) ?? (method === 'HEAD' ? node.methods.get('GET') : undefined);
    if (route === undefined) return { kind: 'method', allow: allowed(node.methods.keys()) };
    return { kind: 'route', route, parameters };
  }

  /** The path that a caller of an unknown path probably meant, with the names of its parameters. Undefined if no path is near. */
  nearestTo(path: string): string | undefined {
    if (path.length > PATH_CHARS_MAX) return undefined;
    const asked = path.replace(SLASHES_AT_END, '');
    const found = this.#nearest(asked);
    return found === undefined && OTHER_WORD.test(asked)
      ? this.#nearest(asked.replace(OTHER_WORD, 'namespaces'))
      : found;
  }

  #nearest(path: string): string | undefined {
    const asked = new Map<string, string>();
    const names = this.#paths.map(({ path: name, parameters, known }) => {
      let text = asked.get(parameters);
      if (text === undefined) {
        text = withoutParameters(path, parameters);
        asked.set(parameters, text);
      }
      return { name, asked: text, known };
    });
    return nearestOf(names);
  }

  #walk(path: string, parameters: string[]): Node<R> | undefined {
    let node: Node<R> | undefined = this.#root;
    for (const segment of path.split('/').slice(1)) {
      const fixed: Node<R> | undefined = node.segments.get(segment);
      if (fixed === undefined) parameters.push(segment);
      node = fixed ?? (segment === '' ? undefined : node.parameter);
      if (node === undefined) return undefined;
    }
    return node;
  }

  #grow(path: string): Node<R> {
    let node = this.#root;
    for (const segment of path.split('/').slice(1)) {
      if (segment.startsWith('{')) {
        node.parameter ??= newNode();
        node = node.parameter;
      } else {
        const next: Node<R> = node.segments.get(segment) ?? newNode();
        node.segments.set(segment, next);
        node = next;
      }
    }
    return node;
  }
}

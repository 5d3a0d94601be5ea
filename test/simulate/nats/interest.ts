/** Finds the subscribers of a subject. */

export interface Subscription {
  readonly pattern: string;
  readonly queue: string | undefined;
}

/** Whether the pattern matches the subject. */
export function matches(pattern: string, subject: string): boolean {
  if (pattern === subject) return true;
  const wildcard = pattern.search(/[*>]/);
  if (wildcard < 0 || !subject.startsWith(pattern.slice(0, wildcard))) return false;
  // Most patterns have one wildcard, at the end.
  if (wildcard === pattern.length - 1)
    return subject.length > wildcard && (pattern.endsWith('>') || !subject.includes('.', wildcard));
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  for (const [i, token] of wanted.entries()) {
    if (token === '>') return tokens.length > i;
    if (i >= tokens.length || (token !== '*' && token !== tokens[i])) return false;
  }
  return wanted.length === tokens.length;
}

/** Largest number of cached results. Most subjects come again, but each answer has a new one. */
const KEPT_MAX = 1_000;

/** Subscriptions by the part before the first wildcard: most subjects meet few patterns. */
export class Interest<S extends Subscription> {
  readonly #byStem = new Map<string, Set<S>>();
  /** Subject → cached result, until a subscription is added or removed. */
  readonly #found = new Map<string, readonly S[]>();

  add(subscription: S): void {
    this.#found.clear();
    const stem = stemOf(subscription.pattern);
    const set = this.#byStem.get(stem) ?? new Set();
    this.#byStem.set(stem, set.add(subscription));
  }

  remove(subscription: S): void {
    this.#found.clear();
    const stem = stemOf(subscription.pattern);
    const set = this.#byStem.get(stem);
    set?.delete(subscription);
    if (set?.size === 0) this.#byStem.delete(stem);
  }

  /** In order of subscription, per stem. */
  find(subject: string): readonly S[] {
    let found = this.#found.get(subject);
    if (found === undefined) {
      found = this.#search(subject);
      if (this.#found.size >= KEPT_MAX) this.#found.clear();
      this.#found.set(subject, found);
    }
    return found;
  }

  #search(subject: string): S[] {
    const found: S[] = [];
    for (let end = subject.length; ; end = subject.lastIndexOf('.', end - 1)) {
      for (const each of this.#byStem.get(end < 0 ? '' : subject.slice(0, end)) ?? [])
        if (matches(each.pattern, subject)) found.push(each);
      if (end < 0) return found;
    }
  }
}

/** `a.b.*` → `a.b`; a pattern without a wildcard is its own stem. */
function stemOf(pattern: string): string {
  const tokens = pattern.split('.');
  const at = tokens.findIndex((token) => token === '*' || token === '>');
  return at < 0 ? pattern : tokens.slice(0, at).join('.');
}

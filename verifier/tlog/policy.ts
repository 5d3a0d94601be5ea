/**
 * Trust policies of transparency logs (c2sp.org/tlog-policy): the logs and witnesses that a reader knows, and the quorum that must
 * have cosigned a checkpoint.
 */

import { counted } from '../counted.js';
import {
  COSIGNATURE,
  ED25519,
  isNoteSigned,
  isSameKey,
  parseNote,
  parseVerifierKey,
  type VerifierKey,
} from './note.js';
import { cosignatureBy, parseTreeHead, type TreeHead } from './treeHead.js';

interface Party {
  readonly key: VerifierKey;
  /** Its URL; undefined if the policy has none. */
  readonly url: string | undefined;
}

export interface PolicyWitness extends Party {
  /** Its name in the policy. */
  readonly name: string;
}

interface Group {
  readonly name: string;
  readonly threshold: number;
  readonly members: readonly string[];
}

export interface Policy {
  readonly logs: readonly Party[];
  readonly witnesses: readonly PolicyWitness[];
  readonly groups: readonly Group[];
  /** A witness, a group, or `none`. */
  readonly quorum: string;
}

/** A checkpoint that a policy accepts. */
export interface TrustedCheckpoint extends TreeHead {
  /** The key of the log that signed it. */
  readonly log: VerifierKey;
  /** The witnesses that cosigned it, by their names in the policy, with the times in unix seconds. */
  readonly witnesses: readonly { readonly name: string; readonly timeSecs: number }[];
}

const NONE = 'none';
/** Characters that a policy must not contain: control characters, except tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a policy must not contain them
const FORBIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f]/;

/** Reads a policy. Throws an Error that names the line. */
export function parsePolicy(text: string): Policy {
  if (FORBIDDEN.test(text)) throw new Error('the policy holds a control character');
  const reading = new PolicyReading();
  for (const [index, line] of text.split('\n').entries()) {
    const items = line.split(/[ \t]+/).filter((item) => item !== '');
    if (items.length === 0 || items[0]!.startsWith('#')) continue;
    try {
      reading.line(items);
    } catch (error) {
      throw new Error(`line ${index + 1} of the policy: ${(error as Error).message}`);
    }
  }
  return reading.policy();
}

class PolicyReading {
  readonly #logs: Party[] = [];
  readonly #witnesses: PolicyWitness[] = [];
  readonly #groups: Group[] = [];
  readonly #members = new Set<string>();
  #quorum: string | undefined;

  line([keyword, ...items]: readonly string[]): void {
    switch (keyword) {
      case 'log':
        this.#logs.push(this.#party(items, ED25519, 'log <vkey> [<url>]'));
        break;
      case 'witness': {
        const [name = '', ...rest] = items;
        const party = this.#party(rest, COSIGNATURE, 'witness <name> <vkey> [<url>]');
        this.#define(name);
        this.#witnesses.push({ ...party, name });
        break;
      }
      case 'group':
        this.#group(items);
        break;
      case 'quorum':
        if (items.length !== 1) throw new Error('expected quorum <name>');
        if (this.#quorum !== undefined) throw new Error('there is a quorum already');
        if (items[0] !== NONE) this.#assertDefined(items[0]!);
        this.#quorum = items[0];
        break;
      default:
        throw new Error(`${JSON.stringify(keyword)} is not log, witness, group or quorum`);
    }
  }

  policy(): Policy {
    if (this.#quorum === undefined) throw new Error('the policy has no quorum line');
    return { logs: this.#logs, witnesses: this.#witnesses, groups: this.#groups, quorum: this.#quorum };
  }

  #party(items: readonly string[], type: VerifierKey['type'], form: string): Party {
    const [text, url] = items;
    if (text === undefined || items.length > 2) throw new Error(`expected ${form}`);
    const key = parseVerifierKey(text);
    if (key.type !== type)
      throw new Error(`${key.name} is a key for signatures of type ${key.type} instead of ${type}`);
    // A log that is its own witness, or a witness under two names, would be counted as two parties.
    if ([...this.#logs, ...this.#witnesses].some((other) => isSameKey(other.key, key)))
      throw new Error(`the key of ${key.name} is in the policy already`);
    return { key, url };
  }

  #group([name = '', count = '', ...members]: readonly string[]): void {
    if (members.length === 0) throw new Error('expected group <name> all|any|<number> <name>…');
    for (const member of members) this.#assertDefined(member);
    const inGroups = this.#groups.flatMap((group) => group.members);
    const twice = members.find((member, i) => members.indexOf(member) !== i || inGroups.includes(member));
    if (twice !== undefined) throw new Error(`${twice} is a member of a group already`);
    const threshold =
      count === 'all' ? members.length : count === 'any' ? 1 : Number(/^[1-9]\d{0,5}$/.exec(count)?.[0]);
    if (!(threshold <= members.length))
      throw new Error(`${count} is not a number up to ${members.length}, the number of members`);
    this.#define(name);
    this.#groups.push({ name, threshold, members });
  }

  #define(name: string): void {
    if (name === NONE || name === '')
      throw new Error(`${JSON.stringify(name)} cannot be the name of a witness or a group`);
    if (this.#members.has(name)) throw new Error(`${name} is defined already`);
    this.#members.add(name);
  }

  #assertDefined(name: string): void {
    if (!this.#members.has(name)) throw new Error(`${name} is not defined before`);
  }
}

/** Whether these witnesses, by their names in the policy, form a quorum. */
export function isQuorum({ groups, quorum }: Policy, cosigned: ReadonlySet<string>): boolean {
  const holds = (name: string): boolean => {
    const group = groups.find((one) => one.name === name);
    return group === undefined ? cosigned.has(name) : group.members.filter(holds).length >= group.threshold;
  };
  return quorum === NONE || holds(quorum);
}

/**
 * Verifies that a signed note is a checkpoint which the policy accepts: signed by one of its logs, and cosigned by its quorum.
 * Signatures of unknown keys are ignored. Throws an Error that names the missing part.
 */
export function verifyTreeHead(note: string, policy: Policy): TrustedCheckpoint {
  const parsed = parseNote(note);
  const head = parseTreeHead(parsed.text);
  const log = policy.logs.find(({ key }) => key.name === head.origin && isNoteSigned(parsed, key))?.key;
  if (log === undefined) {
    const names = policy.logs.map(({ key }) => key.name).join(', ');
    throw new Error(`no log of the policy has signed the checkpoint of ${head.origin}; its logs: ${names || 'none'}`);
  }
  const witnesses = policy.witnesses.flatMap(({ key, name }) => {
    const cosignature = cosignatureBy(parsed, key);
    return cosignature === undefined ? [] : [{ name, timeSecs: cosignature.timeSecs }];
  });
  const names = witnesses.map(({ name }) => name);
  if (!isQuorum(policy, new Set(names))) {
    const by = names.length === 0 ? 'no witness of the policy' : `only ${names.join(', ')}`;
    throw new Error(
      `${by} cosigned the checkpoint of ${counted(head.size, 'entry', 'entries')}, and its quorum is ${policy.quorum}`,
    );
  }
  return { ...head, log, witnesses };
}

/** Cosigners of a checkpoint of the service log. Stored cosignatures were verified on arrival. */
import { isQuorum, type Note, type NoteSignature, type Policy, type VerifierKey } from '../../verifier/index.js';

/** Names, in the policy, of the witnesses that cosigned the note. */
export function cosigners({ witnesses }: Pick<Policy, 'witnesses'>, { signatures }: Note): Set<string> {
  const isBy = (key: VerifierKey) => (one: NoteSignature) => one.name === key.name && one.keyId === key.id;
  return new Set(witnesses.filter(({ key }) => signatures.some(isBy(key))).map(({ name }) => name));
}

export const hasQuorum = (policy: Policy, note: Note): boolean => isQuorum(policy, cosigners(policy, note));

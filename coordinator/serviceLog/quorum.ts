/** Whose cosignatures a checkpoint of the service log has. Those that were stored were verified when a witness sent them. */
import { isQuorum, type Note, type NoteSignature, type Policy, type VerifierKey } from '../../verifier/index.js';

/** The witnesses of the policy that cosigned the note, by their names there. */
export function cosigners({ witnesses }: Pick<Policy, 'witnesses'>, { signatures }: Note): Set<string> {
  const isBy = (key: VerifierKey) => (one: NoteSignature) => one.name === key.name && one.keyId === key.id;
  return new Set(witnesses.filter(({ key }) => signatures.some(isBy(key))).map(({ name }) => name));
}

export const hasQuorum = (policy: Policy, note: Note): boolean => isQuorum(policy, cosigners(policy, note));

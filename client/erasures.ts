/** Checks certificates of erasure on this machine, without a request to the service and without trust in it. */
import { verifyErasure as checkErasure, type Erasure, parsePolicy, signersOf } from '../verifier/index.js';
import type { ErasureCertificate } from './contract/erasures.js';
import { assertOptions } from './exact.js';
import { proving } from './proofs.js';
import { toWire } from './spelling.js';

/** The only keys that may have signed; without both, any key may. */
export interface ErasureSigners {
  /** 64 hex digits each. */
  readonly publicKeys?: readonly string[] | undefined;
  /** The text of a policy (c2sp.org/tlog-policy): the service log then vouches for the keys of its checkpoints too. */
  readonly policy?: string | undefined;
}

export interface VerifiedErasure {
  readonly project: string;
  readonly keyId: string;
  /** Unix milliseconds of the signature. */
  readonly timeMs: number;
  readonly collections: readonly VerifiedCollectionErasure[];
  /** Ids of collections of the key that do not exist any more. */
  readonly deleted: readonly number[];
  /** The keys that have signed, 64 hex digits each. */
  readonly publicKeys: readonly string[];
}

export interface VerifiedCollectionErasure {
  readonly name: string;
  readonly id: number;
  /** The event that shredded the key, and its time in Unix milliseconds. */
  readonly sequence: number;
  readonly timeMs: number;
  /** The events whose content is erased. */
  readonly contents: readonly {
    readonly sequence: number;
    readonly recordId: number;
    readonly timeMs: number;
    readonly commitment: string;
    /** Whether the signed state has the record with this content. */
    readonly isInState: boolean;
  }[];
}

/** Verifies a certificate of `vouch.erase`: its signatures and all its proofs. Throws ProofError. */
export function verifyErasure(certificate: ErasureCertificate, signers: ErasureSigners = {}): VerifiedErasure {
  assertOptions(signers, ['publicKeys', 'policy'], 'signers');
  const { publicKeys, policy } = signers;
  return proving('the certificate', () => {
    const erasure = checkErasure(toWire(certificate), policy === undefined ? undefined : parsePolicy(policy));
    const logged = erasure.collections.flatMap(({ log, checkpoint }) => (log ? [checkpoint.publicKey] : []));
    const trusted = [...(publicKeys ?? []).map((key) => key.toLowerCase()), ...logged];
    const stranger = signersOf(erasure).find((key) => !trusted.includes(key));
    if ((publicKeys ?? policy) !== undefined && stranger !== undefined)
      throw new Error(`it is signed with another key, ${stranger}`);
    return shown(erasure);
  });
}

function shown(erasure: Erasure): VerifiedErasure {
  const { project, keyId, timeMs, collections, deleted } = erasure;
  return {
    ...{ project, keyId, timeMs: Number(timeMs) },
    collections: collections.map(({ checkpoint, shred, contents }) => ({
      ...{ name: checkpoint.origin.name, id: Number(checkpoint.origin.id) },
      ...{ sequence: Number(shred.sequence), timeMs: Number(shred.timeMs) },
      contents: contents.map((content) => ({
        ...{ sequence: Number(content.sequence), recordId: Number(content.recordId), timeMs: Number(content.timeMs) },
        ...{ commitment: content.commitment, isInState: content.isInState },
      })),
    })),
    ...{ deleted: deleted.map(Number), publicKeys: signersOf(erasure) },
  };
}

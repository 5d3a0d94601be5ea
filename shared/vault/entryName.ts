/** The name of a vault entry: its project in hex, since not every name fits subjects and folders, and its key id. */
import { isUnavailable, VouchError } from '../errors/errors.js';

export interface EntryName {
  readonly project: string;
  /** 32 lowercase hex. */
  readonly keyId: string;
}

const KEY_ID = /^[0-9a-f]{32}$/;
const HEX_NAME = /^(?:[0-9a-f]{2}){1,64}$/;

export const isKeyId = (text: string): boolean => KEY_ID.test(text);

/** Throws `validation_error` if the name is empty or longer than 64 bytes. */
export function projectToHex(project: string): string {
  const hex = Buffer.from(project).toString('hex');
  if (!HEX_NAME.test(hex)) throw new VouchError('validation_error', 'a project name is 1 to 64 bytes long');
  return hex;
}

/** The inverse of `projectToHex`; undefined for other texts. */
export function projectOfHex(hex: string): string | undefined {
  if (!HEX_NAME.test(hex)) return undefined;
  const project = Buffer.from(hex, 'hex').toString();
  return Buffer.from(project).toString('hex') === hex ? project : undefined;
}

/** Throws `validation_error` unless it is 32 lowercase hex. */
export function checkKeyId(keyId: string): string {
  if (!KEY_ID.test(keyId)) throw new VouchError('validation_error', 'a key id is 32 lowercase hex characters');
  return keyId;
}

/** The entry's name as bytes, unique since all key ids have one length. */
export const nameBytes = ({ project, keyId }: EntryName): Buffer =>
  Buffer.concat([Buffer.from(project), Buffer.from(keyId, 'hex')]);

export const vaultDamaged = (keyId: string, cause: Error): VouchError =>
  new VouchError('internal_error', `the vault entry of key ${keyId} is damaged: ${cause.message}`, { cause });

/** Handler for a `catch`: returns 'damaged' for damage, and throws other errors. */
export function orDamaged(error: unknown): 'damaged' {
  if (error instanceof VouchError && error.code === 'internal_error') return 'damaged';
  throw error;
}

/** Handler for a `catch`: ignores `unavailable`, and throws other errors. */
export function unlessUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}

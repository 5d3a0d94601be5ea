/** Expectations of answers over HTTP. */
import { expect } from 'chai';
import type { Answer } from './client.js';

/** The body of a 200; fails on another status. */
export function answered({ status, body, text }: Answer): Answer['body'] {
  expect(status, text).to.equal(200);
  return body;
}

/** The message of a refusal with this status and code. */
export function refused({ status, body, text }: Answer, wanted: number, code: string): string {
  expect([status, body?.code], text).to.deep.equal([wanted, code]);
  return body.error;
}

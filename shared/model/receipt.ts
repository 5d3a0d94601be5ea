/** Hashes are 64 lowercase hex; the proof is base64url. */
export interface Receipt {
  readonly record_id: number;
  readonly old_root: string;
  readonly new_root: string;
  readonly proof: string;
  readonly sequence: number;
  readonly timestamp: number;
  readonly state_hash: string;
}

/** The receipt of a past write, with the request id in its event, in hex, if there is one. */
export interface PastReceipt extends Receipt {
  readonly request_id?: string;
}

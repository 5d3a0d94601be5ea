/** What a coordinator tells of itself among the leases. A lease proper has only its `holder`. */
export interface CoordinatorPresence {
  readonly holder: string;
  readonly name: string;
  readonly url: string;
  readonly version: string;
  readonly startedAtMs: number;
}

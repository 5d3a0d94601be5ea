/** The ids of logs: a collection's log has the id of the collection, its access log an id of its own. */

/** Ids of access logs begin here; those of collections are below. */
const ACCESS_LOGS = 2 ** 40;

/** The id of a collection's access log among the logs. */
export const accessLogId = (collectionId: number): number => ACCESS_LOGS + collectionId;

/** The collection of the log, and whether the log is its access log. */
export const ownerOfLog = (logId: number): { readonly collectionId: number; readonly isOfAccess: boolean } =>
  logId < ACCESS_LOGS
    ? { collectionId: logId, isOfAccess: false }
    : { collectionId: logId - ACCESS_LOGS, isOfAccess: true };

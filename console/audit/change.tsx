/** A sentence that says what an event changed. */
import type { TimelineEvent } from '../../coordinator/contract/proofs.js';
import { counted } from '../parts/values.js';
import { addressOf } from '../place.js';

interface Props {
  readonly event: TimelineEvent;
  readonly collection: string;
  /** Ids of keys that were destroyed; undefined: not known yet. */
  readonly shredded: ReadonlySet<string> | undefined;
}

export function Change({ event, collection, shredded }: Props) {
  const { event_type: type, record_id: id, node_id: node, edge_id: edge, key_id: keyId = '' } = event;
  const named = (name: string) =>
    id !== undefined && <a href={addressOf({ screen: 'records', collection, record: id })}>{`${name} ${id}`}</a>;
  const key = <code title={keyId}>{keyId.slice(0, 8)}…</code>;
  switch (type) {
    case 'insert':
      return <>{named('Record')} inserted</>;
    case 'replace':
      return <>{named('Record')} replaced by an upsert</>;
    case 'insert_encrypted':
      return (
        <>
          {named('Record')} inserted, encrypted with key {key}
          {shredded?.has(keyId) === true && ', which is destroyed'}
        </>
      );
    case 'insert_under_key':
    case 'replace_under_key':
    case 'update_under_key':
      return (
        <>
          {type === 'update_under_key' ? <>Metadata of {named('record')}</> : named('Record')}{' '}
          {type === 'insert_under_key' ? 'inserted' : 'replaced'} under key {key}
          {shredded?.has(keyId) === true && ', which is destroyed'}
        </>
      );
    case 'soft_delete':
      return <>{named('Record')} soft-deleted</>;
    case 'delete':
      return <>{named('Record')} deleted</>;
    case 'delete_many':
      return <>End of a request that deleted several records</>;
    case 'update_metadata':
      return <>Metadata of {named('record')} replaced</>;
    case 'shred_key':
      return <>Key {key} destroyed: the content that it encrypted can never be read again</>;
    case 'add_node':
      return (
        <>
          Graph node {node} added{id !== undefined && <> for {named('record')}</>}
        </>
      );
    case 'delete_node':
      return <>Graph node {node} deleted</>;
    case 'add_edge':
      return <>Graph edge {edge} added</>;
    case 'delete_edge':
      return <>Graph edge {edge} deleted</>;
    case 'audit_reads':
      return <>{accessOf(event)}</>;
  }
}

function accessOf({ audit_reads: audit, access_retention_days: days }: TimelineEvent): string {
  const kept = days == null ? 'for ever' : `for ${counted(days, 'day')}`;
  if (audit === undefined) return 'Access log changed';
  return `Access log ${audit === false ? 'off' : audit === 'full' ? 'on, with requests' : 'on'}; entries are kept ${kept}`;
}

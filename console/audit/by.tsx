/** Who made an event or a read. */
import type { Actor } from '../../coordinator/contract/proofs.js';

/** Shows the actor; events of versions without actors have none, and show nothing. */
export function By({ actor }: { readonly actor: Actor | undefined }) {
  if (actor === undefined) return null;
  const { key_id: keyId, on_behalf_of: person, request_id: request = '' } = actor;
  const key = keyId === 'system' ? 'the service' : <code>{keyId}</code>;
  return (
    <span title={request === '' ? '' : `request ${request}`}>
      {person === undefined ? (
        key
      ) : (
        <>
          {person} with {key}
        </>
      )}
    </span>
  );
}

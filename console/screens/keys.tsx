/** The API keys of the project: created here, shown once, revoked. */
import { useState } from 'preact/hooks';
import type { CreateKeyResponse, ListedKey, ListKeysResponse } from '../../coordinator/contract/service.js';
import { useLoaded } from '../loading.js';
import { useAction } from '../parts/action.js';
import { Buttons, Dialog, Field, onSubmit, Problem, Shown } from '../parts/basics.js';
import { Copy } from '../parts/copy.js';
import { Table } from '../parts/table.js';
import { Day } from '../parts/values.js';
import type { Service } from '../service.js';

const SCOPES = {
  read_only: 'read_only: search and read',
  read_write: 'read_write: also insert, change and delete',
  admin: 'admin: also keys and the cluster',
  metrics: 'metrics: only /metrics',
} as const;
const DAY_SECS = 86_400;

export function Keys({ service }: { readonly service: Service }) {
  const keys = useLoaded((signal) => service.call<ListKeysResponse>('GET', '/v1/keys', undefined, signal), [service]);
  const [isAsked, setAsked] = useState(false);
  const [revoked, setRevoked] = useState<ListedKey>();
  const done = (): void => {
    setAsked(false);
    setRevoked(undefined);
    keys.reload();
  };
  return (
    <>
      <p>
        <button type="button" onClick={() => setAsked(true)}>
          New key
        </button>
      </p>
      <Shown of={keys}>
        {({ keys: listed }) => (
          <Table
            label="API keys"
            titles={['Id', 'Label', 'Scope', 'Collections', 'Created', 'Expires', 'Actions']}
            plain={['Label', 'Scope', 'Collections', 'Actions']}
            rows={listed.map((key) => ({
              key: key.id,
              cells: [
                <code>{key.id}</code>,
                key.label,
                key.scope,
                key.collections?.join(', ') ?? 'all',
                <Day ms={key.created_at_ms} />,
                key.expires_at_ms === null ? 'never' : key.expired ? 'expired' : <Day ms={key.expires_at_ms} />,
                <button type="button" class="plain" onClick={() => setRevoked(key)}>
                  Revoke …
                </button>,
              ],
            }))}
          />
        )}
      </Shown>
      {isAsked && <Create service={service} onDone={done} />}
      {revoked !== undefined && <Revoke service={service} of={revoked} onDone={done} />}
    </>
  );
}

interface AskProps {
  readonly service: Service;
  readonly onDone: () => void;
}

function Create({ service, onDone }: AskProps) {
  const [scope, setScope] = useState<keyof typeof SCOPES>('read_only');
  const [label, setLabel] = useState('');
  const [days, setDays] = useState('');
  const [collections, setCollections] = useState('');
  const names = collections.split(/[\s,]+/).filter((name) => name !== '');
  const mayBeLimited = scope === 'read_only' || scope === 'read_write';
  const [made, setMade] = useState<CreateKeyResponse>();
  const wanted = {
    scope,
    ...(label !== '' && { label }),
    ...(days !== '' && { expires_in_secs: Number(days) * DAY_SECS }),
    ...(mayBeLimited && names.length > 0 && { collections: names }),
  };
  const { problem, isRunning, start } = useAction(
    async () => setMade(await service.call<CreateKeyResponse>('POST', '/v1/keys', wanted)),
    () => {},
  );
  if (made !== undefined)
    return (
      <Dialog title="The new key" onClose={onDone}>
        <p>The key is shown only now. Copy it to a safe place.</p>
        <Copy text={made.key} />
        <p class="row end">
          <button type="button" onClick={onDone}>
            Done
          </button>
        </p>
      </Dialog>
    );
  return (
    <Dialog title="New key" onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <Field label="What the key may do">
          <select value={scope} onChange={(event) => setScope(event.currentTarget.value as keyof typeof SCOPES)}>
            {Object.entries(SCOPES).map(([known, words]) => (
              <option key={known} value={known}>
                {words}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Label" hint="Who or what uses the key.">
          <input value={label} maxLength={100} onInput={(event) => setLabel(event.currentTarget.value)} />
        </Field>
        {mayBeLimited && (
          <Field label="Collections" hint="Names, or prefixes that end with *. Empty: all collections.">
            <input value={collections} onInput={(event) => setCollections(event.currentTarget.value)} />
          </Field>
        )}
        <Field label="Valid for days" hint="Empty: the key does not expire.">
          <input type="number" min={1} value={days} onInput={(event) => setDays(event.currentTarget.value)} />
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does="Create key" onCancel={onDone} />
      </form>
    </Dialog>
  );
}

function Revoke({ service, of: { id, label }, onDone }: AskProps & { readonly of: ListedKey }) {
  const { problem, isRunning, start } = useAction(() => service.call('DELETE', `/v1/keys/${id}`), onDone);
  return (
    <Dialog title={`Revoke ${label ?? id}`} onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <p>Requests with this key are refused from then on. A revoked key cannot be restored.</p>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does="Revoke key" isGrave onCancel={onDone} />
      </form>
    </Dialog>
  );
}

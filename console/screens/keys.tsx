/** The API keys of the project: made here, shown once, revoked. */
import { useState } from 'preact/hooks';
import type { CreateKeyResponse, ListedKey, ListKeysResponse } from '../../coordinator/contract/service.js';
import { useLoaded } from '../loading.js';
import { useAction } from '../parts/action.js';
import { Buttons, Dialog, Field, onSubmit, Problem, Shown, Table } from '../parts/basics.js';
import type { Service } from '../service.js';

const SCOPES = ['read_only', 'read_write', 'admin', 'metrics'] as const;
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
          <Table label="API keys" titles={['Id', 'Label', 'Scope', 'Made', 'Expires', 'Actions']}>
            {listed.map((key) => (
              <tr key={key.id}>
                <th scope="row">
                  <code>{key.id}</code>
                </th>
                <td>{key.label}</td>
                <td>{key.scope}</td>
                <td>{dayOf(key.created_at_ms)}</td>
                <td>{key.expires_at_ms === null ? 'never' : key.expired ? 'expired' : dayOf(key.expires_at_ms)}</td>
                <td>
                  <button type="button" class="plain" onClick={() => setRevoked(key)}>
                    Revoke …
                  </button>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Shown>
      {isAsked && <Create service={service} onDone={done} />}
      {revoked !== undefined && <Revoke service={service} of={revoked} onDone={done} />}
    </>
  );
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

interface AskProps {
  readonly service: Service;
  readonly onDone: () => void;
}

function Create({ service, onDone }: AskProps) {
  const [scope, setScope] = useState<string>('read_only');
  const [label, setLabel] = useState('');
  const [days, setDays] = useState('');
  const [made, setMade] = useState<CreateKeyResponse>();
  const wanted = {
    scope,
    ...(label !== '' && { label }),
    ...(days !== '' && { expires_in_secs: Number(days) * DAY_SECS }),
  };
  const { problem, isRunning, start } = useAction(
    async () => setMade(await service.call<CreateKeyResponse>('POST', '/v1/keys', wanted)),
    () => {},
  );
  if (made !== undefined)
    return (
      <Dialog title="The new key" onClose={onDone}>
        <p>It is shown this once. Keep it now.</p>
        <p class="wide">
          <code>{made.key}</code>
        </p>
        <p class="row end">
          <button type="button" class="plain" onClick={() => void navigator.clipboard.writeText(made.key)}>
            Copy
          </button>
          <button type="button" onClick={onDone}>
            Done
          </button>
        </p>
      </Dialog>
    );
  return (
    <Dialog title="New key" onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <Field label="Scope">
          <select value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
            {SCOPES.map((known) => (
              <option key={known}>{known}</option>
            ))}
          </select>
        </Field>
        <Field label="Label" hint="For whom or what it is.">
          <input value={label} maxLength={100} onInput={(event) => setLabel(event.currentTarget.value)} />
        </Field>
        <Field label="Days" hint="Empty: it does not expire.">
          <input type="number" min={1} value={days} onInput={(event) => setDays(event.currentTarget.value)} />
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does="Make it" onCancel={onDone} />
      </form>
    </Dialog>
  );
}

function Revoke({ service, of: { id, label }, onDone }: AskProps & { readonly of: ListedKey }) {
  const { problem, isRunning, start } = useAction(() => service.call('DELETE', `/v1/keys/${id}`), onDone);
  return (
    <Dialog title={`Revoke ${label ?? id}`} onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <p>Whoever uses it is refused from then on. It cannot be taken back.</p>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does="Revoke it" isGrave onCancel={onDone} />
      </form>
    </Dialog>
  );
}

/** A button that saves the certificate of a destroyed key as a file. `npm run verify -- erasure FILE` checks it. */
import type { ErasuresResponse } from '../../coordinator/contract/erasures.js';
import { useAction } from '../parts/action.js';
import { Problem } from '../parts/basics.js';
import type { Service } from '../service.js';

interface Props {
  readonly service: Service;
  readonly keyId: string;
}

export function Certificate({ service, keyId }: Props) {
  const { problem, isRunning, start } = useAction(
    () => service.call<ErasuresResponse>('POST', '/v1/erasures', { key_ids: [keyId] }),
    (answer) => save(answer, `erasure-${keyId}.json`),
  );
  return (
    <>
      <button
        type="button"
        class="plain"
        disabled={isRunning}
        aria-label={`Certificate of key ${keyId}`}
        onClick={start}
      >
        Certificate
      </button>
      {problem !== undefined && <Problem>{problem}</Problem>}
    </>
  );
}

/** Saves an answer of the service as a file of the browser. */
function save(answer: ErasuresResponse, name: string): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(answer)], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Checks the service log against a policy of its reader, which names the signatures it must have. */
import { useState } from 'preact/hooks';
import { type FollowedLog, followLog, isAlarm, rememberedPolicy } from '../audit/serviceLog.js';
import { counted, grouped } from '../parts/values.js';

interface Outcome {
  readonly followed?: FollowedLog;
  readonly failure?: Error;
}

export function LogCheck() {
  const [policy, setPolicy] = useState(rememberedPolicy);
  const [outcome, setOutcome] = useState<Outcome>({});
  const check = async (): Promise<void> => {
    setOutcome({});
    try {
      setOutcome({ followed: await followLog(policy, new AbortController().signal) });
    } catch (failure) {
      setOutcome({ failure: failure as Error });
    }
  };
  return (
    <details>
      <summary>Check the service log, which records the checkpoints of all collections</summary>
      <label>
        Policy: the public keys of the log and of its witnesses. Ask the operators of the service and of the witnesses.
        <textarea rows={4} value={policy} onInput={(event) => setPolicy(event.currentTarget.value)} />
      </label>
      <button type="button" class="plain" onClick={() => void check()} disabled={policy.trim() === ''}>
        Check the service log
      </button>
      <Result of={outcome} />
    </details>
  );
}

function Result({ of: { followed, failure } }: { readonly of: Outcome }) {
  if (failure !== undefined)
    return (
      <div class="alarm" role="alert">
        <strong>
          {isAlarm(failure)
            ? 'The service log contradicts the log that this browser saw before.'
            : 'The service log could not be checked.'}
        </strong>
        <p>{failure.message}</p>
      </div>
    );
  if (followed === undefined) return null;
  const { checkpoint, entries, isFirst } = followed;
  const by = checkpoint.witnesses.map(({ name }) => name).join(', ');
  return (
    <p role="status" class="good">
      Verified: {counted(checkpoint.size, 'entry', 'entries')} of {checkpoint.origin}
      {isFirst
        ? '. This is the first check with this browser, which remembers the log for later checks.'
        : `, ${grouped(entries)} of them new. The earlier entries are unchanged.`}{' '}
      {by === '' ? 'The policy asks for no witness.' : `Witnesses that signed: ${by}.`}
    </p>
  );
}

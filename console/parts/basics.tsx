/** Small parts of every screen. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Loaded } from '../loading.js';
import { counted } from './values.js';

export const Problem = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="problem" role="alert">
    {children}
  </p>
);

/** Loaded content, or the reason why it is missing. Earlier content stays while it loads again. */
export function Shown<T>({
  of,
  children,
}: {
  readonly of: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}) {
  return (
    <>
      {of.error !== undefined && <Problem>{of.error}</Problem>}
      {of.value !== undefined ? children(of.value) : of.isLoading && <p class="quiet">Loading …</p>}
    </>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly children: ComponentChildren;
}

export const Field = ({ label, hint, children }: FieldProps) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: the control is among the children.
  <label class="field">
    <span>{label}</span>
    {children}
    {hint !== undefined && <small>{hint}</small>}
  </label>
);

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog: the focus stays within it, and Escape closes it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} onClose={onClose} aria-label={title}>
      <button type="button" class="plain close" aria-label="Close" onClick={() => element.current?.close()}>
        ×
      </button>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** A share of a whole, 0 to 1. */
export const Bar = ({ share, label }: { readonly share: number; readonly label: string }) => (
  <progress max={1} value={Math.min(1, share)} aria-label={label} />
);

/** Calls `submit` in place of the browser's own sending. */
export const onSubmit =
  (submit: () => void) =>
  (event: Event): void => {
    event.preventDefault();
    submit();
  };

interface ButtonsProps {
  readonly isRunning: boolean;
  readonly does: string;
  readonly isGrave?: boolean;
  readonly onCancel: () => void;
}

export const Buttons = ({ isRunning, does, isGrave = false, onCancel }: ButtonsProps) => (
  <p class="row end">
    <button type="button" class="plain" onClick={onCancel}>
      Cancel
    </button>
    <button type="submit" class={isGrave ? 'grave' : ''} disabled={isRunning}>
      {does}
    </button>
  </p>
);

/** Reports requests that wait for the rate limit, while there are any. */
export const Waiting = ({ requests }: { readonly requests: number }) => (
  <p role="status" class={requests === 0 ? '' : 'waiting'}>
    {requests > 0 &&
      `The rate limit of the project is reached. ${counted(requests, 'request')} of this page will be sent as soon as the limit allows.`}
  </p>
);

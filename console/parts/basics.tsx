/** Small parts of every screen. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Loaded } from '../loading.js';

export const grouped = (value: number): string => value.toLocaleString('en-US');

/** 1536 → `1.5 KiB` */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, at] = [bytes, 0];
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return at === 0
    ? `${grouped(value)} bytes`
    : `${value.toLocaleString('en-US', { maximumFractionDigits: 1 })} ${units[at]}`;
}

/** At most `chars` of the text. */
export const shortened = (text: string, chars: number): string =>
  text.length <= chars ? text : `${text.slice(0, chars - 1)}…`;

/** A hash by its beginning, whole as its title. */
export const Hash = ({ value }: { readonly value: string }) => (
  <code class="hash" title={value}>
    {value.slice(0, 12)}…
  </code>
);

export const Problem = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="problem" role="alert">
    {children}
  </p>
);

/** What is loaded, or why it is not. Earlier content stays while it is asked for again. */
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

/** Modal: the keyboard stays in it, and Escape closes it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} onClose={onClose} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** A share of a whole, 0 to 1. */
export const Bar = ({ share, label }: { readonly share: number; readonly label: string }) => (
  <progress max={1} value={Math.min(1, share)} aria-label={label} />
);

interface TableProps {
  readonly label: string;
  readonly titles: readonly string[];
  readonly children: ComponentChildren;
}

/** Scrolls by itself where the screen is too narrow. */
export const Table = ({ label, titles, children }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reached by the keyboard.
  <section class="wide" aria-label={label} tabIndex={0}>
    <table>
      <thead>
        <tr>
          {titles.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
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

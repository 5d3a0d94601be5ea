/** A text to copy, such as a key that is shown once. */
import { useRef, useState } from 'preact/hooks';

export function Copy({ text }: { readonly text: string }) {
  const shown = useRef<HTMLElement>(null);
  const [outcome, setOutcome] = useState('');
  const copy = async (): Promise<void> => {
    getSelection()?.selectAllChildren(shown.current!);
    setOutcome(
      (await isCopied(text))
        ? 'Copied.'
        : 'The browser does not let this page copy. The text above is selected: press Ctrl+C, or ⌘C on a Mac.',
    );
  };
  return (
    <>
      <p class="row">
        <code ref={shown} class="broken">
          {text}
        </code>
        <button type="button" class="plain" onClick={() => void copy()}>
          Copy
        </button>
      </p>
      <p role="status">{outcome}</p>
    </>
  );
}

/** Copies the text. `navigator.clipboard` exists only over HTTPS and on localhost; elsewhere the selection is copied. */
async function isCopied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand('copy');
  }
}

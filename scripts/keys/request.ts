/** What the command line of the key tool asks for. */
import { isProjectName, SCOPES, type Scope } from '../../shared/keys.js';
import { parseFlags, UsageError } from '../terminal/commandLine.js';

export type Request =
  | {
      readonly command: 'create';
      readonly project: string;
      readonly scope: Scope;
      readonly label: string | null;
      readonly validMs: number | null;
    }
  | { readonly command: 'list'; readonly project: string | undefined }
  | { readonly command: 'revoke'; readonly id: string }
  | { readonly command: 'rotate-master'; readonly prepareOnly: boolean; readonly forgetDamaged: boolean };

export const USAGE = `npm run keys -- create --project <name> --scope ${SCOPES.join('|')} [--label <text>] [--expires 30d]
npm run keys -- list [--project <name>]
npm run keys -- revoke <id>
npm run keys -- rotate-master [--prepare] [--forget-damaged]`;

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

const OPTIONS = {
  project: { type: 'string' },
  scope: { type: 'string' },
  label: { type: 'string' },
  expires: { type: 'string' },
  prepare: { type: 'boolean' },
  'forget-damaged': { type: 'boolean' },
} as const;

/** Throws UsageError. */
export function parseRequest(args: readonly string[]): Request {
  const { values, positionals } = parseFlags({ args: [...args], allowPositionals: true, options: OPTIONS });
  const [command, ...rest] = positionals;
  if (command !== 'revoke' && rest.length > 0) throw new UsageError(`what is ${rest.join(' ')}?`);
  switch (command) {
    case 'create': {
      const { project, scope, label = null, expires } = values;
      if (project === undefined || !isProjectName(project))
        throw new UsageError(`--project is ${shown(project)}; allowed are 1 to 64 letters, digits, _ or -`);
      if (!isScope(scope)) throw new UsageError(`--scope is ${shown(scope)}; allowed is ${SCOPES.join(', ')}`);
      return { command, project, scope, label, validMs: expires === undefined ? null : durationMs(expires) };
    }
    case 'list':
      return { command, project: values.project };
    case 'revoke':
      if (rest.length !== 1) throw new UsageError('revoke takes one id, as list shows it');
      return { command, id: rest[0]! };
    case 'rotate-master': {
      const { prepare: prepareOnly = false, 'forget-damaged': forgetDamaged = false } = values;
      return { command, prepareOnly, forgetDamaged };
    }
    default:
      throw new UsageError(command === undefined ? 'what shall be done?' : `there is no command ${command}`);
  }
}

const isScope = (text: string | undefined): text is Scope => SCOPES.some((scope) => scope === text);

function durationMs(text: string): number {
  const match = /^([1-9]\d{0,5})([mhdw])$/.exec(text);
  if (!match) throw new UsageError(`--expires is ${text}; allowed is a number with m, h, d or w, such as 30d`);
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}

const shown = (text: string | undefined): string => text ?? 'missing';

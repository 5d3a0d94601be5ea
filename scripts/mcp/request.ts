/** Reads the command line of `npm run mcp`. */
import { namedService, SERVICE_OPTIONS } from '../service/target.js';
import { commandText, parseFlags } from '../terminal/commandLine.js';
import { parsePublicKey } from '../verify/request.js';

export const MCP_USAGE = `${commandText('mcp', '[--write] [--signer PUBLIC_KEY] [--on-behalf-of NAME] [--url URL] [--key KEY]', '--silent')}

Speaks the Model Context Protocol on standard input and output; a client starts it.

  --write             adds the tools that insert and delete records
  --signer KEY        the public key that checkpoints must be signed with, as the service prints it at its start
  --on-behalf-of NAME for whom the model asks, best a pseudonym: the actor of every write and audited read has it
  --url URL, --key K  the service (default: the one on the data folder) and its API key (or VOUCH_KEY)`;

export interface McpRequest {
  readonly service: ReturnType<typeof namedService>;
  readonly isWriting: boolean;
  /** Hex; undefined: any key. */
  readonly signer: string | undefined;
}

const TEXT = { type: 'string' } as const;

/** Throws UsageError. */
export function parseMcp(args: readonly string[]): McpRequest {
  const options = { write: { type: 'boolean' }, signer: TEXT, ...SERVICE_OPTIONS } as const;
  const { write: isWriting = false, signer, ...service } = parseFlags({ args: [...args], options }).values;
  return { service: namedService(service), isWriting, signer: signer && parsePublicKey('--signer', signer) };
}

/** Reads the command line of `npm run mcp`. */
import { namedService } from '../service/target.js';
import { commandText, parseFlags } from '../terminal/commandLine.js';
import { parsePublicKey } from '../verify/request.js';

export const MCP_USAGE = `${commandText('mcp', '[--write] [--signer PUBLIC_KEY] [--url URL] [--key KEY]', '--silent')}

Speaks the Model Context Protocol on standard input and output; a client starts it.

  --write             adds the tools that insert and delete records
  --signer KEY        the public key that checkpoints must be signed with, as the service prints it at its start
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
  const options = { write: { type: 'boolean' }, signer: TEXT, url: TEXT, key: TEXT } as const;
  const { write: isWriting = false, signer, url, key } = parseFlags({ args: [...args], options }).values;
  return { service: namedService(url, key), isWriting, signer: signer && parsePublicKey('--signer', signer) };
}

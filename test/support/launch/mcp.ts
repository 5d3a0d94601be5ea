/** `npm run mcp` as a process of its own, and the SDK's client connected to it. */
import { Client as McpClient } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ROOT } from '../sourceTree.js';

export interface Called {
  readonly isError: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape right after reading it
  readonly json: any;
}

/** The server process and its client. */
export class Mcp {
  #errors = '';

  private constructor(readonly client: McpClient) {}

  static async start(command: string, args: readonly string[], key: string): Promise<Mcp> {
    const env = { ...getDefaultEnvironment(), VOUCH_KEY: key };
    const transport = new StdioClientTransport({ command, args: [...args], env, stderr: 'pipe', cwd: ROOT });
    const mcp = new Mcp(new McpClient({ name: 'test', version: '1.0.0' }));
    transport.stderr?.on('data', (chunk: Buffer) => {
      mcp.#errors += chunk.toString('utf8');
    });
    await mcp.client.connect(transport);
    return mcp;
  }

  /** Its standard error. */
  get errors(): string {
    return this.#errors;
  }

  async tools(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name);
  }

  async call(name: string, given: Record<string, unknown> = {}): Promise<Called> {
    const { content, isError } = await this.client.callTool({ name, arguments: given });
    const [first] = content as { type: string; text: string }[];
    const said = first!.text;
    return { isError: isError === true, text: said, json: said.startsWith('{') ? JSON.parse(said) : undefined };
  }
}

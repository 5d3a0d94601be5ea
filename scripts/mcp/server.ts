/** The MCP server: its tools and its description of itself. */
import { McpServer } from '@modelcontextprotocol/server';
import { version } from '../../shared/version.js';
import type { ServiceClient } from '../service/serviceClient.js';
import { accessLog } from './access.js';
import { proofTools } from './proofs.js';
import { READS } from './reads.js';
import type { McpRequest } from './request.js';
import { WRITES } from './writes.js';

const INSTRUCTIONS =
  'Vouch stores vectors in named collections, each with metadata and a text, finds the nearest ones, and can prove what it stored: ' +
  'every write is an event of a log, numbered from 1. Start with list_collections. verify checks the proofs in this process and ' +
  'does not believe the service.';

/** A server for one connection; its tools call the service. */
export function serverOf(client: ServiceClient, { isWriting, signer }: McpRequest): McpServer {
  const server = new McpServer({ name: 'vouch', version }, { instructions: INSTRUCTIONS });
  const tools = [...READS, ...proofTools(signer), accessLog, ...(isWriting ? WRITES : [])];
  for (const register of tools) register(server, client);
  return server;
}

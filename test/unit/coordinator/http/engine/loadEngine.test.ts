// Covers: coordinator/http/engine/loadEngine.ts, coordinator/http/engine/addressBytes.ts
// Covers: coordinator/http/engine/nodeEngine.ts
/** The choice of the HTTP engine. */
import { expect } from 'chai';
import { pino } from 'pino';
import { addressBytes } from '../../../../../coordinator/http/engine/addressBytes.js';
import type { HttpEngine } from '../../../../../coordinator/http/engine/engine.js';
import { loadEngine } from '../../../../../coordinator/http/engine/loadEngine.js';
import { nodeEngine } from '../../../../../coordinator/http/engine/nodeEngine.js';
import { rejection } from '../../../../support/expectations.js';

describe('the HTTP engine', () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(line) });
  beforeEach(() => {
    lines.length = 0;
  });
  const native: HttpEngine = { ...nodeEngine, name: 'uWebSockets.js' };
  const missing = async (): Promise<HttpEngine> => {
    throw new Error('GLIBC_2.38 not found');
  };

  it('is uWebSockets.js if its binary runs, without a log line', async () => {
    for (const wanted of ['auto', 'uws'] as const)
      expect(await loadEngine(wanted, logger, async () => native)).to.equal(native);
    expect(lines).to.deep.equal([]);
  });

  it('is node:http if the binary does not run, with one log line that says why', async () => {
    expect((await loadEngine('auto', logger, missing)).name).to.equal('node:http');
    expect(lines.map((line) => JSON.parse(line)).map(({ level, reason }) => [level, reason])).to.deep.equal([
      [40, 'GLIBC_2.38 not found'],
    ]);
  });

  it('is node:http if configured, without a log line, and `uws` without its binary fails', async () => {
    expect((await loadEngine('node', logger, missing)).name).to.equal('node:http');
    expect(lines).to.deep.equal([]);
    expect((await rejection(loadEngine('uws', logger, missing))).message).to.equal(
      'uWebSockets.js has no binary that runs here: GLIBC_2.38 not found',
    );
  });

  it('gives the address of a client in 4 or 16 bytes', () => {
    const hex = (address: string): string => Buffer.from(addressBytes(address)).toString('hex');
    expect(hex('192.0.2.255')).to.equal('c00002ff');
    expect(hex('::ffff:192.0.2.1'), 'mapped').to.equal('c0000201');
    expect(hex('::')).to.equal('0'.repeat(32));
    expect(hex('::1')).to.equal('1'.padStart(32, '0'));
    expect(hex('2001:db8::8:800:200c:417a')).to.equal('20010db80000000000080800200c417a');
    expect(hex('2001:db8:1:2:3:4:5:6')).to.equal('20010db8000100020003000400050006');
    expect(hex('fe80::1%eth0')).to.equal(`fe80${'1'.padStart(28, '0')}`);
    expect(hex('nothing')).to.equal('');
  });
});

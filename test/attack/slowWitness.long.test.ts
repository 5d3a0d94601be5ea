// Covers: scripts/monitor/monitor.ts
/** A witness that answers badly delays neither the service log nor requests for its proofs. */
import { generateKeyPairSync } from 'node:crypto';
import { request } from 'node:http';
import { expect } from 'chai';
import { STALLED_MS } from '../../coordinator/serviceLog/stallWatch.js';
import { signerOf } from '../../shared/signing/signer.js';
import { COSIGNATURE, formatVerifierKey, verifierKey } from '../../verifier/index.js';
import type { Project } from '../support/launch/service.js';
import { OddServer } from '../support/rigs/oddServer.js';
import { runMonitor, WitnessedService } from '../support/rigs/witnessedService.js';

const LOGGED = '/v1/proof/checkpoint?collection=c&logged=true';
const IN_FLIGHT = 64;
/** Largest number of places of one project. */
const ITS_PLACES = (IN_FLIGHT * 3) / 4;

describe('a service with a witness that drips its answer', () => {
  let odd: OddServer;
  let rig: WitnessedService;
  let project: Project;
  before(async () => {
    odd = await OddServer.start('drips');
    const { publicKey } = signerOf(generateKeyPairSync('ed25519').privateKey);
    const key = formatVerifierKey(verifierKey('slow.example', COSIGNATURE, publicKey));
    const line = `witness w3 ${key} ${odd.url}`;
    rig = await WitnessedService.start('standalone', 3, { VOUCH_IN_FLIGHT: String(IN_FLIGHT) }, async () => [line]);
    project = await rig.service.newProject();
    await project.rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    await insert();
  });
  after(async () => {
    await rig?.stop();
    await odd?.stop();
  });
  const insert = async (): Promise<void> => {
    const { status, text } = await project.rw.post('/v1/records', { collection: 'c', values: [1, 2] });
    expect(status, text).to.equal(200);
  };

  it("publishes its log with the other witnesses' cosignatures", async () => {
    await rig.untilCosigned(['w1', 'w2']);
    const { size } = await rig.checkpoint();
    await insert();
    await rig.untilCosigned(['w1', 'w2'], size + 1);
    expect(odd.asked).to.be.at.least(1);
  });

  it('answers 503 to proofs that need it, and frees the places of clients that left', async () => {
    const { status, headers, body } = await project.ro.get(LOGGED);
    expect([status, body.code, headers.get('retry-after')]).to.deep.equal([503, 'unavailable', '1']);
    const options = { headers: { authorization: `Bearer ${project.ro.key}` }, agent: false };
    const clients = Array.from({ length: ITS_PLACES }, () =>
      request(`${rig.service.url}${LOGGED}`, options).on('error', () => {}),
    );
    await insert();
    for (const client of clients) client.end();
    for (const client of clients) client.destroy();
    await rig.service.until(async () => (await rig.service.metric('vouch_http_in_flight')) === 0);
    await insert();
  });

  it('reports the stall and names the witness once its log has lacked a quorum for a while', async () => {
    await insert();
    await rig.service.until(async () => (await rig.service.metric('vouch_log_stalled')) === 1, { everyMs: 500 });
    const { output } = rig.service.process('standalone');
    const line = output.split('\n').find((one) => one.includes('the service log is stalled'))!;
    expect(line).to.include(`w3 at ${odd.url}: no whole answer came within`);
    expect(line).to.not.include('w1 at');
  });

  it('does not delay a monitor that reads an endless log', async () => {
    const args = ['--log', `${odd.url}/log`, '--policy', rig.policyFile, '--state', `${rig.folder}/odd.json`, '--once'];
    odd.oddity = 'sends without an end';
    const { code } = await runMonitor(args).waitForEnd();
    expect(code).to.equal(2);
  });
}).timeout(4 * STALLED_MS);

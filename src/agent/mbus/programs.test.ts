import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import type { BusCertificate } from '../settings/settings.ts';
import { buildAgentExecutable, noAgentExecutable } from '../testing/agent-executable.ts';
import { agentFromSources, AgentProcess } from '../testing/agent-process.ts';
import { eventually } from '../testing/eventually.ts';
import { NatsDirector } from '../testing/nats-director.ts';
import { freePort, mbusSettings, noNatsServer, TestNatsServer } from '../testing/nats-server.ts';
import { TestVm } from '../testing/test-vm.ts';

// The agent of a stemcell runs on Bun, whose TLS is another one than Node's.
type Program = readonly [string, ...string[]];
const id = 'agent-1';

interface Scene {
  readonly server: TestNatsServer;
  readonly director: NatsDirector;
  readonly bootstrap: BusCertificate;
  /** Starts the agent with that certificate and these URLs. */
  readonly start: (certificate: BusCertificate, ...urls: readonly string[]) => Promise<AgentProcess>;
}

async function scene(t: TestContext, program: Program): Promise<Scene> {
  const server = await TestNatsServer.start();
  t.after(() => server.stop());
  const director = await NatsDirector.connect(server);
  t.after(() => director.close());
  return {
    ...{ server, director, bootstrap: await server.agentCertificate(id, 'bootstrap') },
    async start(certificate, ...urls) {
      const mbus = { ...mbusSettings(certificate), urls: urls.length === 0 ? [server.url] : urls };
      const vm = await TestVm.create(undefined, { mbus });
      t.after(() => vm.remove());
      const agent = AgentProcess.spawn([...program, '-b', vm.directories.base]);
      t.after(() => agent.end('SIGKILL'));
      return agent;
    },
  };
}

/**
 * Checks that a problem is logged with its cause and the next step, but not at each try, and that the agent
 * stays.
 */
async function assertLoggedOnce(agent: AgentProcess, server: TestNatsServer, line: RegExp): Promise<void> {
  await agent.logged(line);
  const tries = async (): Promise<number> => (await server.log()).split(/error|violation/iu).length;
  const before = await tries();
  await eventually('another try', async () => (await tries()) > before || undefined);
  assert.equal(agent.output.split('\n').filter((text) => line.test(text)).length, 1, agent.output);
  assert.equal(agent.hasEnded, false);
}

const cases: Readonly<Record<string, (t: TestContext, program: Program) => Promise<void>>> = {
  'a server of another CA is not used': async (t, program) => {
    const { server, bootstrap, start } = await scene(t, program);
    const { ca } = await createTestAuthority({ name: 'nats-ca' });
    const agent = await start({ ...bootstrap, ca });
    await assertLoggedOnce(agent, server, /is not usable: .*check that the CA in env\.bosh\.mbus\.cert/u);
  },
  'a server with another common name is not used': async (t, program) => {
    const { start } = await scene(t, program);
    const other = await TestNatsServer.start({ commonName: 'default.blobstore.bosh-internal' });
    t.after(() => other.stop());
    const agent = await start(await other.agentCertificate(id, 'bootstrap'), other.url);
    await assertLoggedOnce(agent, other, /is not \*\.nats\.bosh-internal; check that/u);
  },
  'a server with the certificate of another host is not used': async (t, program) => {
    const { server, bootstrap, start } = await scene(t, program);
    const agent = await start(bootstrap, server.url.replace('127.0.0.1', 'localhost'));
    await assertLoggedOnce(agent, server, /is not usable: .*altnames.*; check that the CA/u);
  },
  'the certificate of another agent is refused': async (t, program) => {
    const { server, start } = await scene(t, program);
    await server.admit([{ id: 'agent-2', kinds: ['permanent'] }]);
    const agent = await start(await server.agentCertificate('agent-2', 'permanent'));
    await assertLoggedOnce(agent, server, /is not usable: .*the certificate is that of this VM's agent/u);
  },
  'an agent that is refused twice and admitted later has logged one refusal': async (t, program) => {
    const { server, director, bootstrap, start } = await scene(t, program);
    const agent = await start(bootstrap);
    await assertLoggedOnce(agent, server, /is not usable: .*Authorization Violation.*nats-sync runs/u);
    await server.admit([{ id, kinds: ['bootstrap', 'permanent'] }]);
    await director.waitUntilReady(id);
    const permanent = await server.agentCertificate(id, 'permanent');
    const settings = { trusted_certs: '', disk_associations: [], mbus: mbusSettings(permanent) };
    assert.equal(await director.call(id, 'update_settings', settings), 'ok');
    await server.admit([{ id, kinds: ['permanent'] }]);
    assert.deepEqual(await director.request(id, 'ping'), { value: 'pong' });
    assert.deepEqual(await server.violations(), []);
  },
  'servers that are not reachable are passed over': async (t, program) => {
    const { server, director, bootstrap, start } = await scene(t, program);
    await server.admit([{ id, kinds: ['bootstrap'] }]);
    const closed = `nats://127.0.0.1:${await freePort()}`;
    const agent = await start(bootstrap, closed, closed.replace('nats:', 'tls:'), server.url);
    await director.waitUntilReady(id);
    assert.match(agent.output, /is not usable: .*refused.*; check that the director runs and that its port/u);
  },
};

for (const [name, run] of Object.entries(cases))
  test(`from sources: ${name}`, { skip: noNatsServer }, (t) => run(t, agentFromSources));

test('the executable', { skip: noNatsServer || noAgentExecutable }, async (t) => {
  const path = await buildAgentExecutable(t);
  for (const [name, run] of Object.entries(cases)) await t.test(name, (inner) => run(inner, [path]));
});

test(
  'the attacks on the bus and the cases of the blobstores also pass on Bun',
  { skip: noAgentExecutable },
  async () => {
    const root = join(import.meta.dirname, '../../..');
    const bun = join(root, 'node_modules', '@oven', 'bun-linux-x64', 'bin', 'bun');
    const files = ['./src/agent/mbus/nats-bus.attack.test.ts', './src/agent/blob/blobs.test.ts'];
    const { stderr } = await promisify(execFile)(bun, ['test', ...files], { cwd: root });
    assert.match(stderr, /^ [1-9][0-9]+ pass\n 0 fail$/mu);
  },
);

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import type { FakeExit } from '../../../embedded-cluster/api-server/testing/fake-console.ts';
import {
  startTestServer,
  type TestServer,
} from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { createEnv } from '../../deploy/create-env.ts';
import { testEnvironment, type TestEnvironment } from '../../deploy/testing/test-environment.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { closedPort } from '../../kubernetes/testing/closed-port.ts';
import { pods } from '../../kubernetes/resources.ts';
import { identifyEmbeddedCluster } from '../cluster/check-destroy-target.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import type { Command, CommandContext } from '../command.ts';
import { logs, scp, ssh } from '../commands/ssh.ts';
import type { Installation } from '../installation.ts';
import { recordOutput, type RecordedOutput } from '../testing/record-output.ts';
import { runShell, withVmContainer, type ProcessStreams } from './vm-container.ts';

interface World extends TestEnvironment {
  readonly server: TestServer;
  readonly vmCid: string;
  readonly output: RecordedOutput;
  readonly context: CommandContext;
  readonly run: (command: Command, ...args: readonly string[]) => Promise<number>;
}

async function createPod({ api }: TestServer, vmCid: string): Promise<void> {
  const pod: KubernetesObject & { spec: object } = {
    metadata: { namespace: 'bosh', name: vmCid },
    spec: { containers: [{ name: 'bosh', image: 'x:1' }] },
  };
  await api.create(pods, pod);
  await api.bindPod('bosh', vmCid, 'embedded');
}

/** Returns a deployment of `up`. */
async function world(t: TestContext): Promise<World> {
  const [environment, server] = await Promise.all([testEnvironment(t), startTestServer(t)]);
  const { options, ports } = environment;
  const { directory } = server;
  const cluster = (await identifyEmbeddedCluster(directory)) ?? assert.fail('there is no cluster');
  const { vmCid } = await createEnv({ ...options, cluster }, ports);
  // The variables and the vars store of 'up'.
  await rename(options.varsStorePath ?? '', join(environment.directory, 'manifest-creds.yml'));
  const variables = 'kubeconfig: ((kubeconfig)), root: ((installation)), kubelet: ((kubelet_root_dir))';
  await environment.editManifest((text) => text.replace('tags: {', `tags: {${variables}, `));
  await createPod(server, vmCid);
  const output = recordOutput();
  const installation = {
    root: '/installation',
    clusterDirectory: directory,
    workspace: options.workspace,
    nodeBinary: '/node',
  } as Installation;
  const context = { ...output.context, environment: ports.environment, installation };
  const { manifestPath, statePath } = options;
  const run = (command: Command, ...args: readonly string[]): Promise<number> =>
    command.run([manifestPath, '--state', statePath, ...args], context);
  return { ...environment, server, vmCid, output, context, run };
}

test('logs shows the ends of the logs of a VM without sshd, and needs neither its agent nor flags', async (t) => {
  const { server, vmCid, agent, output, run, directory } = await world(t);
  const creds = await readFile(join(directory, 'manifest-creds.yml'), 'utf8');
  agent.faults.unreachable = true;
  server.console.programs.set('/bin/sh', () => ({ stdout: 'served ä\n', stderr: 'warned\n', exitCode: 3 }));

  assert.equal(await run(logs, '--num', '4', '--job', 'web'), 3);

  assert.deepEqual([output.out, output.errors], ['served ä\n', ['warned']]);
  const [request] = server.console.execRequests;
  assert.deepEqual([request?.namespace, request?.pod, request?.container], ['bosh', vmCid, 'bosh']);
  assert.match(request?.command.at(-1) ?? '', /^find \/var\/vcap\/sys\/log\/web\/ .*tail -n 4 --$/u);
  assert.equal(await readFile(join(directory, 'manifest-creds.yml'), 'utf8'), creds);
});

test('logs downloads the archive of a VM without sshd, of any length', async (t) => {
  const { server, agent, output, run, directory } = await world(t);
  const archive = randomBytes(20_000_000);
  const sha512 = createHash('sha512').update(archive).digest('hex');
  agent.answers.set('bundle_logs', { logs_tar_path: '/data/logs.tgz', sha512: `sha512:${sha512}` });
  agent.answers.set('remove_file', '/data/logs.tgz');
  server.console.programs.set('cat', () => ({ stdout: archive, exitCode: 0 }));

  await assert.rejects(run(logs, '--dir', join(directory, 'none')), {
    code: 'FILE_NOT_FOUND',
    message: /There is no folder '.*none' for the logs; create it/u,
  });
  assert.equal(agent.verbs.includes('bundle_logs'), false);
  assert.equal(await run(logs, '--dir', directory), 0, output.errors.join());

  const path = /^Logs: '(.*tiny-env-logs-.*\.tgz)'\n$/u.exec(output.out)?.[1] ?? '';
  assert.ok(archive.equals(await readFile(path)));
  assert.ok(agent.verbs.includes('remove_file'));

  server.console.programs.set('cat', () => ({ stderr: 'cat: no such file\n', exitCode: 1 }));
  const before = await readdir(directory);
  await assert.rejects(run(logs, '--dir', directory), {
    code: 'SSH_FAILED',
    message: /copied from the VM: cat: no such file/u,
  });
  assert.deepEqual(await readdir(directory), before);
});

test('a stopped cluster and a missing manifest are named as the reason', async (t) => {
  const { server, run, context, directory, options } = await world(t);
  const clusterDirectory = join(directory, 'stopped');
  await mkdir(clusterDirectory);
  const kubeconfig = await readFile(kubeconfigPath(server.directory), 'utf8');
  await writeFile(
    kubeconfigPath(clusterDirectory),
    kubeconfig.replace(server.url, `https://127.0.0.1:${await closedPort()}`),
  );
  Object.assign(context, { installation: { ...context.installation, clusterDirectory } });
  for (const command of [ssh, logs])
    await assert.rejects(run(command), {
      code: 'KUBERNETES_UNREACHABLE',
      message: "The embedded cluster is stopped; 'bosh-kubernetes up' with the manifest starts it",
    });
  await assert.rejects(ssh.run([`${options.manifestPath}x`], context), {
    code: 'FILE_NOT_FOUND',
    message: `There is no manifest '${options.manifestPath}x'`,
  });
});

test('scp names in one sentence the command that copies a file of a VM without sshd', async (t) => {
  const { vmCid, run, options } = await world(t);
  await assert.rejects(run(scp, 'vm:/etc/hosts', '.'), {
    code: 'SSH_FAILED',
    message: `VM '${vmCid}' runs no sshd, which scp needs; use: bosh-kubernetes ssh ${options.manifestPath} -- cat PATH > FILE`,
  });
});

test('the cluster of the record is used if the agent reports that the VM runs no sshd', async (t) => {
  const { server, agent, output, run, context } = await world(t);
  const elsewhere = { ...context.installation, clusterDirectory: '/nonexistent' };
  agent.faults.failing = { verb: 'ssh', message: 'this VM runs no sshd' };
  server.console.programs.set('/bin/sh', () => ({ stdout: 'served\n', exitCode: 0 }));
  const variables = ['kubeconfig', 'installation', 'kubelet_root_dir'].flatMap((name) => ['-v', `${name}=x`]);
  Object.assign(context, { installation: elsewhere });
  const store = ['--vars-store', join(context.installation.workspace, '../manifest-creds.yml')];

  assert.equal(await run(logs, '--num', '1', ...variables, ...store), 0);

  assert.equal(output.out, 'served\n');
});

class Terminal extends PassThrough {
  isTTY = false;
  columns = 100;
  rows = 30;
  readonly rawModes: boolean[] = [];
  setRawMode(raw: boolean): this {
    this.rawModes.push(raw);
    return this;
  }
}

/** Runs a command of ssh in a VM in which bash is this program. */
async function shell(
  t: TestContext,
  { command, bash, isTTY }: { command: readonly string[]; bash: FakeExit; isTTY: boolean },
) {
  const server = await startTestServer(t);
  await createPod(server, 'vm-1');
  server.console.programs.set('/bin/bash', () => bash);
  const [stdin, stdout, stderr] = [new Terminal(), new Terminal(), new Terminal()];
  Object.assign(stdin, { isTTY });
  Object.assign(stdout, { isTTY });
  const streams = { stdin, stdout, stderr } as unknown as ProcessStreams;
  stdin.end();
  const { context } = recordOutput();
  const code = await withVmContainer(
    { kubeconfig: kubeconfigPath(server.directory), vmCid: 'vm-1' },
    context,
    (container) => runShell(container, command, context, streams),
  );
  return { server, code, stdin, stdout, stderr };
}

test('ssh runs a command in a VM without sshd, and returns its output and its exit code', async (t) => {
  const bytes = Buffer.from([0, 255, 27, 10]);
  const { server, code, stdin, stdout, stderr } = await shell(t, {
    command: ['sudo', 'true;', 'exit', '7'],
    bash: { stdout: bytes, stderr: 'warned\n', exitCode: 7 },
    isTTY: false,
  });

  assert.equal(code, 7);
  assert.deepEqual(server.console.execRequests[0]?.command, ['/bin/bash', '-c', 'sudo true; exit 7']);
  assert.deepEqual([stdout.read(), String(stderr.read())], [bytes, 'warned\n']);
  assert.deepEqual([stdin.destroyed, stdin.rawModes], [true, []]);
});

test("ssh without a command is a login shell on a terminal of the operator's size", async (t) => {
  const { server, code, stdin } = await shell(t, { command: [], bash: { exitCode: 0 }, isTTY: true });

  assert.equal(code, 0);
  const [request] = server.console.execRequests;
  assert.deepEqual([request?.command, request?.tty, request?.stdin], [['/bin/bash', '-l'], true, true]);
  assert.deepEqual(server.console.resizes, [{ columns: 100, rows: 30 }]);
  assert.deepEqual([stdin.destroyed, stdin.rawModes], [true, [true, false]]);
});

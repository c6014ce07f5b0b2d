import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { boshCli } from '../support/upstream-programs.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress, withoutAddresses } from './support/fixed-address.ts';
import { HelloDeployment, ownDeployer } from './support/hello-deployment.ts';
import { withoutStemcell } from './support/open-cluster.ts';

const run = promisify(execFile);
const profile = 'baseline';
const settings = { diskSize: 64, audience: 'operators' };

describeCluster('ssh, scp and logs', (world) => {
  test(
    'a VM of create-env with our agent: by bosh-kubernetes, and by the bosh CLI where it is there',
    { skip: withoutStemcell(profile) || withoutAddresses(), timeout: 600_000 },
    () => entersVm(world()),
  );
});

async function entersVm(world: ClusterWorld): Promise<void> {
  const { cluster, namespace } = world;
  const address = fixedAddress(world, 'ssh', 0);
  const deployment = await HelloDeployment.open({
    ...{ address, namespace, profile, attach: 'hot', deployer: ownDeployer },
    stemcellArchive: (await cluster.stemcellFor(profile)).archive,
    kubeconfig: cluster.kubeconfig,
    diskProperties: world.diskProperties('loop'),
    kubeletRootDirectory: cluster.kubeletRootDirectory,
  });
  try {
    await deployment.createEnv(settings);
    await byOurs(deployment);
    // The agent and sshd are both called at the pod's loopback address.
    const through = await deployment.tunnelled('ssh', settings, '--', 'echo $SSH_CONNECTION');
    assert.equal(through.exitCode, 0, through.output);
    assert.match(through.output, /^127\.0\.0\.1 \d+ 127\.0\.0\.1 22$/mu);
    const cli = boshCli();
    if (cli !== undefined) await byUpstream(cli, deployment, address);
    const [pod = ''] = (
      await world.kubectl('get', 'pods', '-l', 'bosh.cloudfoundry.org/kind=vm', '-o', 'name')
    ).split('\n');
    const passwd = await world.inVm(
      pod.replace('pod/', ''),
      'cat /etc/passwd; ls /var/vcap/data/tmp/bosh-agent',
    );
    assert.doesNotMatch(passwd, /bosh_[0-9a-f]|bundled/);
    await deployment.deleteEnv(settings);
  } finally {
    await deployment.close();
  }
}

async function byOurs(deployment: HelloDeployment): Promise<void> {
  const root = await deployment.command('ssh', settings, '--', 'sudo -n id -un; exit 7');
  assert.deepEqual(root, { exitCode: 7, output: 'root\n' });

  await writeFile(deployment.file('up'), 'content');
  const up = await deployment.command('scp', settings, 'up', 'vm:/tmp/up');
  assert.deepEqual(up, { exitCode: 0, output: '' });
  const down = await deployment.command('scp', settings, 'vm:/tmp/up', 'down');
  assert.deepEqual(down, { exitCode: 0, output: '' });
  assert.equal(await readFile(deployment.file('down'), 'utf8'), 'content');

  const logs = await deployment.command('logs', settings, '--all-logs');
  assert.equal(logs.exitCode, 0, logs.output);
  const archive = /^Logs: '(.*)'$/mu.exec(logs.output)?.[1] ?? '';
  const { stdout: names } = await run('tar', ['-tzf', archive]);
  assert.match(names, /^(\.\/)?hello\/.*\.log$/mu);
  assert.match(names, /^(\.\/)?var\/log\/syslog$/mu);

  const tail = await deployment.command('logs', settings, '--job', 'hello', '--num', '1');
  assert.equal(tail.exitCode, 0, tail.output);
  assert.match(tail.output, /==> \/var\/vcap\/sys\/log\/hello\//u);
}

/** Runs `bosh ssh|scp|logs --director`, which talks to the agent itself. */
async function byUpstream(cli: string, deployment: HelloDeployment, address: string): Promise<void> {
  const vars = parse(await readFile(deployment.file('vars.yml'), 'utf8')) as {
    readonly mbus_password: string;
    readonly mbus_tls: { readonly ca: string };
  };
  const bosh = async (...args: readonly string[]): Promise<string> => {
    const environment = {
      ...{ PATH: process.env['PATH'], HOME: deployment.file('.') },
      BOSH_AGENT_ENDPOINT: `https://mbus:${vars.mbus_password}@${address}:6868`,
      BOSH_AGENT_CERTIFICATE: vars.mbus_tls.ca,
    };
    const [command = '', ...rest] = args;
    const list = ['--non-interactive', command, '--director', ...rest];
    const { stdout } = await run(cli, list, { env: environment, cwd: deployment.file('.') });
    return stdout;
  };
  assert.match(await bosh('ssh', '-c', 'sudo -n id -un'), /stdout \| root/u);
  await bosh('scp', 'create-env-vm/0:/tmp/up', 'by-upstream');
  assert.equal(await readFile(deployment.file('by-upstream'), 'utf8'), 'content');
  await bosh('logs');
  // Without a terminal it does not print the name of the file.
  const found = await readdir(deployment.file('.'));
  const archive = found.find((name) => name.startsWith('create-env-vm-logs-')) ?? '';
  const { stdout: names } = await run('tar', ['-tzf', archive], { cwd: deployment.file('.') });
  assert.match(names, /hello\/.*\.log/u);
}

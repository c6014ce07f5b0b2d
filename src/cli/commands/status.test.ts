import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { startTestServer } from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { emptyState } from '../../deploy/state/deployment-state.ts';
import { pods } from '../../kubernetes/resources.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import type { Command, CommandContext } from '../command.ts';
import type { Installation } from '../installation.ts';
import { useAccount } from '../testing/director-setting.ts';
import { recordOutput } from '../testing/record-output.ts';
import { cluster as clusterCommand } from './cluster.ts';
import { orphans } from './orphans.ts';
import { state } from './state.ts';
import { status } from './status.ts';

test('status fails with an error if the recorded VM of the manifest is not in the cluster', async (t) => {
  const { api, directory } = await startTestServer(t);
  const statePath = join(directory, 'm-state.json');
  await writeFile(
    statePath,
    JSON.stringify({ ...emptyState, installation_id: 'one', current_vm_cid: 'vm-1' }),
  );
  const installation = { clusterDirectory: directory } as Installation;
  const run = async (...args: string[]) => {
    const { context, errors } = recordOutput();
    const flags = ['--kubeconfig', kubeconfigPath(directory)];
    const exitCode = await status.run([...flags, ...args], { ...context, installation });
    return { exitCode, errors: errors.join() };
  };
  const deployment = [[join(directory, 'm.yml')], ['--state', statePath]];

  for (const args of deployment) {
    const { exitCode, errors } = await run(...args);

    assert.equal(exitCode, 1);
    assert.match(
      errors,
      /VM 'vm-1', which '.*m-state\.json' records, is not in the cluster; run up or create-env/,
    );
  }
  assert.deepEqual(await run(), { exitCode: 0, errors: '' });
  await writeFile(join(directory, 'never-deployed.yml'), '');
  assert.deepEqual(await run(join(directory, 'never-deployed.yml')), { exitCode: 0, errors: '' });

  await api.create(pods, {
    metadata: { name: 'vm-1', namespace: 'default' },
    spec: { containers: [{ name: 'vm', image: 'any' }], automountServiceAccountToken: false },
  } as never);
  for (const args of deployment) assert.deepEqual(await run(...args), { exitCode: 0, errors: '' });
});

test('status and orphans name a namespace that does not exist', async (t) => {
  const { directory } = await startTestServer(t);
  const run = (command: Command, ...args: string[]) =>
    command.run(['--kubeconfig', kubeconfigPath(directory), ...args], {
      ...recordOutput().context,
      installation: { clusterDirectory: directory } as Installation,
    });
  for (const [command, ...args] of [[status], [status, '--watch'], [orphans]] as const) {
    await assert.rejects(run(command, ...args, '--namespace', 'bsoh'), {
      code: 'KUBERNETES_NOT_FOUND',
      message: /^Namespace 'bsoh' does not exist in the cluster; name another one with --namespace, /u,
    });
    await assert.rejects(run(command, ...args, '--disk-namespace', 'diks'), {
      code: 'KUBERNETES_NOT_FOUND',
      message: /^Namespace 'diks' does not exist in the cluster; name another one with --disk-namespace, /u,
    });
  }
});

test('status and orphans name the rights that are missing, and end with 1', async (t) => {
  const { api, directory } = await startTestServer(t);
  const kubeconfig = kubeconfigPath(directory);
  await useAccount({ cluster: { api }, kubeconfig });
  const run = async (command: Command, isJson = false) => {
    const recorded = recordOutput();
    const { context } = recorded;
    const structured = { table: () => undefined, block: () => undefined };
    const exitCode = await command.run(['--kubeconfig', kubeconfig], {
      ...context,
      ...(isJson ? { terminal: { ...context.terminal, structured } } : {}),
      installation: { clusterDirectory: directory } as Installation,
    });
    assert.equal(exitCode, 1);
    return recorded.out;
  };
  const notes = [
    /^Whether namespace 'bosh' exists is not known: .* \(the verb get for namespaces\)\.$/mu,
    /^Disks (?:are not known|were not checked): .* does not allow listing PersistentVolumeClaims\.$/mu,
  ];
  for (const out of [
    await run(status),
    await run(status, true),
    await run(orphans),
    await run(orphans, true),
  ])
    for (const note of notes) assert.match(out, note);
});

test('status and orphans reject flags that contradict each other', async () => {
  const { context } = recordOutput();
  const structured = { table: () => undefined, block: () => undefined };
  const json = { ...context, terminal: { ...context.terminal, structured } };
  const rejects = (run: Promise<number>, message: RegExp) =>
    assert.rejects(run, { code: 'INVALID_ARGUMENT', message });
  await rejects(status.run(['--watch'], json), /leave out --watch/u);
  await rejects(orphans.run(['--delete', '--force'], context), /--delete needs --state or --director-json/u);
  await rejects(orphans.run(['--force'], context), /--force is only for --delete/u);
});

test('status and state restore on a cluster that is absent or stopped say in one sentence what to do', async (t) => {
  const clusterDirectory = join(await scratchDirectory(t), '.bosh-kubernetes', 'cluster');
  const installation = { clusterDirectory } as Installation;
  const showStatus = async (): Promise<string> => {
    const output = recordOutput();
    assert.equal(await status.run([], { ...output.context, installation }), 3);
    return output.out;
  };
  const refusal = (message: RegExp) =>
    assert.rejects(state.run(['restore', 'm.yml'], { ...recordOutput().context, installation }), {
      code: 'CLUSTER_START',
      message,
    });

  const absent = /^There is no cluster in '.*': run this in .*; 'bosh-kubernetes up' makes one here\n?$/u;
  assert.match(await showStatus(), absent);
  await refusal(absent);

  await mkdir(clusterDirectory, { recursive: true });
  const stopped = /^Embedded cluster stopped; 'bosh-kubernetes up' starts it; kubeconfig: .*\n?$/u;
  assert.match(await showStatus(), stopped);
  await refusal(stopped);
});

test('orphans and cluster kubeconfig name the directory of up if there is no cluster here', async (t) => {
  const home = join(await scratchDirectory(t), '.bosh-kubernetes');
  const installation = { clusterDirectory: join(home, 'cluster') } as Installation;
  const spoken = recordOutput();
  const context = { ...spoken.context, installation };
  const remedy = /run this in the directory in which 'up' ran/u;

  assert.equal(await orphans.run([], context), 3);
  assert.match(spoken.errors.join(), remedy);
  await assert.rejects(clusterCommand.run(['kubeconfig'], context), {
    code: 'FILE_NOT_FOUND',
    message: remedy,
  });
});

test('status names a missing manifest or state file, and reports a manifest that was never deployed', async (t) => {
  const { directory } = await startTestServer(t);
  const installation = { clusterDirectory: directory } as Installation;
  const spoken = recordOutput();
  const run = (...args: string[]) =>
    status.run(['--kubeconfig', kubeconfigPath(directory), ...args], { ...spoken.context, installation });
  const manifestPath = join(directory, 'm.yml');

  await assert.rejects(run(manifestPath), {
    code: 'FILE_NOT_FOUND',
    message: /There is no manifest '.*m\.yml'/,
  });
  await assert.rejects(run('--state', join(directory, 's.json')), {
    code: 'FILE_NOT_FOUND',
    message: /There is no deployment state file '.*s\.json'/,
  });
  await writeFile(manifestPath, '');
  assert.equal(await run(manifestPath), 0);
  assert.match(
    spoken.out,
    /'.*m\.yml' is not deployed: there is no state file '.*m-state\.json'\. .*: bosh-kubernetes state restore .*m\.yml\n/,
  );
  const page = await readFile(join(import.meta.dirname, '../../../docs/your-cluster.md'), 'utf8');
  const columns = (text: string) =>
    text.match(/^(?:Instance|Disk) .*$/gmu)?.map((row) => row.split(/ {2,}/u));
  assert.deepEqual(columns(page), columns(spoken.out));
});

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Record<string, string> }[];
  readonly users: readonly { user: Record<string, unknown> }[];
}

test('status and orphans open the kubeconfig of $KUBECONFIG with its neighbouring files, its plugin on PATH and its proxies', async (t) => {
  const { directory } = await startTestServer(t);
  const source = parse(await readFile(kubeconfigPath(directory), 'utf8')) as Kubeconfig;
  const otherDirectory = join(directory, 'elsewhere');
  const bin = join(directory, 'bin');
  await mkdir(otherDirectory);
  await mkdir(bin);
  const [cluster, user] = [source.clusters[0]?.cluster ?? {}, source.users[0] ?? { user: {} }];
  await writeFile(
    join(otherDirectory, 'ca.crt'),
    Buffer.from(cluster['certificate-authority-data'] ?? '', 'base64'),
  );
  delete cluster['certificate-authority-data'];
  cluster['certificate-authority'] = 'ca.crt';
  const { 'client-certificate-data': certificate, 'client-key-data': key } = user.user;
  const decode = (data: unknown): string => Buffer.from(String(data), 'base64').toString();
  const status64 = { clientCertificateData: decode(certificate), clientKeyData: decode(key) };
  const apiVersion = 'client.authentication.k8s.io/v1';
  await writeFile(
    join(directory, 'credential.json'),
    JSON.stringify({ apiVersion, kind: 'ExecCredential', status: status64 }),
  );
  await writeFile(join(bin, 'our-login'), '#!/bin/sh\nexec cat "$HOME/credential.json"\n');
  await chmod(join(bin, 'our-login'), 0o755);
  user.user = { exec: { apiVersion, command: 'our-login', interactiveMode: 'Never' } };
  const path = join(otherDirectory, 'config');
  await writeFile(path, JSON.stringify(source));
  const environment = { KUBECONFIG: path, HOME: directory, PATH: `${bin}${delimiter}/usr/bin:/bin` };
  // There is no embedded cluster in that directory.
  const installation = { clusterDirectory: join(directory, 'none') } as Installation;
  const run = async (command: typeof status, variables: Record<string, string>): Promise<string> => {
    const at = recordOutput(variables);
    const context: CommandContext = { ...at.context, installation };
    assert.equal(await command.run([], context), 0, at.errors.join());
    return at.out;
  };

  assert.match(await run(status, environment), /Instance .*VM/u);
  assert.match(await run(orphans, environment), /No objects that a killed call may have left/u);
  await assert.rejects(
    run(status, { ...environment, KUBECONFIG: `${path}${delimiter}${join(otherDirectory, 'ca.crt')}` }),
    { code: 'INVALID_ARGUMENT', message: /KUBECONFIG names several files.*--kubeconfig/u },
  );
  cluster['server'] = 'https://k8s.example:6443';
  await writeFile(path, JSON.stringify(source));
  await assert.rejects(run(orphans, { ...environment, HTTPS_PROXY: 'http://127.0.0.1:1' }), {
    code: 'KUBERNETES_UNREACHABLE',
    message: /through the proxy 127\.0\.0\.1:1/u,
  });
});

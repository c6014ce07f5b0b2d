import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { executableSetting } from '../../scripts/build-cpi.ts';
import { parseConfig } from '../../src/cpi/config/config.ts';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { kubernetesCpiJob } from './kubernetes-cpi-job.ts';

const job = new URL('../../release/jobs/kubernetes_cpi/', import.meta.url);
const { render, renderConfig, close } = await kubernetesCpiJob();
let directory: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-release-'));
});
after(async () => {
  await close();
  await rm(directory, { recursive: true });
});

const kubeconfig = { 'current-context': 'c', clusters: [], users: [], contexts: [] };

test('a kubeconfig in YAML is JSON in the rendered configuration', async () => {
  const text = 'current-context: c\nclusters: []\nusers: []\ncontexts: []\n';
  for (const given of [text, JSON.stringify(kubeconfig), kubeconfig]) {
    const config = await renderConfig({ kubernetes: { kubeconfig: given }, agent: { mbus: 'https://a' } });
    assert.deepEqual(config, {
      kubernetes: { kubeconfig, kubelet_root_dir: '/var/lib/kubelet', image_pull_secrets: [], attach: 'hot' },
      networks: { address_strategy: 'auto', network_policy: false },
      agent: { mbus: 'https://a', ntp: [] },
      defaults: {
        resources: { requests: { cpu: '100m', memory: '128Mi' } },
        ephemeral_disk: { size: 1024 },
        profile: 'privileged',
      },
      deadlines: {},
      env: {},
      registry: {},
      contexts: {},
    });
  }
});

test('a kubeconfig with anchors and times is read; one that is not YAML is refused without quoting it', async () => {
  const read = (text: string): Promise<unknown> => renderConfig({ kubernetes: { kubeconfig: text } });
  const config = await read(
    'clusters: &none []\nusers: *none\nexpiry: 2026-01-01T00:00:00Z\nday: 2026-01-01\n',
  );
  const { kubernetes } = config as { kubernetes: { kubeconfig: Record<string, unknown> } };
  assert.deepEqual(kubernetes.kubeconfig['users'], []);
  await assert.rejects(read('users: [{token: "s3cret'), (error) => {
    assert.match(String(error), /kubernetes\.kubeconfig is not YAML; give the content of the file/u);
    assert.doesNotMatch(String(error), /s3cret/u);
    return true;
  });
});

test('the CPI reads the rendered configuration with every property set and with none', async () => {
  const properties = {
    kubernetes: {
      kubeconfig,
      context: 'c',
      namespace: 'bosh',
      kubelet_root_dir: '/data/kubelet',
      image_pull_secrets: ['pull'],
      attach: 'recreate',
      disk_namespace: 'disks',
    },
    networks: { address_strategy: 'kube-ovn', network_policy: true },
    agent: { mbus: 'nats://x', blobstore: { provider: 'dav', options: { password: 'quoted "secret"' } } },
    ntp: ['0.pool'],
    defaults: { resources: { requests: { cpu: '1' } }, ephemeral_disk: { size: 10, storage_class: 's' } },
    deadlines: { create_vm: 7 },
  };
  const full = parseConfig(await renderConfig(properties), {});
  assert.equal(full.kubernetes.namespace, 'bosh');
  assert.deepEqual(full.agent.blobstore, properties.agent.blobstore);
  assert.deepEqual(full.defaults.ephemeralDisk, { sizeMiB: 10, storageClass: 's' });
  assert.equal(full.deadlines.createVm, 7);
  assert.equal(full.kubernetes.attach, 'recreate');
  assert.equal(full.kubernetes.diskNamespace, 'disks');
  const defaults = await renderConfig({});
  assert.equal(parseConfig(defaults, {}).kubernetes.kubeconfig, undefined);
  // the defaults that the spec shows to an operator are those of the CPI
  assert.deepEqual(parseConfig(defaults, {}), parseConfig({}, {}));
});

test('bin/cpi runs the executable where the package has it, else the bundle; a Node that is named wins', async () => {
  const packages = join(directory, 'packages');
  const executable = join(packages, 'bosh_kubernetes_cpi', 'bin', 'cpi');
  const node = join(directory, "node's place", 'node');
  await writeProgram(node, 'echo "node $*"');
  await writeProgram(
    executable,
    'echo "executable $*"; echo "${BUN_OPTIONS-}${NODE_OPTIONS-}"; echo "BUN_JSC_useJIT=${BUN_JSC_useJIT-}"',
  );
  const script = join(directory, 'cpi');
  const run = async (properties: object): Promise<string> => {
    await writeProgram(script, await render('cpi.erb', properties));
    const { stdout, stderr } = spawnSync(script, {
      encoding: 'utf8',
      env: {
        PATH: join(directory, 'path'),
        BOSH_PACKAGES_DIR: packages,
        BOSH_JOBS_DIR: '/the/jobs',
        NODE_OPTIONS: '--require=x',
        BUN_OPTIONS: '--preload=x',
      },
    });
    assert.equal(stderr, '');
    return stdout;
  };
  const config = '/the/jobs/kubernetes_cpi/config/cpi.json';
  const bundle = `${packages}/bosh_kubernetes_cpi/lib/cpi.cjs`;
  assert.equal(await run({}), `executable ${config}\n\n${executableSetting}\n`);
  assert.equal(await run({ node_path: node }), `node ${bundle} ${config}\n`);
  await rm(executable);
  // a response in JSON, which a caller reports; it would take a plain error of the shell for a broken CPI
  const { result, error } = JSON.parse(await run({})) as CpiResponse;
  assert.equal(result, null);
  assert.match(
    error?.message ?? '',
    /no node on the PATH; install Node\.js 24, or name one by .* node_path/u,
  );
  await writeProgram(join(directory, 'path', 'node'), 'echo "node of the PATH $*"');
  assert.equal(await run({}), `node of the PATH ${bundle} ${config}\n`);
});

const packagings: readonly [string, string | undefined, boolean][] = [
  ['an executable that runs', `echo '{"result":{"stemcell_formats":[]}}'`, true],
  ['an executable that does not run here', 'exit 126', false],
  ['no executable', undefined, false],
];

for (const [name, executable, isInstalled] of packagings) {
  test(`the packaging script installs the bundle, and of the executable what runs: ${name}`, async () => {
    const packageDirectory = await mkdtemp(join(directory, 'package-'));
    const source = join(packageDirectory, 'source');
    await writeProgram(join(source, 'bosh_kubernetes_cpi', 'cpi.cjs'), 'bundle');
    if (executable !== undefined) await writeProgram(join(source, 'bosh_kubernetes_cpi', 'cpi'), executable);
    const script = await readFile(new URL('../../packages/bosh_kubernetes_cpi/packaging', job), 'utf8');
    await writeFile(join(source, 'packaging'), script);
    const { status, stderr } = spawnSync('bash', ['-x', 'packaging'], {
      cwd: source,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], BOSH_INSTALL_TARGET: join(packageDirectory, 'target') },
    });
    assert.equal(status, 0, stderr);
    assert.match(await readFile(join(packageDirectory, 'target', 'lib', 'cpi.cjs'), 'utf8'), /bundle/u);
    assert.equal(existsSync(join(packageDirectory, 'target', 'bin', 'cpi')), isInstalled);
  });
}

async function writeProgram(path: string, body: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, body.startsWith('#!') ? body : `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadAll } from 'js-yaml';
import { cniErrorCode } from '../cni-error.ts';
import { type CniPaths, parseArguments } from './arguments.ts';
import { install, isInstalled, uninstall } from './install.ts';
import { Executable } from './executable.ts';

interface Container {
  readonly args: readonly string[];
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly { readonly resourceNames: readonly string[] }[];
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string;
        readonly initContainers?: readonly Container[];
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string; readonly hostPath: { readonly path: string } }[];
      };
    };
  };
}

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

type PodSpec = Manifest['spec']['template']['spec'];

/** Returns the pod spec of the first object in the file. */
function podSpecOf(name: string): PodSpec {
  const [object = assert.fail(name)] = loadAll(read(`manifests/static-ip/${name}`)) as Manifest[];
  return object.spec.template.spec;
}

test('the DaemonSet mounts the directories of its installer, has a guard, and may read only itself', () => {
  const objects = loadAll(read('manifests/static-ip/daemonset.yaml')) as Manifest[];
  const named = (kind: string): Manifest =>
    objects.find((object) => object.kind === kind) ?? assert.fail(kind);
  const daemonSet = named('DaemonSet');
  const { containers, volumes, serviceAccountName } = daemonSet.spec.template.spec;
  const [container = assert.fail(), guard = assert.fail()] = containers;
  const { command, paths: cniPaths, daemonSet: own } = parseArguments(container.args);
  assert.deepEqual([command, own], ['install', daemonSet.metadata.name]);
  assert.deepEqual(parseArguments(guard.args), { ...parseArguments(container.args), command: 'guard' });
  const paths = [cniPaths.conflistDirectory, cniPaths.binDirectory];
  for (const { volumeMounts } of containers)
    assert.deepEqual(
      volumeMounts.map(({ mountPath }) => mountPath),
      paths,
    );
  assert.deepEqual(
    volumes.map(({ hostPath }) => hostPath.path),
    paths,
  );
  const [, ...probe] = container.readinessProbe.exec.command;
  assert.deepEqual(parseArguments(probe), {
    command: 'installed',
    paths: cniPaths,
    daemonSet: undefined,
    keepInstalled: false,
  });
  assert.deepEqual(
    named('Role').rules.flatMap(({ resourceNames }) => resourceNames),
    [own],
  );
  assert.equal(named('ServiceAccount').metadata.name, serviceAccountName);
});

test('the pods become Ready with each documented option, and removal leaves nothing', async (context) => {
  const root = await mkdtemp(join(tmpdir(), 'static-ip-manifest-'));
  context.after(() => rm(root, { recursive: true, force: true }));
  const [conflistDirectory, binDirectory] = [join(root, 'net.d'), join(root, 'bin')];
  for (const directory of [conflistDirectory, binDirectory]) await mkdir(directory);
  const ipam = { type: 'host-local', subnet: '10.88.0.0/16' };
  const networks = {
    '10-pods.conflist': { type: 'bridge', ipam },
    '20-flannel.conflist': { type: 'flannel' },
  };
  for (const [file, plugin] of Object.entries(networks))
    await writeFile(
      join(conflistDirectory, file),
      JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [plugin] }),
    );
  const executable = new Executable(join(root, 'static-ip'));
  await writeFile(join(root, 'static-ip'), 'the executable');
  const [{ args, readinessProbe } = assert.fail()] = podSpecOf('daemonset.yaml').containers;
  const inRoot = (installArgs: readonly string[]): CniPaths => ({
    ...parseArguments(installArgs).paths,
    conflistDirectory,
    binDirectory,
  });
  const probe = inRoot(readinessProbe.exec.command.slice(1));
  for (const added of [
    ['--conflist=20-flannel.conflist', '--plugin=flannel'],
    [],
    ['--plugin=bridge'],
    ['--namespaces=bosh,more'],
  ]) {
    await install(inRoot([...args, ...added]), executable);
    assert.equal(await isInstalled(probe, executable), true, added.join(' '));
  }
  await install(inRoot([...args, '--conflist=30-absent.conflist']), executable);
  assert.equal(await isInstalled(probe, executable), false, 'what is waited for is not there');
  await uninstall(probe);
  assert.deepEqual(await readdir(binDirectory), []);
});

test('the pods of remove.yaml uninstall from the directories of the DaemonSet before they are ready', () => {
  const [from, to] = [podSpecOf('daemonset.yaml'), podSpecOf('remove.yaml')];
  const [installs = assert.fail()] = from.containers;
  const { paths } = parseArguments(installs.args);
  const removal = { command: 'uninstall', paths, daemonSet: undefined };
  assert.deepEqual(
    to.initContainers?.map(({ args }) => parseArguments(args)),
    [{ ...removal, keepInstalled: false }],
  );
  assert.deepEqual(
    to.containers.map(({ args }) => parseArguments(args)),
    [{ ...removal, keepInstalled: true }],
  );
  assert.deepEqual(to.volumes, from.volumes);
  for (const { volumeMounts } of [...(to.initContainers ?? []), ...to.containers])
    assert.deepEqual(volumeMounts, installs.volumeMounts);
});

test('docs/static-ip.md has every code', () => {
  const rows = read('docs/static-ip.md').matchAll(/^\| (\d+) \|/gmu);
  const documented = [...rows].map(([, code]) => Number(code));
  assert.deepEqual(documented, Object.values(cniErrorCode));
});

import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parse, stringify } from 'yaml';
import { publishApiServer } from '../../../embedded-cluster/api-server/publish-api-server.ts';
import type { NodeArgument } from '../../../embedded-cluster/node/parse-node.ts';
import {
  startSimulatedCluster,
  type SimulatedCluster,
} from '../../../embedded-cluster/testing/simulated-cluster.ts';
import { packLightStemcell } from '../../bosh/stemcell/pack-light-stemcell.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  serviceAccounts,
} from '../../kubernetes/resources.ts';
import type { ServiceSpec } from '../../kubernetes/types/service.ts';
import { isProductError } from '../../errors/product-error.ts';
import type { Installation } from '../installation.ts';
import { initDirector, type InitPorts } from '../commands/director-init.ts';
import { connectWith } from './connect-with.ts';
import { recordOutput } from './record-output.ts';

export const checkout = join(import.meta.dirname, '..', '..', '..');

export const light = {
  ...{ name: 'light', version: '1', operatingSystem: 'debian-bookworm' },
  imageReference: 'registry.example/a:1',
};

export interface DirectorSetting {
  readonly cluster: SimulatedCluster;
  /** The folder of the package. */
  readonly root: string;
  /** The folder of the director, which does not exist yet. */
  readonly directory: string;
  readonly kubeconfig: string;
  readonly stemcell: string;
  /** Runs `director init` with the kubeconfig and the stemcell. The directory is the last argument. */
  readonly init: (...args: string[]) => Promise<{ out: string }>;
}

interface SettingOptions {
  readonly root: string;
  readonly nodes: readonly NodeArgument[];
  /** Undefined: the command has its own. */
  readonly ports?: InitPorts;
}

/** Starts a simulated cluster for tests of `director init`. */
export async function startDirectorSetting(
  t: TestContext,
  { root, nodes, ports }: SettingOptions,
): Promise<DirectorSetting> {
  const scratch = await scratchDirectory(t);
  const cluster = await startSimulatedCluster({ nodes });
  t.after(() => cluster.stop());
  await publishApiServer(cluster.api, new URL('https://127.0.0.1:6443'));
  const kubeconfig = join(scratch, 'kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  const stemcell = join(scratch, 'stemcell.tgz');
  await packLightStemcell(light, stemcell);
  const directory = join(scratch, 'director');
  const release = join(checkout, 'dist', 'hello-release.tgz');
  const init = async (...args: string[]): Promise<{ out: string }> => {
    const heard = recordOutput();
    const flags = ['--kubeconfig', kubeconfig, '--stemcell', stemcell, '--release', release];
    const installation = { root } as Installation;
    const exitCode = await initDirector([...flags, ...args], { ...heard.context, installation }, ports);
    assert.equal(exitCode, 0);
    return { out: heard.out };
  };
  return { cluster, root, directory, kubeconfig, stemcell, init };
}

/**
 * Replaces the administrator of the kubeconfig by a service account. With `lists` it has all rights in the
 * namespace bosh, the rights `get` and `create` in the cluster, and `list` for these resources.
 */
export async function useAccount(
  {
    cluster: { api },
    kubeconfig,
  }: { readonly cluster: Pick<SimulatedCluster, 'api'>; readonly kubeconfig: string },
  lists?: readonly string[],
): Promise<void> {
  const [name, namespace] = ['limited', 'default'];
  await api.create(serviceAccounts, { metadata: { name, namespace } });
  if (lists !== undefined) {
    const subjects = [{ kind: 'ServiceAccount', name, namespace }];
    const all = ['*'];
    const rules = [
      { apiGroups: all, resources: all, verbs: ['get', 'create'] },
      { apiGroups: all, resources: lists, verbs: ['list'] },
    ];
    await api.create(clusterRoles, { metadata: { name }, rules });
    const [roleRef, admin] = [name, 'cluster-admin'].map((each) => ({
      apiGroup,
      kind: 'ClusterRole',
      name: each,
    }));
    await api.create(clusterRoleBindings, { metadata: { name }, roleRef, subjects });
    await api.create(roleBindings, { metadata: { name, namespace: 'bosh' }, roleRef: admin, subjects });
    await api.create(serviceAccounts, { metadata: { name: 'bosh-cpi', namespace: 'bosh' } });
  }
  const { token } = (await api.requestToken(namespace, name, { spec: {} })).status;
  const config = parse(await readFile(kubeconfig, 'utf8')) as { users: { user: unknown }[] };
  for (const each of config.users) each.user = { token };
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
}

const apiGroup = 'rbac.authorization.k8s.io';

/** Connects to an API that accepts Services with external addresses, which the simulated cluster rejects. */
export const connectAccepting = connectWith((api) => ({
  dryRunCreate: (resource, { ...object }) => {
    const { externalIPs: _, ...spec } = (object as { spec?: Partial<ServiceSpec> }).spec ?? {};
    return api.dryRunCreate(resource, { ...object, spec });
  },
}));

/** Returns code and message of the product's error with which the run is rejected. */
export async function problemOf(run: Promise<unknown>): Promise<string> {
  let message = '';
  await assert.rejects(
    run,
    (error) => isProductError(error) && ((message = `${error.code} ${error.message}`), true),
  );
  return message;
}

export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

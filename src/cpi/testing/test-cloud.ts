import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Kind } from '../../../embedded-cluster/api-server/kinds/kind.ts';
import { type LocalApi, openLocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import { systemClock } from '../../platform/clock.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { persistentVolumeClaims, pods, secrets, services } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { parseConfig } from '../config/config.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';
import { FakeNode } from './fake-node.ts';

export const namespace = 'bosh';
export const image = 'embedded.bosh-kubernetes/host-root:1';
export const mbusPassword = 'mbus-pass-word';

export interface TestCloud {
  readonly cloud: CallContext;
  readonly api: LocalApi;
  readonly node: FakeNode;
}

/**
 * Starts the embedded API server in process, with a node that only reports pods as running. Short deadlines.
 */
export async function testCloud(
  t: TestContext,
  config: Record<string, unknown> = {},
  moreKinds: readonly Kind[] = [],
): Promise<TestCloud> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-cpi-'));
  const api = await openLocalApi({ directory, moreKinds });
  const node = new FakeNode(api);
  t.after(async () => {
    await node.stop();
    await api.close();
    await rm(directory, { recursive: true });
  });
  const deadlines = { schedule: 2, sandbox: 1, create_vm: 20, delete_vm: 20, release: 1, detach_disk: 10 };
  const agent = { mbus: `https://mbus:${mbusPassword}@0.0.0.0:6868` };
  const parsed = parseConfig({ agent, deadlines, ...config }, {});
  const cloud: CallContext = {
    api,
    exec: node.exec,
    config: parsed,
    namespace,
    diskNamespace: parsed.kubernetes.diskNamespace ?? namespace,
    clock: systemClock,
    newUuid: randomUUID,
    directorUuid: 'director-1',
    log: () => undefined,
    reportProgress: () => undefined,
  };
  return { cloud, api, node };
}

export const agentId = '2b3c4d5e-0000-4000-8000-000000000001';
export const vmCidOfTest = `vm-${agentId}`;

const defaultNetworks = {
  default: { type: 'manual', ip: '127.64.0.10', netmask: '255.255.255.0', cloud_properties: {} },
};

/** Returns the request of a create_vm that succeeds; each field can be replaced. */
export function createVmRequest(
  changes: {
    agentId?: string;
    image?: string;
    properties?: object | undefined;
    networks?: object | undefined;
    env?: object | undefined;
  } = {},
): CreateVmRequest {
  return {
    agentId: changes.agentId ?? agentId,
    stemcellCid: changes.image ?? image,
    cloudProperties: { ...changes.properties },
    networks: { ...(changes.networks ?? defaultNetworks) },
    diskCids: [],
    env: { ...changes.env },
  };
}

/** Returns a request of create_vm as the arguments of a caller of the CPI. */
export const createVmArguments = (request = createVmRequest()): unknown[] => [
  request.agentId,
  request.stemcellCid,
  request.cloudProperties,
  request.networks,
  request.diskCids,
  request.env,
];

/** Returns the `env` of create_vm for a VM of that instance group, as a director writes it. */
export function groupEnv(instanceGroup: string): { bosh: { group: string; groups: string[] } } {
  const group = `director-deployment-${instanceGroup}`;
  const pairs = ['director-deployment', `deployment-${instanceGroup}`];
  return { bosh: { group, groups: ['director', 'deployment', instanceGroup, ...pairs, group] } };
}

/** Returns the names of all objects that a CPI method could have left in a namespace. */
export async function namesLeft(api: LocalApi, place = namespace): Promise<string[]> {
  const lists = await Promise.all(
    [pods, secrets, services, persistentVolumeClaims].map(async (resource) => {
      const { items } = await api.list<KubernetesObject>(resource, { namespace: place });
      return items.map(({ metadata }) => `${resource.plural} ${metadata.name}`);
    }),
  );
  return lists.flat();
}

import assert from 'node:assert/strict';
import { type ObjectKind, label } from '../../../src/cpi/objects/labels.ts';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import type { Resource } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { persistentVolumeClaims, pods, secrets } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import { until } from '../../support/until.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { fixedAddress } from './fixed-address.ts';
import { type Deployer, HelloDeployment } from './hello-deployment.ts';

export interface DeployedHello {
  /** The number of its fixed address. */
  readonly number: number;
  readonly profile: SecurityProfile;
  /** `kubernetes.attach`. */
  readonly attach: string;
  readonly deployer: Deployer;
  /** The default is our agent. */
  readonly upstream?: UpstreamAgent | undefined;
  readonly diskClass?: DiskClass;
}

/**
 * Runs create-env of examples/hello, without a change, with a larger disk and with --recreate, and
 * delete-env. The disk must keep its content.
 */
export async function outlivesDeploys(world: ClusterWorld, plan: DeployedHello): Promise<void> {
  const { cluster, namespace } = world;
  const { number, profile, attach, deployer, upstream, diskClass = 'loop' } = plan;
  const deployment = await HelloDeployment.open({
    ...{ address: fixedAddress(world, 'createEnv', number) },
    ...{ namespace, profile, attach, deployer },
    stemcellArchive: (await cluster.stemcellFor(profile, upstream)).archive,
    kubeconfig: cluster.kubeconfig,
    diskProperties: world.diskProperties(diskClass),
    kubeletRootDirectory: cluster.kubeletRootDirectory,
  });
  try {
    await deployAgain(world, deployment, plan);
  } finally {
    await deployment.close();
  }
}

async function deployAgain(
  world: ClusterWorld,
  deployment: HelloDeployment,
  { upstream }: DeployedHello,
): Promise<void> {
  const { namespace, api } = world;
  const settings = { diskSize: 64, audience: 'operators' };
  await deployment.createEnv(settings);
  const since = sinceOf(await deployment.greeting());
  const before = await deployedNow(world);
  assert.equal(before.size, '64Mi');
  // This must also work if the agent has mounted something over /var/log since then.
  await world.untilInVm(before.vm, 'logger --tag canary spoke && grep -q "canary: spoke" /var/log/syslog');

  if (upstream !== undefined) await speaksToSyslog(world, before.vm);

  await deployment.createEnv(settings);
  assert.deepEqual(await deployedNow(world), before, 'without a change nothing is touched');

  const larger = { ...settings, diskSize: 128 };
  await deployment.createEnv(larger);
  assert.equal(sinceOf(await deployment.greeting()), since, 'the disk has lost its content');
  const grown = await deployedNow(world);
  assert.equal(grown.size, '128Mi');
  assert.notEqual(grown.disk, before.disk, 'the content moves to a disk of its own');
  assert.notEqual(grown.pod, before.pod, 'create-env has no update in place');

  await deployment.createEnv(larger, '--recreate');
  assert.equal(sinceOf(await deployment.greeting()), since, 'the disk has lost its content');
  const { pod, vm, ...kept } = await deployedNow(world);
  assert.notEqual(pod, grown.pod);
  assert.notEqual(vm, grown.vm);
  assert.deepEqual({ ...kept, pod: grown.pod, vm: grown.vm }, grown);

  await deployment.deleteEnv(larger);
  for (const resource of [pods, secrets, persistentVolumeClaims]) {
    await until(`the ${resource.plural} to go`, async () => {
      const query = { namespace, labelSelector: label.kind };
      return (await api.list(resource, query)).items.length === 0;
    });
  }
}

interface Deployed {
  /** The uid of the VM's pod, and the VM's cid. */
  readonly pod: string;
  readonly vm: string;
  /** The disk's cid and its claim's uid. */
  readonly disk: string;
  readonly claim: string;
  /** The size of the volume. */
  readonly size: string;
}

/** Returns the VM and the disk of the namespace. Fails if there is more than one of them. */
async function deployedNow({ api, namespace }: ClusterWorld): Promise<Deployed> {
  const only = async <T extends KubernetesObject>(resource: Resource, kind: ObjectKind): Promise<T> => {
    const { items } = await api.list<T>(resource, { namespace, labelSelector: `${label.kind}=${kind}` });
    const [first] = items;
    const names = items.map(({ metadata }) => metadata.name ?? '');
    assert.ok(first !== undefined && names.length === 1, `of kind ${kind} there are: ${names.join(', ')}`);
    return first;
  };
  const pod = await only<KubernetesObject>(pods, 'vm');
  const { metadata, status } = await only<PersistentVolumeClaim>(persistentVolumeClaims, 'disk');
  return {
    pod: pod.metadata.uid ?? '',
    vm: pod.metadata.name ?? '',
    disk: metadata.name ?? '',
    claim: metadata.uid ?? '',
    size: status?.capacity?.['storage'] ?? '',
  };
}

/**
 * The upstream agent logs an audit line for each request to /dev/log. It starts concurrently with rsyslogd:
 * if the agent starts first, it reports this, retries, and buffers its lines until then (bosh-agent:
 * platform/delayed_audit_logger_unix.go).
 */
async function speaksToSyslog(world: ClusterWorld, vm: string): Promise<void> {
  await world.untilInVm(vm, 'grep -q CEF:0 /var/log/syslog');
  const log = await world.kubectl('logs', vm);
  const begun = log.lastIndexOf('Starting logging to syslog');
  assert.notEqual(begun, -1, 'this is the log of an upstream agent, which has found who listens at /dev/log');
  assert.doesNotMatch(log.slice(begun), /syslog delivery error/iu);
}

function sinceOf(greeting: string): string {
  const since = /kept on a persistent disk since (\S+)\./u.exec(greeting)?.[1];
  assert.ok(since !== undefined, greeting);
  return since;
}

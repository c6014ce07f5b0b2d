import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { isApiError } from '../../src/kubernetes/api-error.ts';
import type { KubernetesApi, Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { namespaces, pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';

const policies: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
};
const bindings: Resource = { ...policies, plural: 'validatingadmissionpolicybindings' };
const manifest = new URL('../../manifests/admission/attachments-only.yaml', import.meta.url);

describeCluster('profiles', (world) => {
  for (const profile of ['privileged', 'sys-admin'] as const) {
    test(`${profile}: a container of bpm's shape starts inside the VM, with its own cgroup and an overlay on /var/vcap/data`, async () => {
      const vm = await world().newVm({ properties: { profile } });
      assert.equal(await world().inVm(vm, bpmContainer), 'inside\n');
      await deleteVm(world().cloud, [vm]);
    });
  }

  test('baseline: VMs where Pod Security baseline is enforced, disks in a namespace that admits attachments only', async () => {
    const { api, namespace } = world();
    const disks = `${namespace}-disks`;
    const enforce = { 'pod-security.kubernetes.io/enforce': 'baseline' };
    await api.patch({ resource: namespaces, name: namespace }, { metadata: { labels: enforce } });
    await api.create(namespaces, { metadata: { name: disks } });
    await applyPolicy(api, disks, world().cluster.kubeletRootDirectory);
    try {
      await untilPolicyHolds(api, disks, world().cluster.stemcell.image);
      const cloud = world().cloudWith({ disk_namespace: disks });
      const vm = await world().newVm({ cloud, properties: { profile: 'baseline' } });
      const mounting = await world().exec(vm, 'mkdir -p /tmp/m && mount -t tmpfs none /tmp/m');
      assert.notEqual(mounting.exitCode, 0, 'mount(2) works under baseline');
      const disk = await world().newDisk('loop', 32, cloud);
      const hint = await attachDisk(cloud, [vm, disk]);
      await world().inVm(vm, `echo ${disk} > ${hint}/canary`);
      await detachDisk(cloud, [vm, disk]);
      await attachDisk(cloud, [vm, disk]);
      assert.equal(await world().inVm(vm, `cat ${hint}/canary`), `${disk}\n`);
      await deleteVm(cloud, [vm]);
      await deleteDisk(cloud, [disk]);
    } finally {
      for (const resource of [bindings, policies]) await api.delete({ resource, name: `only-${disks}` });
      await api.delete({ resource: namespaces, name: disks });
      const none = { 'pod-security.kubernetes.io/enforce': null };
      await api.patch({ resource: namespaces, name: namespace }, { metadata: { labels: none } });
    }
  });
});

/** The manifest of this repository, for that namespace. */
async function applyPolicy(api: KubernetesApi, disks: string, kubelet: string): Promise<void> {
  const text = (await readFile(manifest, 'utf8'))
    .replaceAll('bosh-attachments-only', `only-${disks}`)
    .replaceAll('bosh-disks', disks)
    .replaceAll('/var/lib/kubelet', kubelet);
  const [policy, binding] = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
  assert.ok(policy !== undefined && binding !== undefined);
  await api.create(policies, policy);
  await api.create(bindings, binding);
}

/** The API server takes a moment to enforce a new policy; it refuses a pod of another shape from then on. */
async function untilPolicyHolds(api: KubernetesApi, namespace: string, image: string): Promise<void> {
  const stranger = {
    metadata: { name: 'stranger', namespace },
    spec: { containers: [{ name: 'c', image, securityContext: { privileged: true } }] },
  };
  await until('the policy to be enforced', async () => {
    try {
      await api.create(pods, stranger as KubernetesObject, { dryRun: true });
      return false;
    } catch (error) {
      if (!isApiError(error, 422) && !isApiError(error, 403)) throw error;
      assert.match(error.message, /only attachments of the BOSH CPI/u);
      return true;
    }
  });
}

/** What bpm does: runc with namespaces and a cgroup of its own, over an overlay whose upper folder is on the data disk. */
const bpmContainer = `set -e
base=/var/vcap/data/bpm-shape
mkdir -p $base/upper $base/work $base/root $base/bundle
mount -t overlay overlay -o lowerdir=/,upperdir=$base/upper,workdir=$base/work $base/root
cat > $base/bundle/config.json <<JSON
{ "ociVersion": "1.0.2",
  "process": { "user": { "uid": 1000, "gid": 1000 }, "cwd": "/", "args": ["/bin/sh", "-c", "echo inside"],
    "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": true },
  "root": { "path": "$base/root", "readonly": true },
  "mounts": [{ "destination": "/proc", "type": "proc", "source": "proc" }],
  "linux": { "cgroupsPath": "/bpm-shape-$$", "resources": { "memory": { "limit": 67108864 } },
    "namespaces": [{ "type": "ipc" }, { "type": "mount" }, { "type": "pid" }, { "type": "uts" }] } }
JSON
runc --root $base/state run --bundle $base/bundle bpm-shape
umount $base/root`;

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { LocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import { startTestServer } from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { createEnv } from '../../deploy/create-env.ts';
import { deleteEnv } from '../../deploy/delete-env.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import type { DeploymentState } from '../../deploy/state/deployment-state.ts';
import { type TestEnvironment, testEnvironment } from '../../deploy/testing/test-environment.ts';
import type { ListQuery, Resource } from '../../kubernetes/api.ts';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { Status } from '../../kubernetes/object.ts';
import { RestApi } from '../../kubernetes/client/rest-api.ts';
import { persistentVolumeClaims, pods, secrets } from '../../kubernetes/resources.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import type { Installation } from '../installation.ts';
import { recordOutput } from '../testing/record-output.ts';
import { state } from './state.ts';

const domain = 'bosh.cloudfoundry.org/';
const namespace = 'default';

interface Scene {
  readonly environment: TestEnvironment;
  readonly api: LocalApi;
  /** The state file that is lost. */
  readonly lost: DeploymentState;
  readonly restore: (...flags: string[]) => Promise<{ readonly out: string; readonly errors: string }>;
}

/** Deploys in a fake cloud, makes the objects that our CPI would have made, and removes the state file. */
async function lostState(t: TestContext): Promise<Scene> {
  const [environment, { api, directory }] = await Promise.all([testEnvironment(t), startTestServer(t)]);
  const { options, ports } = environment;
  await createEnv(options, ports);
  const lost = (await environment.state()) as unknown as DeploymentState;
  await rm(options.statePath);
  await addVm(api, lost);
  await addDisk(api, lost);
  const installation = {
    ...{ clusterDirectory: directory, workspace: options.workspace, nodeBinary: process.execPath },
  } as Installation;
  const restore = async (...flags: string[]) => {
    const spoken = recordOutput();
    const given = ['--state', options.statePath, '--vars-store', options.varsStorePath ?? ''];
    const cluster = ['--kubeconfig', kubeconfigPath(directory), '--namespace', namespace];
    const args = [...given, ...cluster, ...flags];
    await state.run(['restore', options.manifestPath, ...args], { ...spoken.context, installation });
    return { out: spoken.out, errors: spoken.errors.join() };
  };
  return { environment, api, lost, restore };
}

interface VmPlan {
  readonly cid?: string;
  readonly director?: string;
  readonly hasPod?: boolean;
  readonly isFinished?: boolean;
}

async function addVm(
  api: LocalApi,
  lost: DeploymentState,
  { cid = lost.current_vm_cid, director = 'bosh-init', hasPod = true, isFinished = true }: VmPlan = {},
): Promise<void> {
  const labels = {
    [`${domain}kind`]: 'vm',
    [`${domain}vm-id`]: cid,
    [`${domain}agent-id`]: lost.current_agent_id ?? '',
    [`${domain}director-id`]: lost.director_id,
  };
  const creation = isFinished ? { [`${domain}creation`]: 'done' } : {};
  await api.create(secrets, { metadata: { name: cid, namespace, labels, annotations: creation } } as never);
  if (!hasPod) return;
  const metadata = JSON.stringify({ director, deployment: 'tiny-env', instance_group: 'hello', index: '0' });
  const annotations = isFinished ? { [`${domain}metadata`]: metadata } : {};
  await api.create(pods, {
    metadata: { name: cid, namespace, labels, annotations },
    spec: { containers: [{ name: 'bosh', image: 'any' }], automountServiceAccountToken: false },
  } as never);
}

async function addDisk(
  api: LocalApi,
  lost: Pick<DeploymentState, 'director_id' | 'disks'>,
  cid = lost.disks[0]?.cid ?? '',
): Promise<void> {
  const metadata = JSON.stringify({
    ...{ director: 'bosh-init', deployment: 'tiny-env', instance_group: 'hello', instance_index: '0' },
  });
  await api.create(persistentVolumeClaims, {
    metadata: {
      ...{ name: cid, namespace },
      labels: {
        [`${domain}kind`]: 'disk',
        [`${domain}disk-id`]: cid,
        [`${domain}director-id`]: lost.director_id,
      },
      annotations: { [`${domain}metadata`]: metadata },
    },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '64Mi' } } },
  } as never);
}

const refused = (message: RegExp) => ({ code: 'STATE_NOT_RESTORED', message });

test('state restore writes a file with which create-env replaces the VM and keeps the disk', async (t) => {
  const { environment, lost, restore } = await lostState(t);
  const { options, ports, cloud } = environment;
  const { out } = await restore();

  const restored = (await environment.state()) as unknown as DeploymentState;
  const { installation_id, stemcells: _, releases: _2, disks, ...kept } = restored;
  const [disk] = disks;
  const recorded = await new DeploymentFiles(options.statePath).readCluster();
  assert.deepEqual([recorded?.installation_id, recorded?.server.slice(0, 8)], [installation_id, 'https://']);
  assert.deepEqual(kept, {
    ...{ director_id: lost.director_id, current_agent_id: lost.current_agent_id },
    ...{ current_vm_cid: lost.current_vm_cid, current_stemcell_id: '', current_disk_id: disk?.id },
    ...{ current_release_ids: [], current_manifest_sha: '' },
  });
  assert.deepEqual([{ ...disk, id: '' }], [{ ...lost.disks[0], id: '' }]);
  assert.match(out, new RegExp(`Disk  ${disk?.cid}, 64 MiB[^]*replaces this VM and keeps this disk`, 'u'));

  const { vmCid, diskCid } = await createEnv(options, ports);

  assert.deepEqual([cloud.vms(), cloud.disks(), cloud.attachedDisks()], [[vmCid], [diskCid], [diskCid]]);
  assert.deepEqual([diskCid, vmCid === lost.current_vm_cid], [disk?.cid, false]);
});

test('delete-env deletes VM and disk of a restored state', async (t) => {
  const { environment, restore } = await lostState(t);
  await restore();
  await deleteEnv(environment.options, environment.ports);
  assert.deepEqual([environment.cloud.vms(), environment.cloud.disks()], [[], []]);
});

test('state restore refuses a state file, a pending call and another cluster, and changes none of them', async (t) => {
  const { environment, restore } = await lostState(t);
  const { statePath } = environment.options;
  const other = '{"current_vm_cid":"vm-other"}';
  await writeFile(statePath, other);
  await assert.rejects(restore(), refused(/state\.json' names a VM or a disk/u));
  assert.equal(await readFile(statePath, 'utf8'), other);
  await rename(statePath, `${statePath}.moved`);

  await writeFile(`${statePath}.pending`, '{"vm":{"agent_id":"a","arguments_sha256":"b"},"disks":[]}');
  await assert.rejects(restore(), refused(/pending' records a call of the CPI.*orphans/u));
  await rm(`${statePath}.pending`);

  const cluster = { installation_id: 'one', server: 'https://other:6443', kubeconfig: '/k', uid: 'other' };
  await writeFile(`${statePath}.cluster`, JSON.stringify(cluster));
  await assert.rejects(restore(), {
    code: 'OTHER_CLUSTER',
    message: /no state file was written.* remove '.*\.cluster'/u,
  });
  assert.equal(existsSync(statePath), false);
});

test('state restore refuses two VMs, and takes the VM that --vm names', async (t) => {
  const { environment, api, lost, restore } = await lostState(t);
  await addVm(api, lost, { cid: 'vm-second' });
  // A VM of a director has the same names, and is no candidate.
  await addVm(api, { ...lost, director_id: 'd' }, { cid: 'vm-of-director', director: 'production' });

  await assert.rejects(restore(), refused(/2 candidates for the VM: .*vm-second.*--vm CID/u));
  await assert.rejects(restore('--vm', 'vm-of-director'), refused(/is no candidate/u));
  assert.equal(existsSync(environment.options.statePath), false);

  const { out } = await restore('--vm', lost.current_vm_cid);
  assert.match(out, /VM 'vm-second' stays, and no state file names it/u);
  assert.equal((await environment.state())['current_vm_cid'], lost.current_vm_cid);
});

test('state restore refuses two disks, and never records the one that --disk does not name', async (t) => {
  const { environment, api, lost, restore } = await lostState(t);
  await addDisk(api, lost, 'disk-of-migration');
  await assert.rejects(restore(), refused(/2 candidates for the disk: .*\/var\/vcap\/store.*--disk CID/u));

  const { out } = await restore('--disk', lost.disks[0]?.cid ?? '');

  assert.match(out, /Disk 'disk-of-migration' stays/u);
  // create-env deletes a recorded disk that is not the current one.
  assert.deepEqual(
    ((await environment.state()) as unknown as DeploymentState).disks.map(({ cid }) => cid),
    [lost.disks[0]?.cid],
  );
});

test('state restore does not mix VM and disk of two state files with the same names', async (t) => {
  const { environment, api, lost, restore } = await lostState(t);
  const other = { ...lost, director_id: 'other-director' };
  const ownDisk = lost.disks[0]?.cid ?? '';
  await addDisk(api, other, 'disk-of-other');
  const twoFiles = refused(
    /of 2 state files .*VM '.*' of .* and disk .*; .*disk 'disk-of-other' .*--vm CID .*--disk CID/u,
  );
  await assert.rejects(restore(), twoFiles);
  assert.equal(existsSync(environment.options.statePath), false);

  await restore('--disk', 'disk-of-other');
  const ofOther = (await environment.state()) as unknown as DeploymentState;
  assert.deepEqual(
    [ofOther.director_id, ofOther.current_vm_cid, ofOther.disks.map(({ cid }) => cid)],
    ['other-director', '', ['disk-of-other']],
  );
  await rm(environment.options.statePath);

  await addVm(api, other, { cid: 'vm-of-other' });
  await assert.rejects(restore(), twoFiles);
  const { out } = await restore('--vm', lost.current_vm_cid);
  assert.match(out, /VM 'vm-of-other' stays; another state file has created it/u);
  assert.doesNotMatch(out, /disk-of-other/u);
  const own = (await environment.state()) as unknown as DeploymentState;
  assert.deepEqual(
    [own.director_id, own.current_vm_cid, own.disks.map(({ cid }) => cid)],
    [lost.director_id, lost.current_vm_cid, [ownDisk]],
  );
});

test('state restore names a folder that does not exist', async (t) => {
  const { environment, restore } = await lostState(t);
  const statePath = join(environment.options.statePath, '..', 'none', 'state.json');
  await assert.rejects(restore('--state', statePath), {
    code: 'STATE_INVALID',
    message: /There is no folder for the deployment state file/u,
  });
});

test('state restore takes a VM without a pod, and refuses one whose create_vm was killed', async (t) => {
  const { environment, api, lost, restore } = await lostState(t);
  await addVm(api, lost, { cid: 'vm-unfinished', isFinished: false });
  await assert.rejects(restore(), refused(/create_vm of VM 'vm-unfinished' was killed/u));
  await api.delete({ resource: secrets, namespace, name: 'vm-unfinished' });
  await api.delete({ resource: pods, namespace, name: 'vm-unfinished' });
  await api.delete({ resource: pods, namespace, name: lost.current_vm_cid });

  await restore();

  assert.equal((await environment.state())['current_vm_cid'], lost.current_vm_cid);
});

test('state restore says that it finds no VM without a pod if it may not list Secrets', async (t) => {
  const { environment, api, lost, restore } = await lostState(t);
  await api.delete({ resource: pods, namespace, name: lost.current_vm_cid });
  const list = Reflect.get<RestApi, 'list'>(RestApi.prototype, 'list');
  const forbidden = new ApiError({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' } as Status);
  t.mock.method(RestApi.prototype, 'list', function (this: RestApi, resource: Resource, query: ListQuery) {
    return resource === secrets ? Promise.reject(forbidden) : list.call(this, resource, query);
  });

  const { out, errors } = await restore();

  assert.match(out, /^VM +none[^]*creates a VM with this disk\./u);
  assert.match(errors, /does not allow listing Secrets, so a VM that has no pod was not looked for/u);
  assert.equal((await environment.state())['current_vm_cid'], '');
});

test('state restore of a manifest without a disk keeps the disk and does not attach it', async (t) => {
  const { environment, lost, restore } = await lostState(t);
  const { manifestPath } = environment.options;
  const withDisk = await readFile(manifestPath, 'utf8');
  const without = withDisk.replace(/^ *persistent_disk(?:_pool)?:.*\n/gmu, '');
  assert.notEqual(without, withDisk);
  await writeFile(manifestPath, without);
  const { out } = await restore();
  assert.match(out, /replaces this VM\.\nDisk '.*' is kept and not attached/u);
  assert.equal(((await environment.state()) as unknown as DeploymentState).disks[0]?.cid, lost.disks[0]?.cid);
});

test('state restore refuses a VM without its disk, and a cluster without VM and disk', async (t) => {
  const { environment, api, lost, restore } = await lostState(t);
  const claim = { resource: persistentVolumeClaims, namespace, name: lost.disks[0]?.cid ?? '' };
  await api.patch(claim, { metadata: { annotations: { [`${domain}deleting`]: 'true' } } });
  await api.delete(claim);
  await assert.rejects(restore(), refused(/the cluster has VM '.*', and no disk of deployment 'tiny-env'/u));
  await assert.rejects(restore('--namespace', 'empty'), refused(/has no VM and no disk of deployment/u));
  assert.equal(existsSync(environment.options.statePath), false);
});

test('state restore fills the empty state file that a refused create-env wrote', async (t) => {
  const { environment, lost, restore } = await lostState(t);
  const { options, ports, cloud, state: readState } = environment;
  await cloud.fail({ method: 'check_vm', kind: 'error', message: 'there is a VM of the instance' });
  await assert.rejects(createEnv(options, ports));
  const { director_id: wrong, installation_id: id, stemcells } = await readState();

  await restore();

  const restored = await readState();
  assert.notEqual(wrong, lost.director_id);
  assert.deepEqual(
    [restored['director_id'], restored['installation_id'], restored['current_vm_cid'], restored['stemcells']],
    [lost.director_id, id, lost.current_vm_cid, stemcells],
  );
});

test('state restore tells what a lost vars store means, and does not write one', async (t) => {
  const { environment, restore } = await lostState(t);
  const { varsStorePath = '' } = environment.options;
  await rm(varsStorePath);
  const { errors } = await restore();
  assert.match(errors, /there is no vars store .*deletes the VM without stopping its jobs/u);
  assert.equal(existsSync(varsStorePath), false);
});

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { makeServerCertificate } from '../../src/bosh/testing/certificates.ts';
import { hostRootImage } from '../../embedded-cluster/node/image/host-root-image.ts';
import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { pods, secrets } from '../../src/kubernetes/resources.ts';
import { call, runCpi, type Artefact } from '../cpi/artefact.ts';
import { root } from './support/cpi-variant.ts';
import { assertSucceeded } from './support/converged.ts';
import { EmbeddedLine, namespace } from './support/embedded-line.ts';

const agentId = '5ad0a5bc-0f4b-4a1b-9d35-0d0b6dcb0001';
const vm = `vm-${agentId}`;
const executable = join(root, 'dist', 'cpi', 'cpi');
const artefact: Artefact = existsSync(executable)
  ? { name: 'executable', command: [executable] }
  : { name: 'bundle', command: [process.execPath, join(root, 'dist', 'cpi', 'cpi.cjs')] };

let line: EmbeddedLine;
let api: KubernetesApi;
let config: string;
let env: object;

before(async () => {
  line = await EmbeddedLine.prepare({ address: '127.64.78.40' });
  assertSucceeded(await line.command(['cluster', 'start']));
  api = await line.api();
  const kubeconfig: unknown = parse(await readFile(line.kubeconfig, 'utf8'));
  const kubernetes = { kubeconfig, namespace, kubelet_root_dir: join(line.clusterDirectory, 'kubelet') };
  config = join(line.directory, 'cpi.json');
  const mbus = 'https://mbus:secret@0.0.0.0:6868';
  await writeFile(config, JSON.stringify({ kubernetes, agent: { mbus } }), { mode: 0o600 });
  env = { bosh: { mbus: { cert: await makeServerCertificate(line.address) } } };
});
after(() => line.remove());

const verb = async (method: string, ...words: readonly unknown[]): Promise<unknown> => {
  const { result, error } = await call(artefact, { method, arguments: words, context: {} }, { config });
  assert.equal(error, null, JSON.stringify(error));
  return result;
};

/**
 * Kills the call with SIGKILL when `reached` holds. A call that ended before the check counts as killed after
 * its end.
 */
async function killedCall(
  reached: () => Promise<boolean>,
  method: string,
  ...words: readonly unknown[]
): Promise<void> {
  let watching = Promise.resolve();
  await runCpi(artefact, JSON.stringify({ method, arguments: words, context: {} }), {
    config,
    onStart: (child) => {
      watching = (async () => {
        while (child.exitCode === null && child.signalCode === null && !(await reached())) await delay(1);
        child.kill('SIGKILL');
      })();
    },
  });
  await watching;
}

const createVm = [
  agentId,
  hostRootImage,
  {},
  { default: { type: 'manual', ip: '127.64.78.40', netmask: '255.255.255.0', cloud_properties: {} } },
  [],
] as const;

const soon = async (): Promise<boolean> => delay(15, true);
const exists = (resource: typeof pods, name: string) => async (): Promise<boolean> =>
  (await find(resource, name)) !== undefined;
const ending = (resource: typeof pods, name: string) => async (): Promise<boolean> => {
  const found = await find(resource, name);
  return found === undefined || found.metadata.deletionTimestamp !== undefined;
};

async function find(resource: typeof pods, name: string) {
  try {
    return await api.get({ resource, namespace, name });
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}

for (const [when, reached] of [
  ['at its start', soon],
  ['when the Secret is there', exists(secrets, vm)],
  ['when the pod is there', exists(pods, vm)],
] as const) {
  test(`create_vm killed ${when}, then called again, makes one VM`, async () => {
    await killedCall(reached, 'create_vm', ...createVm, env);

    const [cid] = (await verb('create_vm', ...createVm, env)) as [string];

    assert.equal(cid, vm);
    assert.deepEqual(await line.objects(), { vms: [vm], secrets: [vm], attachments: [], disks: [] });
    const uid = (await find(pods, vm))?.metadata.uid;
    await verb('create_vm', ...createVm, env);
    assert.equal((await find(pods, vm))?.metadata.uid, uid);
    await verb('delete_vm', vm);
  });
}

for (const [when, reached] of [
  ['at its start', () => soon],
  ['when the attachment is there', (disk: string) => exists(pods, `attach-${disk}`)],
] as const) {
  test(`attach_disk killed ${when}, then called again, attaches once`, async () => {
    await verb('create_vm', ...createVm, env);
    const disk = String(await verb('create_disk', 16, {}, vm));

    await killedCall(reached(disk), 'attach_disk', vm, disk);
    const hint = await verb('attach_disk', vm, disk);

    assert.equal(hint, `/warden-cpi-dev/disks/${disk}/store`);
    assert.deepEqual((await line.objects()).attachments, [`attach-${disk}`]);
    const mounts = await line.kubectl('exec', vm, '--', 'cat', '/proc/self/mountinfo');
    const stacked = mounts.split('\n').filter((mount) => mount.includes(`/warden-cpi-dev/disks/${disk} `));
    assert.equal(stacked.length, 1, mounts);
    await line.kubectl('exec', vm, '--', '/bin/sh', '-c', `echo kept > ${hint}/file`);
    await verb('delete_vm', vm);
    await verb('delete_disk', disk);
  });
}

for (const [when, reached] of [
  ['at its start', () => soon],
  ['when the attachment is about to go', (disk: string) => ending(pods, `attach-${disk}`)],
] as const) {
  test(`detach_disk killed ${when}, then called again, detaches and keeps what is on the disk`, async () => {
    await verb('create_vm', ...createVm, env);
    const disk = String(await verb('create_disk', 16, {}, vm));
    const file = `${String(await verb('attach_disk', vm, disk))}/file`;
    await line.kubectl('exec', vm, '--', '/bin/sh', '-c', `echo kept > ${file}`);

    await killedCall(reached(disk), 'detach_disk', vm, disk);
    const again = await call(artefact, request('detach_disk', vm, disk), { config });

    assert.equal(again.error, null, again.error?.message);
    assert.deepEqual((await line.objects()).attachments, []);
    await verb('attach_disk', vm, disk);
    assert.equal(await line.kubectl('exec', vm, '--', 'cat', file), 'kept\n');
    await verb('delete_vm', vm);
    await verb('delete_disk', disk);
  });
}

for (const [when, reached] of [
  ['at its start', soon],
  ['when the Secret is about to go', ending(secrets, vm)],
  ['when the pod is about to go', ending(pods, vm)],
] as const) {
  test(`delete_vm killed ${when} with a disk attached, then called again, leaves the disk alone`, async () => {
    await verb('create_vm', ...createVm, env);
    const disk = String(await verb('create_disk', 16, {}, vm));
    const file = `${String(await verb('attach_disk', vm, disk))}/file`;
    await line.kubectl('exec', vm, '--', '/bin/sh', '-c', `echo kept > ${file}`);

    await killedCall(reached, 'delete_vm', vm);
    await verb('delete_vm', vm);

    assert.deepEqual(await line.objects(), { vms: [], secrets: [], attachments: [], disks: [disk] });
    await verb('create_vm', ...createVm, env);
    await verb('attach_disk', vm, disk);
    assert.equal(await line.kubectl('exec', vm, '--', 'cat', file), 'kept\n');
    await verb('delete_vm', vm);
    await verb('delete_disk', disk);
  });
}

function request(method: string, ...words: readonly unknown[]): object {
  return { method, arguments: words, context: {} };
}

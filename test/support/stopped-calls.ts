import assert from 'node:assert/strict';
import { recordedDiskCids } from '../../src/cpi/vm/recorded-pod.ts';
import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { isExec, type ProxiedRequest } from './api-proxy.ts';
import type { StoppedCpi } from './stopped-cpi.ts';

/** A cluster, the built CPI for it, two VMs of the strategy `recreate`, and a disk that is not attached. */
export interface TwoVms {
  readonly api: KubernetesApi;
  readonly namespace: string;
  readonly cpi: StoppedCpi;
  readonly one: string;
  readonly other: string;
  readonly disk: string;
  /** Starts a job in a VM that uses the disk, which was just attached to it. */
  readonly use: (vm: string, hint: string) => Promise<unknown>;
}

/**
 * Stops attach_disk(one) while it waits for the previous pod to end; in the meantime the disk is detached and
 * attached to the other VM. In the end only the other VM has the disk.
 */
export async function stopAttach({ cpi, one, other, disk, use, ...cluster }: TwoVms): Promise<void> {
  let uid: string | undefined;
  const { error } = await cpi.stopped('attach_disk', [one, disk], {
    moment: afterDeletionOf(one),
    meanwhile: async () => {
      await cpi.call('detach_disk', one, disk);
      await use(other, (await cpi.call('attach_disk', other, disk)) as string);
      ({ uid } = (await podOf(cluster, one)).metadata);
    },
  });
  assert.match(error?.message ?? '', /another call has detached it/u);
  const pod = await podOf(cluster, one);
  assert.deepEqual([pod.metadata.uid, recordedDiskCids(pod), pod.status?.phase], [uid, [], 'Running']);
  assert.deepEqual(recordedDiskCids(await podOf(cluster, other)), [disk]);
}

/**
 * Stops detach_disk(one) while it waits for the previous pod to end; in the meantime the disk is attached to
 * the same VM again. In the end no other VM can have it.
 */
export async function stopDetach({ cpi, one, other, disk, use, ...cluster }: TwoVms): Promise<void> {
  await cpi.call('attach_disk', one, disk);
  const { error } = await cpi.stopped('detach_disk', [one, disk], {
    moment: afterDeletionOf(one),
    meanwhile: async () => use(one, (await cpi.call('attach_disk', one, disk)) as string),
  });
  assert.match(error?.message ?? '', /was attached again to VM/u);
  const refused = await cpi.ask('attach_disk', [other, disk]);
  assert.match(refused.error?.message ?? '', new RegExp(`is attached to VM '${one}'`, 'u'));
  assert.deepEqual(recordedDiskCids(await podOf(cluster, one)), [disk]);
  assert.deepEqual(recordedDiskCids(await podOf(cluster, other)), []);
}

/**
 * Stops detach_disk of a disk that a job uses after it has read the attachment pod and before it runs a
 * command in it; in the meantime the attachment pod is deleted by force.
 */
export async function stopRelease(
  cpi: StoppedCpi,
  { vm, disk }: { readonly vm: string; readonly disk: string },
  deleteByForce: (attachment: string) => Promise<unknown>,
): Promise<void> {
  const attachment = `attach-${disk}`;
  const { error } = await cpi.stopped('detach_disk', [vm, disk], {
    moment: ({ url }) => isExec(url) && url.includes(`/pods/${attachment}/`),
    meanwhile: () => deleteByForce(attachment),
  });
  assert.match(error?.message ?? '', new RegExp(`is still attached to VM '${vm}': it was in use`, 'u'));
}

/** Matches the first request after the one that deletes that pod. */
function afterDeletionOf(pod: string): (request: ProxiedRequest) => boolean {
  let isRequested = false;
  return ({ method, url }) => {
    if (isRequested) return true;
    isRequested = method === 'DELETE' && new RegExp(`/pods/${pod}(?:\\?|$)`, 'u').test(url);
    return false;
  };
}

const podOf = ({ api, namespace }: Pick<TwoVms, 'api' | 'namespace'>, name: string): Promise<Pod> =>
  api.get<Pod>({ resource: pods, namespace, name });

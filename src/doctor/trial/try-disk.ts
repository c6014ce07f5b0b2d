import type { CallContext } from '../../cpi/call.ts';
import { attachDisk } from '../../cpi/disk/attach-disk.ts';
import { strategyOf } from '../../cpi/disk/attach/strategy.ts';
import { defaultClassName, findStorageClass } from '../../cpi/disk/classes.ts';
import { createDisk } from '../../cpi/disk/create-disk.ts';
import { deleteDisk } from '../../cpi/disk/delete-disk.ts';
import { detachDisk } from '../../cpi/disk/detach-disk.ts';
import { vmContainer } from '../../cpi/objects/layout.ts';
import { podReference } from '../../cpi/objects/names.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { StorageClass } from '../../kubernetes/types/storage.ts';
import type { ClusterFacts } from '../cluster/cluster-facts.ts';
import { met, notAllowed, unchecked, unmet, type Finding, type Requirement } from '../finding.ts';
import { messageOf } from './trial-call.ts';
import { secondsSince, type StartedVm } from './try-vm.ts';

export interface DiskRequest {
  /** Undefined: the default class. */
  readonly storageClass: string | undefined;
  readonly diskSizeMiB: number;
}

interface DiskContext {
  readonly facts: Pick<ClusterFacts, 'classes'>;
  readonly onProgress: (line: string) => void;
}

const disk: Requirement = {
  ...{ check: 'Disk', neededBy: 'persistent disks', otherwise: 'failed' },
  remedy: 'remove the cause that the details name, or name another class with --storage-class',
};

/**
 * Creates a disk, attaches it to the VM, writes and reads a file, and detaches and deletes the disk. Makes no
 * disk of a class whose volumes stay after their disks: nothing would remove the volume.
 */
export async function tryDisk(
  call: CallContext,
  { storageClass, diskSizeMiB, vm }: DiskRequest & { readonly vm: StartedVm },
  { facts: { classes }, onProgress }: DiskContext,
): Promise<Finding> {
  const name = storageClass ?? (classes === undefined ? undefined : defaultClassName(classes));
  const subject = name ?? 'default class';
  if (classes === undefined) return notAllowed(disk, subject, 'list storageclasses.storage.k8s.io');
  const found = findStorageClass(classes, name);
  if (found === undefined)
    return unmet(disk, subject, name === undefined ? 'no class is the default' : 'there is no such class');
  if (found.reclaimPolicy === 'Retain')
    return unchecked(disk, subject, {
      detail: 'not tried, because the class keeps volumes of deleted disks (reclaimPolicy Retain)',
      remedy: 'name a class with reclaimPolicy Delete with --storage-class',
    });
  onProgress(`Attaching a disk of ${diskSizeMiB} MiB of class ${subject}`);
  try {
    const { detail, isUsable } = await useDisk(call, { found, diskSizeMiB, vm });
    return isUsable ? met(disk, subject, detail) : unmet(disk, subject, detail);
  } catch (error) {
    return unmet(disk, subject, messageOf(error));
  }
}

const writeAndRead = 'echo doctor > "$1/doctor" && sync && cat "$1/doctor"';
const execDeadline = 30_000;

async function useDisk(
  call: CallContext,
  {
    found,
    diskSizeMiB,
    vm,
  }: { readonly found: StorageClass; readonly diskSizeMiB: number; readonly vm: StartedVm },
): Promise<{ readonly detail: string; readonly isUsable: boolean }> {
  const { clock } = call;
  const cloudProperties = { storage_class: found.metadata.name };
  const begin = clock.now();
  const diskCid = await createDisk(call, { sizeMiB: diskSizeMiB, cloudProperties });
  const hint = await attachDisk(call, { vmCid: vm.cid, diskCid });
  const attached = secondsSince(begin, clock);
  const { exitCode, stdout, stderr } = await call.exec({
    ...{ pod: vm.cid, container: vmContainer, deadlineMs: execDeadline },
    command: ['/bin/sh', '-c', writeAndRead, 'doctor', hint],
  });
  const isUsable = exitCode === 0 && stdout.trim() === 'doctor';
  const strategy = strategyOf(await call.api.get<Pod>(podReference(call, vm.cid)));
  const detaching = clock.now();
  await detachDisk(call, { vmCid: vm.cid, diskCid });
  const detached = secondsSince(detaching, clock);
  await deleteDisk(call, { diskCid });
  const times = `${diskSizeMiB} MiB, attached (${strategy}) after ${attached} s, detached after ${detached} s`;
  const use = isUsable ? 'written and read' : `a file could not be written and read: ${stderr.trim()}`;
  return { detail: `${times}, ${use}`, isUsable };
}

import type { Field } from '../../platform/field.ts';

/**
 * Deadlines in whole seconds. A wait that reaches its deadline reports what it waited for and the last thing
 * that Kubernetes reported about it.
 */
export interface Deadlines {
  /** Until a node is found for the VM. */
  readonly schedule: number;
  /** How long the creation of a pod's sandbox may fail: an address is in use, a CNI plugin is missing. */
  readonly sandbox: number;
  /** Until the VM's container runs, image pull included. */
  readonly createVm: number;
  /** Until all objects of a VM are deleted, also if create_vm removes an incomplete VM. */
  readonly deleteVm: number;
  /** Until a rebooted VM's container runs again; the kubelet's longest pause before a restart is 300 s. */
  readonly rebootVm: number;
  readonly attachDisk: number;
  /** How long detach_disk waits for the agent of a container that it has recreated. */
  readonly agent: number;
  /** For how long a detach is retried while a process uses the disk. */
  readonly release: number;
  readonly detachDisk: number;
  readonly deleteDisk: number;
  /** Until a snapshot is ready to use. */
  readonly snapshotDisk: number;
  /** Until a volume has its new size or attributes. */
  readonly resizeDisk: number;
  /** Until a disk's replacement in another class is bound. */
  readonly updateDisk: number;
  /** How long a node must be silent before it counts as lost. */
  readonly lostNode: number;
  /** For how long requests to an API server that refuses connections are retried. */
  readonly connect: number;
  /** Until the API server has answered one request. */
  readonly request: number;
}

const defaultDeadlines: Deadlines = {
  schedule: 120,
  sandbox: 60,
  createVm: 900,
  deleteVm: 300,
  rebootVm: 480,
  attachDisk: 300,
  agent: 60,
  release: 20,
  detachDisk: 180,
  deleteDisk: 180,
  snapshotDisk: 600,
  resizeDisk: 300,
  updateDisk: 1800,
  lostNode: 120,
  connect: 90,
  request: 30,
};

const deadlineKeys: Readonly<Record<string, keyof Deadlines>> = {
  schedule: 'schedule',
  sandbox: 'sandbox',
  create_vm: 'createVm',
  delete_vm: 'deleteVm',
  reboot_vm: 'rebootVm',
  attach_disk: 'attachDisk',
  agent: 'agent',
  release: 'release',
  detach_disk: 'detachDisk',
  delete_disk: 'deleteDisk',
  snapshot_disk: 'snapshotDisk',
  resize_disk: 'resizeDisk',
  update_disk: 'updateDisk',
  lost_node: 'lostNode',
  connect: 'connect',
  request: 'request',
};

/** Returns the deadline of a whole CPI method; undefined for methods without one. */
export function deadlineOfMethod(method: string, deadlines: Deadlines): number | undefined {
  const key = deadlineKeys[method];
  return key === undefined ? undefined : deadlines[key];
}

/** Parses the section `deadlines`. Throws INVALID_CONFIG. */
export function parseDeadlines(section: Field): Deadlines {
  section.rejectUnknownKeys(Object.keys(deadlineKeys));
  const given: Partial<Record<keyof Deadlines, number>> = {};
  for (const [key, name] of Object.entries(deadlineKeys)) {
    const seconds = section.get(key).optional()?.integer({ min: 1, max: maxSeconds });
    if (seconds !== undefined) given[name] = seconds;
  }
  return { ...defaultDeadlines, ...given };
}

/** A week. A runtime's timers are limited to 2^31 ms; longer ones fire at once. */
const maxSeconds = 7 * 24 * 3600;

import type { Location } from '../input.ts';
import { child, positiveIntegerAt, recordAt, rejectUnknownKeys, invalidValue } from '../input.ts';

/** Whole seconds. Each wait that ends says what was awaited and the last thing Kubernetes said about it. */
export interface Deadlines {
  /** Until a node is found for the VM. */
  readonly schedule: number;
  /** How long a pod's sandbox may fail to be made: an address in use, a CNI that is not there. */
  readonly sandbox: number;
  /** Until the VM's container runs, image pull included. */
  readonly createVm: number;
  /** Until all that belongs to a VM is gone, also if create_vm removes one that is not complete. */
  readonly deleteVm: number;
  /** Until a rebooted VM's container runs again; the kubelet's longest pause before a restart is 300 s. */
  readonly rebootVm: number;
  readonly attachDisk: number;
  /** How long detach_disk waits for the agent of a container that it has made anew. */
  readonly agent: number;
  /** How long a disk that is in use is asked for again. */
  readonly release: number;
  readonly detachDisk: number;
  readonly deleteDisk: number;
  /** Until a snapshot is ready to use. */
  readonly snapshotDisk: number;
  /** Until a volume has its new size or attributes. */
  readonly resizeDisk: number;
  /** Until a disk's copy in another class is bound. */
  readonly updateDisk: number;
  /** How long a node has to be silent before it counts as lost. */
  readonly lostNode: number;
  /** How long an API server that refuses connections is tried again. */
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

/** The deadline of a CPI method as a whole; undefined for those that have none. */
export function deadlineOfMethod(method: string, deadlines: Deadlines): number | undefined {
  const key = deadlineKeys[method];
  return key === undefined ? undefined : deadlines[key];
}

/** The section `deadlines`. Throws INVALID_CONFIG. */
export function parseDeadlines(value: unknown, place: Location): Deadlines {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, Object.keys(deadlineKeys), place);
  const given: Partial<Record<keyof Deadlines, number>> = {};
  for (const [key, name] of Object.entries(deadlineKeys)) {
    const seconds = section[key];
    if (seconds !== undefined && seconds !== null) given[name] = secondsAt(seconds, child(place, key));
  }
  return { ...defaultDeadlines, ...given };
}

/** Timers of a runtime end at 2^31 ms; longer ones end at once. */
const maxSeconds = 7 * 24 * 3600;

function secondsAt(value: unknown, place: Location): number {
  const seconds = positiveIntegerAt(value, place);
  if (seconds > maxSeconds) throw invalidValue(place, `has to be ${maxSeconds} (a week) at most`);
  return seconds;
}

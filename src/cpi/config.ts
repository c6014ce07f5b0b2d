import type { Json, Place } from './input.ts';
import {
  at,
  optionalStringAt,
  positiveIntegerAt,
  recordAt,
  refuseUnknownKeys,
  stringAt,
  stringsAt,
  wrong,
} from './input.ts';
import type { Resources } from './vm/resources.ts';
import { parseResources } from './vm/resources.ts';

/** Whole seconds. Each wait that ends says what was awaited and the last thing Kubernetes said about it. */
export interface Deadlines {
  /** Until a node is found for the VM. */
  readonly schedule: number;
  /** How long a pod's sandbox may fail to be made: an address in use, a CNI that is not there. */
  readonly sandbox: number;
  /** Until the VM's container runs, image pull included. */
  readonly createVm: number;
  readonly deleteVm: number;
  readonly attachDisk: number;
  /** How long a disk that is in use is asked for again. */
  readonly release: number;
  readonly detachDisk: number;
  readonly deleteDisk: number;
}

export interface CpiConfig {
  readonly kubernetes: {
    /** Object, JSON text or YAML text; absent: the service account of the pod that we run in. Secret. */
    readonly kubeconfig: unknown;
    readonly context: string | undefined;
    readonly namespace: string | undefined;
    /** Where the kubelet of the nodes keeps its pods; k0s and microk8s differ from the default. */
    readonly kubeletRootDirectory: string;
    readonly imagePullSecrets: readonly string[];
  };
  readonly agent: {
    /** Secret: carries a password. */
    readonly mbus: string | undefined;
    readonly ntp: readonly string[];
    /** Secret: may carry credentials. */
    readonly blobstore: Json | undefined;
  };
  readonly defaults: {
    readonly resources: Resources;
    readonly ephemeralDisk: EphemeralDisk;
  };
  readonly deadlines: Deadlines;
}

export interface EphemeralDisk {
  readonly sizeMiB: number;
  /** A claim of this class; absent: the node's own disk. */
  readonly storageClass: string | undefined;
}

const sections = ['kubernetes', 'agent', 'defaults', 'deadlines'];
const defaultDeadlines: Deadlines = {
  schedule: 120,
  sandbox: 60,
  createVm: 900,
  deleteVm: 300,
  attachDisk: 300,
  release: 20,
  detachDisk: 180,
  deleteDisk: 180,
};
const deadlineKeys: Readonly<Record<string, keyof Deadlines>> = {
  schedule: 'schedule',
  sandbox: 'sandbox',
  create_vm: 'createVm',
  delete_vm: 'deleteVm',
  attach_disk: 'attachDisk',
  release: 'release',
  detach_disk: 'detachDisk',
  delete_disk: 'deleteDisk',
};

/**
 * The configuration of one call: `file` is what the job rendered, `context` the request's context, whose sections
 * win key by key (cpi-config properties arrive there). Keys of the context that are no section of ours are the
 * caller's; a key that we do not know in the file or in a section is refused by name.
 * Throws INVALID_CONFIG, which never quotes a value.
 */
export function parseConfig(file: unknown, context: Readonly<Json>): CpiConfig {
  const place: Place = { code: 'INVALID_CONFIG', path: 'config' };
  const base = recordAt(file, place);
  refuseUnknownKeys(base, sections, place);
  const overrides = Object.fromEntries(Object.entries(context).filter(([key]) => sections.includes(key)));
  const merged = deepMerge(base, overrides);
  return {
    kubernetes: kubernetesSection(merged['kubernetes'], at(place, 'kubernetes')),
    agent: agentSection(merged['agent'], at(place, 'agent')),
    defaults: defaultsSection(merged['defaults'], at(place, 'defaults')),
    deadlines: deadlinesSection(merged['deadlines'], at(place, 'deadlines')),
  };
}

/** Objects merge key by key, anything else replaces. A kubeconfig is one value: two halves of two make none. */
export function deepMerge(base: Json, over: Json): Json {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const former = merged.get(key);
    merged.set(
      key,
      isObject(former) && isObject(value) && key !== 'kubeconfig' ? deepMerge(former, value) : value,
    );
  }
  return Object.fromEntries(merged);
}

function kubernetesSection(value: unknown, place: Place): CpiConfig['kubernetes'] {
  const section = recordAt(value, place);
  refuseUnknownKeys(
    section,
    ['kubeconfig', 'context', 'namespace', 'kubelet_root_dir', 'image_pull_secrets'],
    place,
  );
  return {
    kubeconfig: section['kubeconfig'] ?? undefined,
    context: optionalStringAt(section['context'], at(place, 'context')),
    namespace: optionalStringAt(section['namespace'], at(place, 'namespace')),
    kubeletRootDirectory: directoryAt(section['kubelet_root_dir'], at(place, 'kubelet_root_dir')),
    imagePullSecrets: stringsAt(section['image_pull_secrets'], at(place, 'image_pull_secrets')),
  };
}

function agentSection(value: unknown, place: Place): CpiConfig['agent'] {
  const section = recordAt(value, place);
  refuseUnknownKeys(section, ['mbus', 'ntp', 'blobstore'], place);
  const blobstore = section['blobstore'] ?? undefined;
  return {
    mbus: optionalStringAt(section['mbus'], at(place, 'mbus')),
    ntp: stringsAt(section['ntp'], at(place, 'ntp')),
    blobstore: blobstore === undefined ? undefined : recordAt(blobstore, at(place, 'blobstore')),
  };
}

function defaultsSection(value: unknown, place: Place): CpiConfig['defaults'] {
  const section = recordAt(value, place);
  refuseUnknownKeys(section, ['resources', 'ephemeral_disk'], place);
  const resources = parseResources(section['resources'], at(place, 'resources'));
  return {
    // a VM without requests would be the first that a node under pressure evicts
    resources: {
      requests: { cpu: '100m', memory: '128Mi', ...resources.requests },
      limits: resources.limits,
    },
    ephemeralDisk: parseEphemeralDisk(section['ephemeral_disk'], at(place, 'ephemeral_disk'), {
      sizeMiB: 1024,
      storageClass: undefined,
    }),
  };
}

/** `{size: MiB, storage_class: name}`, either absent. */
export function parseEphemeralDisk(value: unknown, place: Place, defaults: EphemeralDisk): EphemeralDisk {
  const disk = recordAt(value, place);
  refuseUnknownKeys(disk, ['size', 'storage_class'], place);
  const size = disk['size'] ?? undefined;
  return {
    sizeMiB: size === undefined ? defaults.sizeMiB : positiveIntegerAt(size, at(place, 'size')),
    storageClass:
      optionalStringAt(disk['storage_class'], at(place, 'storage_class')) ?? defaults.storageClass,
  };
}

function deadlinesSection(value: unknown, place: Place): Deadlines {
  const section = recordAt(value, place);
  refuseUnknownKeys(section, Object.keys(deadlineKeys), place);
  const given = Object.entries(deadlineKeys)
    .filter(([key]) => section[key] !== undefined && section[key] !== null)
    .map(([key, name]) => [name, positiveIntegerAt(section[key], at(place, key))] as const);
  return { ...defaultDeadlines, ...Object.fromEntries(given) };
}

function directoryAt(value: unknown, place: Place): string {
  if (value === undefined || value === null) return '/var/lib/kubelet';
  const path = stringAt(value, place);
  if (!path.startsWith('/') || path.split('/').includes('..')) {
    throw wrong(place, 'has to be an absolute path without ".."');
  }
  return path.replace(/\/+$/u, '');
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

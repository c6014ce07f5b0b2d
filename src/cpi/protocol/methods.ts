import type { Verb } from '../call.ts';

/** answer.ts itself answers this method. */
export const infoMethod = 'info';

/** Removed from the director; the contract requires NotSupported (docs-bosh: content/cpi-api-v1.md). */
export const unsupportedMethods: readonly string[] = ['configure_networks'];

/**
 * The formats that create_stemcell takes: image references, and the root file systems of warden, which need a
 * registry. The list is always complete: `info` reads no configuration, and create_stemcell reports what must
 * be configured.
 */
export const stemcellFormats: readonly string[] = ['docker-light', 'warden-light', 'warden-tar'];

/** Methods that send no request to the API, and so work while it is unreachable. */
export const offlineMethods: readonly string[] = [
  'create_stemcell',
  'delete_stemcell',
  'calculate_vm_cloud_properties',
];

/**
 * Maps method names to verbs. A verb is loaded only when its method is called: half of all CPI processes
 * answer `info`.
 */
export const methods: ReadonlyMap<string, () => Promise<Verb>> = new Map<string, () => Promise<Verb>>([
  ['create_stemcell', async () => (await import('../stemcell/create-stemcell.ts')).createStemcell],
  ['delete_stemcell', async () => (await import('../stemcell/delete-stemcell.ts')).deleteStemcell],
  ['create_vm', async () => (await import('../vm/create-vm.ts')).createVm],
  ['check_vm', async () => (await import('../vm/check-vm.ts')).checkVm],
  ['describe_vm', async () => (await import('../vm/describe-vm.ts')).describeVm],
  ['delete_vm', async () => (await import('../vm/delete-vm.ts')).deleteVm],
  ['reboot_vm', async () => (await import('../vm/reboot-vm.ts')).rebootVm],
  ['has_vm', async () => (await import('../vm/has-vm.ts')).hasVm],
  ['set_vm_metadata', async () => (await import('../vm/set-vm-metadata.ts')).setVmMetadata],
  [
    'calculate_vm_cloud_properties',
    async () => (await import('../vm/calculate-vm-cloud-properties.ts')).calculateVmCloudProperties,
  ],
  ['create_disk', async () => (await import('../disk/create-disk.ts')).createDisk],
  ['delete_disk', async () => (await import('../disk/delete-disk.ts')).deleteDisk],
  ['has_disk', async () => (await import('../disk/has-disk.ts')).hasDisk],
  ['attach_disk', async () => (await import('../disk/attach-disk.ts')).attachDisk],
  ['detach_disk', async () => (await import('../disk/detach-disk.ts')).detachDisk],
  ['resize_disk', async () => (await import('../disk/resize-disk.ts')).resizeDisk],
  ['update_disk', async () => (await import('../disk/update-disk.ts')).updateDisk],
  ['snapshot_disk', async () => (await import('../snapshot/snapshot-disk.ts')).snapshotDisk],
  ['delete_snapshot', async () => (await import('../snapshot/delete-snapshot.ts')).deleteSnapshot],
  ['set_disk_metadata', async () => (await import('../disk/set-disk-metadata.ts')).setDiskMetadata],
  ['create_network', async () => (await import('../network/create-network.ts')).createNetwork],
  ['delete_network', async () => (await import('../network/delete-network.ts')).deleteNetwork],
  ['get_disks', async () => (await import('../disk/get-disks.ts')).getDisks],
]);

/** The type of an argument. Cids carry the context of their object; both `properties` types may name one. */
type ParameterType =
  | 'string'
  | 'size'
  | 'object'
  | 'networks'
  | 'vm cid'
  | 'disk cid'
  | 'disk cids'
  | 'snapshot cid'
  | 'network cid'
  /** cloud_properties that choose the context of the new object. Without a context it is the default one. */
  | 'placing properties'
  /** cloud_properties that may name a context, but need not if a cid of the same call has one. */
  | 'properties'
  /** `{type, cloud_properties, ...}` of create_network. */
  | 'network definition';

export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  /** Null or absent is allowed and means nothing, or empty. */
  readonly isOptional?: boolean;
  /** The argument may name an object in another context than the call's. The verb then gets null. */
  readonly allowOtherContext?: boolean;
}

export interface Signature {
  readonly parameters: readonly Parameter[];
  /** Which part of the result is a cid: the result itself (or null), its first element, or each element. */
  readonly cids?: 'result' | 'first' | 'each';
}

const cid = (kind: 'vm' | 'disk' | 'snapshot' | 'network'): Parameter => ({
  name: `${kind}_cid`,
  type: `${kind} cid`,
});
const optional = (name: string, type: ParameterType): Parameter => ({ name, type, isOptional: true });
const metadata = optional('metadata', 'object');

const createVmParameters: readonly Parameter[] = [
  { name: 'agent_id', type: 'string' },
  { name: 'stemcell_cid', type: 'string' },
  optional('cloud_properties', 'placing properties'),
  { name: 'networks', type: 'networks' },
  optional('disk_cids', 'disk cids'),
  optional('env', 'object'),
];

/**
 * The positional arguments of every method but `info`: those of the contract, and of `check_vm` and
 * `describe_vm`, which this CPI adds.
 */
export const signatures: ReadonlyMap<string, Signature> = new Map<string, Signature>([
  [
    'create_stemcell',
    {
      parameters: [
        { name: 'image_path', type: 'string' },
        { name: 'cloud_properties', type: 'object' },
        optional('env', 'object'),
      ],
    },
  ],
  ['delete_stemcell', { parameters: [{ name: 'stemcell_cid', type: 'string' }] }],
  ['create_vm', { parameters: createVmParameters, cids: 'first' }],
  [
    'check_vm',
    {
      parameters: [
        ...createVmParameters,
        { ...optional('former_vm_cid', 'vm cid'), allowOtherContext: true },
      ],
    },
  ],
  ['describe_vm', { parameters: [cid('vm')] }],
  ['delete_vm', { parameters: [cid('vm')] }],
  ['has_vm', { parameters: [cid('vm')] }],
  ['reboot_vm', { parameters: [cid('vm')] }],
  ['set_vm_metadata', { parameters: [cid('vm'), metadata] }],
  ['calculate_vm_cloud_properties', { parameters: [{ name: 'requirements', type: 'object' }] }],
  [
    'create_disk',
    {
      parameters: [
        { name: 'size', type: 'size' },
        optional('cloud_properties', 'properties'),
        { ...cid('vm'), isOptional: true },
      ],
      cids: 'result',
    },
  ],
  ['delete_disk', { parameters: [cid('disk')] }],
  ['has_disk', { parameters: [cid('disk')] }],
  ['attach_disk', { parameters: [cid('vm'), cid('disk')] }],
  ['detach_disk', { parameters: [cid('vm'), cid('disk')] }],
  ['resize_disk', { parameters: [cid('disk'), { name: 'new_size', type: 'size' }] }],
  [
    'update_disk',
    {
      parameters: [
        cid('disk'),
        { name: 'new_size', type: 'size' },
        optional('cloud_properties', 'properties'),
      ],
      cids: 'result',
    },
  ],
  ['set_disk_metadata', { parameters: [cid('disk'), metadata] }],
  ['get_disks', { parameters: [cid('vm')], cids: 'each' }],
  ['snapshot_disk', { parameters: [cid('disk'), metadata], cids: 'result' }],
  ['delete_snapshot', { parameters: [cid('snapshot')] }],
  ['create_network', { parameters: [{ name: 'definition', type: 'network definition' }], cids: 'first' }],
  ['delete_network', { parameters: [cid('network')] }],
]);

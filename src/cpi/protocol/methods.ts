import type { CallContext, Verb } from '../call.ts';
import type { JsonObject } from '../../platform/json.ts';
import type { Arguments } from './arguments.ts';

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

export interface CreateStemcellRequest {
  readonly imagePath: string;
  readonly cloudProperties: JsonObject;
  readonly env: JsonObject;
}

export interface DeleteStemcellRequest {
  readonly stemcellCid: string;
}

export interface CreateVmRequest {
  readonly agentId: string;
  readonly stemcellCid: string;
  readonly cloudProperties: JsonObject;
  readonly networks: JsonObject;
  /** Disks that the VM will get: hints for its placement. */
  readonly diskCids: readonly string[];
  readonly env: JsonObject;
}

export interface CheckVmRequest extends CreateVmRequest {
  /** The VM that the new one replaces; undefined: none, or one in another context. */
  readonly formerVmCid?: string | undefined;
  /**
   * The metadata that the new VM gets, if the caller knows no VM and no disk of the instance; otherwise
   * empty.
   */
  readonly metadata?: JsonObject;
}

/** The request of the methods that take only the cid of a VM. */
export interface VmCidRequest {
  readonly vmCid: string;
}

export interface HasVmRequest {
  /** Undefined: a value that names no VM. */
  readonly vmCid: string | undefined;
}

export interface SetVmMetadataRequest {
  readonly vmCid: string;
  readonly metadata: JsonObject;
}

export interface CalculateVmCloudPropertiesRequest {
  readonly requirements: JsonObject;
}

export interface CreateDiskRequest {
  readonly sizeMiB: number;
  readonly cloudProperties: JsonObject;
  /** A VM that is near the disk: a hint. */
  readonly vmCid?: string | undefined;
}

export interface DeleteDiskRequest {
  readonly diskCid: string;
}

export interface HasDiskRequest {
  /** Undefined: a value that names no disk. */
  readonly diskCid: string | undefined;
}

/** The request of attach_disk and detach_disk. */
export interface AttachDiskRequest {
  readonly vmCid: string;
  readonly diskCid: string;
}

export interface ResizeDiskRequest {
  readonly diskCid: string;
  readonly sizeMiB: number;
}

export interface UpdateDiskRequest {
  readonly diskCid: string;
  readonly sizeMiB: number;
  readonly cloudProperties: JsonObject;
}

/** The request of set_disk_metadata and snapshot_disk. */
export interface DiskMetadataRequest {
  readonly diskCid: string;
  readonly metadata: JsonObject;
}

export interface DeleteSnapshotRequest {
  readonly snapshotCid: string;
}

export interface CreateNetworkRequest {
  readonly definition: JsonObject;
}

export interface DeleteNetworkRequest {
  readonly networkCid: string;
}

/** The request and the result of each method. */
interface Methods {
  create_stemcell: { request: CreateStemcellRequest; result: string };
  delete_stemcell: { request: DeleteStemcellRequest; result: null };
  create_vm: { request: CreateVmRequest; result: readonly [vmCid: string, networks: JsonObject] };
  check_vm: { request: CheckVmRequest; result: readonly string[] };
  describe_vm: { request: VmCidRequest; result: string | null };
  delete_vm: { request: VmCidRequest; result: null };
  reboot_vm: { request: VmCidRequest; result: null };
  has_vm: { request: HasVmRequest; result: boolean };
  set_vm_metadata: { request: SetVmMetadataRequest; result: null };
  calculate_vm_cloud_properties: { request: CalculateVmCloudPropertiesRequest; result: unknown };
  create_disk: { request: CreateDiskRequest; result: string };
  delete_disk: { request: DeleteDiskRequest; result: null };
  has_disk: { request: HasDiskRequest; result: boolean };
  attach_disk: { request: AttachDiskRequest; result: string };
  detach_disk: { request: AttachDiskRequest; result: null };
  resize_disk: { request: ResizeDiskRequest; result: null };
  update_disk: { request: UpdateDiskRequest; result: string | null };
  snapshot_disk: { request: DiskMetadataRequest; result: string };
  delete_snapshot: { request: DeleteSnapshotRequest; result: null };
  set_disk_metadata: { request: DiskMetadataRequest; result: null };
  create_network: { request: CreateNetworkRequest; result: readonly [networkCid: string, ...unknown[]] };
  delete_network: { request: DeleteNetworkRequest; result: null };
  get_disks: { request: VmCidRequest; result: readonly string[] };
}

export type MethodName = keyof Methods;
type RequestOf<M extends MethodName> = Methods[M]['request'];
type ResultOf<M extends MethodName> = Methods[M]['result'];

interface Method<M extends MethodName> {
  /** Reads the arguments in their order. */
  readonly read: (args: Arguments) => RequestOf<M>;
  readonly load: () => Promise<Verb<RequestOf<M>, ResultOf<M>>>;
  /** Replaces the names in the result that are cids. Default: there are none. */
  readonly qualify?: (result: ResultOf<M>, cid: (name: string) => string) => ResultOf<M>;
}

const readVmCid = (args: Arguments): VmCidRequest => ({ vmCid: args.vmCid() });
const readVmAndDisk = (args: Arguments): AttachDiskRequest => ({
  vmCid: args.vmCid(),
  diskCid: args.diskCid(),
});
const readDiskAndMetadata = (args: Arguments): DiskMetadataRequest => ({
  diskCid: args.diskCid(),
  metadata: args.record('metadata'),
});
const readCreateVm = (args: Arguments): CreateVmRequest => ({
  agentId: args.string('agent_id'),
  stemcellCid: args.string('stemcell_cid'),
  cloudProperties: args.placement(),
  networks: args.networks(),
  diskCids: args.diskCids(),
  env: args.record('env'),
});

/**
 * All methods but `info`: those of the contract, and `check_vm` and `describe_vm`, which this CPI adds. A
 * verb is loaded only when its method is called: half of all CPI processes answer `info`.
 */
const methods: { readonly [M in MethodName]: Method<M> } = {
  create_stemcell: {
    read: (args) => ({
      imagePath: args.string('image_path'),
      cloudProperties: args.record('cloud_properties'),
      env: args.record('env'),
    }),
    load: async () => (await import('../stemcell/create-stemcell.ts')).createStemcell,
  },
  delete_stemcell: {
    read: (args) => ({ stemcellCid: args.string('stemcell_cid') }),
    load: async () => (await import('../stemcell/delete-stemcell.ts')).deleteStemcell,
  },
  create_vm: {
    read: readCreateVm,
    load: async () => (await import('../vm/create-vm.ts')).createVm,
    qualify: ([vmCid, networks], cid) => [cid(vmCid), networks],
  },
  check_vm: {
    read: (args) => ({
      ...readCreateVm(args),
      formerVmCid: args.vmCidOfThisContext('former_vm_cid'),
      metadata: args.record('metadata'),
    }),
    load: async () => (await import('../vm/check-vm.ts')).checkVm,
  },
  describe_vm: {
    read: readVmCid,
    load: async () => (await import('../vm/describe-vm.ts')).describeVm,
  },
  delete_vm: {
    read: readVmCid,
    load: async () => (await import('../vm/delete-vm.ts')).deleteVm,
  },
  reboot_vm: {
    read: readVmCid,
    load: async () => (await import('../vm/reboot-vm.ts')).rebootVm,
  },
  has_vm: {
    read: (args) => ({ vmCid: args.looseCid('vm') }),
    load: async () => (await import('../vm/has-vm.ts')).hasVm,
  },
  set_vm_metadata: {
    read: (args) => ({ vmCid: args.vmCid(), metadata: args.record('metadata') }),
    load: async () => (await import('../vm/set-vm-metadata.ts')).setVmMetadata,
  },
  calculate_vm_cloud_properties: {
    read: (args) => ({ requirements: args.onlyRecord('requirements') }),
    load: async () => (await import('../vm/calculate-vm-cloud-properties.ts')).calculateVmCloudProperties,
  },
  create_disk: {
    read: (args) => ({
      sizeMiB: args.sizeMiB('size'),
      cloudProperties: args.cloudProperties(),
      vmCid: args.optionalVmCid(),
    }),
    load: async () => (await import('../disk/create-disk.ts')).createDisk,
    qualify: (diskCid, cid) => cid(diskCid),
  },
  delete_disk: {
    read: (args) => ({ diskCid: args.diskCid() }),
    load: async () => (await import('../disk/delete-disk.ts')).deleteDisk,
  },
  has_disk: {
    read: (args) => ({ diskCid: args.looseCid('disk') }),
    load: async () => (await import('../disk/has-disk.ts')).hasDisk,
  },
  attach_disk: {
    read: readVmAndDisk,
    // the result is a path in the VM, in which contexts do not exist
    load: async () => (await import('../disk/attach-disk.ts')).attachDisk,
  },
  detach_disk: {
    read: readVmAndDisk,
    load: async () => (await import('../disk/detach-disk.ts')).detachDisk,
  },
  resize_disk: {
    read: (args) => ({ diskCid: args.diskCid(), sizeMiB: args.sizeMiB('new_size') }),
    load: async () => (await import('../disk/resize-disk.ts')).resizeDisk,
  },
  update_disk: {
    read: (args) => ({
      diskCid: args.diskCid(),
      sizeMiB: args.sizeMiB('new_size'),
      cloudProperties: args.cloudProperties(),
    }),
    load: async () => (await import('../disk/update-disk.ts')).updateDisk,
    qualify: (diskCid, cid) => (diskCid === null ? null : cid(diskCid)),
  },
  snapshot_disk: {
    read: readDiskAndMetadata,
    load: async () => (await import('../snapshot/snapshot-disk.ts')).snapshotDisk,
    qualify: (snapshotCid, cid) => cid(snapshotCid),
  },
  delete_snapshot: {
    read: (args) => ({ snapshotCid: args.snapshotCid() }),
    load: async () => (await import('../snapshot/delete-snapshot.ts')).deleteSnapshot,
  },
  set_disk_metadata: {
    read: readDiskAndMetadata,
    load: async () => (await import('../disk/set-disk-metadata.ts')).setDiskMetadata,
  },
  create_network: {
    read: (args) => ({ definition: args.networkDefinition() }),
    load: async () => (await import('../network/create-network.ts')).createNetwork,
    // the last element becomes cloud_properties of VMs: it names the network in the context of the VM
    qualify: ([networkCid, ...others], cid) => [cid(networkCid), ...others],
  },
  delete_network: {
    read: (args) => ({ networkCid: args.networkCid() }),
    load: async () => (await import('../network/delete-network.ts')).deleteNetwork,
  },
  get_disks: {
    read: readVmCid,
    load: async () => (await import('../disk/get-disks.ts')).getDisks,
    qualify: (diskCids, cid) => diskCids.map(cid),
  },
};

export const methodNames = Object.keys(methods) as readonly MethodName[];

export const isMethodName = (name: string): name is MethodName => Object.hasOwn(methods, name);

/** Reads the arguments of a method, in their order. Throws what `Arguments` throws. */
export const readRequest = <M extends MethodName>(name: M, args: Arguments): RequestOf<M> =>
  methods[name].read(args);

/** Adds the context of the call to the cids in a result. */
export function qualifyResult<M extends MethodName>(
  name: M,
  result: ResultOf<M>,
  args: Arguments,
): ResultOf<M> {
  const { qualify }: Method<M> = methods[name];
  return qualify === undefined ? result : qualify(result, (cid) => args.qualify(cid));
}

/** Reads the arguments of a call, and returns a function that runs its verb. */
export type ReadCall<M extends MethodName> = (args: Arguments) => (call: CallContext) => Promise<ResultOf<M>>;

/**
 * Loads the verb of a method. The verb's result has the context of the call in its cids, so that the caller
 * can use them in later calls.
 */
export async function loadMethod<M extends MethodName>(name: M): Promise<ReadCall<M>> {
  const { load }: Method<M> = methods[name];
  const verb = await load();
  return (args) => {
    const request = readRequest(name, args);
    return async (call) => qualifyResult(name, await verb(call, request), args);
  };
}

import type { Verb } from './cloud.ts';

/**
 * answer.ts itself answers `info`. The `unsupported` methods are known, but rejected with the error that the
 * contract requires.
 */
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
  ['create_stemcell', async () => (await import('./stemcell/create-stemcell.ts')).createStemcell],
  ['delete_stemcell', async () => (await import('./stemcell/delete-stemcell.ts')).deleteStemcell],
  ['create_vm', async () => (await import('./vm/create-vm.ts')).createVm],
  ['check_vm', async () => (await import('./vm/check-vm.ts')).checkVm],
  ['describe_vm', async () => (await import('./vm/describe-vm.ts')).describeVm],
  ['delete_vm', async () => (await import('./vm/delete-vm.ts')).deleteVm],
  ['reboot_vm', async () => (await import('./vm/reboot-vm.ts')).rebootVm],
  ['has_vm', async () => (await import('./vm/has-vm.ts')).hasVm],
  ['set_vm_metadata', async () => (await import('./vm/set-vm-metadata.ts')).setVmMetadata],
  [
    'calculate_vm_cloud_properties',
    async () => (await import('./vm/calculate-vm-cloud-properties.ts')).calculateVmCloudProperties,
  ],
  ['create_disk', async () => (await import('./disk/create-disk.ts')).createDisk],
  ['delete_disk', async () => (await import('./disk/delete-disk.ts')).deleteDisk],
  ['has_disk', async () => (await import('./disk/has-disk.ts')).hasDisk],
  ['attach_disk', async () => (await import('./disk/attach-disk.ts')).attachDisk],
  ['detach_disk', async () => (await import('./disk/detach-disk.ts')).detachDisk],
  ['resize_disk', async () => (await import('./disk/resize-disk.ts')).resizeDisk],
  ['update_disk', async () => (await import('./disk/update-disk.ts')).updateDisk],
  ['snapshot_disk', async () => (await import('./snapshot/snapshot-disk.ts')).snapshotDisk],
  ['delete_snapshot', async () => (await import('./snapshot/delete-snapshot.ts')).deleteSnapshot],
  ['set_disk_metadata', async () => (await import('./disk/set-disk-metadata.ts')).setDiskMetadata],
  ['create_network', async () => (await import('./network/create-network.ts')).createNetwork],
  ['delete_network', async () => (await import('./network/delete-network.ts')).deleteNetwork],
  ['get_disks', async () => (await import('./disk/get-disks.ts')).getDisks],
]);

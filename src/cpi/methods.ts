import type * as RealCall from './call/real-call.ts';
import type { Verb } from './cloud.ts';

/** `info` is answered by main.ts itself; `unsupported` methods are known but refused as the contract asks. */
export const infoMethod = 'info';

/** Removed from the director; the contract asks for NotSupported (docs-bosh: content/cpi-api-v1.md). */
export const unsupportedMethods: readonly string[] = ['configure_networks'];

/**
 * The formats that create_stemcell takes: image references, and the root file systems of warden, which need a registry.
 * All of them always: `info` reads no configuration, and create_stemcell then says what has to be configured.
 */
export const stemcellFormats: readonly string[] = ['docker-light', 'warden-light', 'warden-tar'];

/** They ask nothing of the API, and work where it cannot be reached. */
export const localMethods: readonly string[] = [
  'create_stemcell',
  'delete_stemcell',
  'calculate_vm_cloud_properties',
];

/** What a call of one method needs. */
export type CallCode = typeof RealCall & { readonly verb: Verb };

/**
 * Method name to code. Nothing is loaded before the method is known: half of all CPI processes are `info`. Each file in
 * `calls` has all that its calls need, so that the bundler keeps what is common to all in one piece: each piece costs
 * a call 0.05 ms (docs/decisions/0008).
 */
export const methods: ReadonlyMap<string, () => Promise<CallCode>> = new Map<string, () => Promise<CallCode>>(
  [
    ['create_stemcell', () => import('./calls/create-stemcell.ts')],
    ['delete_stemcell', () => import('./calls/delete-stemcell.ts')],
    ['create_vm', () => import('./calls/create-vm.ts')],
    ['check_vm', () => import('./calls/check-vm.ts')],
    ['delete_vm', () => import('./calls/delete-vm.ts')],
    ['reboot_vm', () => import('./calls/reboot-vm.ts')],
    ['has_vm', () => import('./calls/has-vm.ts')],
    ['set_vm_metadata', () => import('./calls/set-vm-metadata.ts')],
    ['calculate_vm_cloud_properties', () => import('./calls/calculate-vm-cloud-properties.ts')],
    ['create_disk', () => import('./calls/create-disk.ts')],
    ['delete_disk', () => import('./calls/delete-disk.ts')],
    ['has_disk', () => import('./calls/has-disk.ts')],
    ['attach_disk', () => import('./calls/attach-disk.ts')],
    ['detach_disk', () => import('./calls/detach-disk.ts')],
    ['resize_disk', () => import('./calls/resize-disk.ts')],
    ['update_disk', () => import('./calls/update-disk.ts')],
    ['snapshot_disk', () => import('./calls/snapshot-disk.ts')],
    ['delete_snapshot', () => import('./calls/delete-snapshot.ts')],
    ['set_disk_metadata', () => import('./calls/set-disk-metadata.ts')],
    ['create_network', () => import('./calls/create-network.ts')],
    ['delete_network', () => import('./calls/delete-network.ts')],
    ['get_disks', () => import('./calls/get-disks.ts')],
  ],
);

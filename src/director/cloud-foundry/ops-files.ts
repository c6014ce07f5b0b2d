import type { Layout } from './layout-vms.ts';

/** What decides about the ops files of a deployment of Cloud Foundry. */
export interface OpsFileChoice {
  readonly layout: Layout;
  /** The operating system of the VMs' stemcell. */
  readonly operatingSystem: string;
  /** Garden's own network instead of silk. */
  readonly hasOneCell: boolean;
  readonly hasVolumeServices: boolean;
}

/** The operating systems of stemcells with which cf-deployment v58.0.0 and our files go. */
export const foundrySystems = ['debian-bookworm', 'ubuntu-noble'] as const;

/**
 * The version of Ubuntu noble in cf-deployment v58.0.0, for which the releases of use-compiled-releases.yml
 * are compiled.
 */
export const nobleVersion = '1.425';

const isDebian = ({ operatingSystem }: OpsFileChoice): boolean => operatingSystem === 'debian-bookworm';

/**
 * Returns the paths of upstream's files below cf-deployment/operations, and ours below the checkout, in
 * order.
 */
export function foundryOpsFiles(
  choice: OpsFileChoice,
): { readonly path: string; readonly isOurs: boolean }[] {
  const { layout, hasOneCell, hasVolumeServices } = choice;
  const isSmallest = layout === 'smallest';
  const upstream = [
    ...(isDebian(choice) ? [] : ['use-compiled-releases.yml']),
    ...(isSmallest ? ['scale-to-one-az.yml', 'use-postgres.yml'] : []),
    ...(hasVolumeServices ? ['enable-nfs-volume-service.yml', 'enable-smb-volume-service.yml'] : []),
  ];
  const ours = [
    ...(isDebian(choice) ? ['debian-bookworm.yml'] : []),
    ...['garden-containerd.yml', 'kernel-parameters.yml', 'sizes.yml'],
    ...(isSmallest ? [] : ['database-memory.yml', 'several-cells.yml']),
    ...(hasOneCell ? ['one-cell.yml'] : []),
    'system-domain.yml',
  ];
  const volumes = hasVolumeServices ? ['replace-volume-drivers.yml', 'replace-volume-brokers.yml'] : [];
  return [
    ...upstream.map((name) => ({ path: name, isOurs: false })),
    ...ours.map((name) => ({ path: `manifests/cf-deployment/${name}`, isOurs: true })),
    ...volumes.map((name) => ({ path: `release/volumes/operations/${name}`, isOurs: true })),
  ];
}

/** Returns the paths of our ops files for the runtime-config of bosh-dns. */
export const dnsOpsFiles = (choice: OpsFileChoice): string[] =>
  isDebian(choice) ? ['manifests/cf-deployment/dns.yml'] : [];

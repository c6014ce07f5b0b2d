import { join } from 'node:path';

/**
 * The capabilities of a driver. Two of the drivers run the same code with fewer of them, to test the errors
 * of CPI methods.
 */
export interface Driver {
  /** Also the name of the directory with its volumes. */
  readonly name: string;
  /** Part of the names of its sockets, whose paths must be short. */
  readonly socketName: string;
  readonly canSnapshot: boolean;
  readonly canClone: boolean;
  readonly canExpand: boolean;
  readonly canModify: boolean;
  /** True if volumes stay in the zone where they were created. */
  readonly isZonal: boolean;
}

export const loopDriver: Driver = {
  name: 'loop.csi.bosh-kubernetes.test',
  socketName: 'loop',
  canSnapshot: true,
  canClone: true,
  canExpand: true,
  canModify: true,
  isZonal: false,
};

export const plainDriver: Driver = {
  name: 'plain.csi.bosh-kubernetes.test',
  socketName: 'plain',
  canSnapshot: false,
  canClone: false,
  canExpand: false,
  canModify: false,
  isZonal: false,
};

export const zonalDriver: Driver = {
  ...loopDriver,
  name: 'zonal.csi.bosh-kubernetes.test',
  socketName: 'zonal',
  isZonal: true,
};

export const drivers: readonly Driver[] = [loopDriver, plainDriver, zonalDriver];

/**
 * The StorageClass parameter for volumes that lose their content whenever a node stages them
 * (volume-store.ts).
 */
export const losesContent = 'forgetful';

/** Returns the node label and CSI topology segment of a zonal driver. */
export function zoneKeyOf(driver: Driver): string {
  return `topology.${driver.name}/zone`;
}

export const driverVersion = '1.0.0';

/** A program of kubernetes-csi that connects a driver's controller service to the API server. */
interface Sidecar {
  readonly program: 'csi-attacher' | 'csi-provisioner' | 'csi-resizer' | 'csi-snapshotter';
  readonly args: readonly string[];
}

/**
 * The defaults are five requests per second and one second before a retry, but several tests wait for one
 * sidecar.
 */
export const sidecarTimings = [
  '--kube-api-qps=100',
  '--kube-api-burst=200',
  '--retry-interval-start=200ms',
] as const;

/** Returns the sidecars of a driver with all arguments except the cluster's `--kubeconfig`. */
export function sidecarsOf(driver: Driver, sockets: string): Sidecar[] {
  const args = [
    `--csi-address=${join(sockets, `${driver.socketName}.sock`)}`,
    '--leader-election=false',
    ...sidecarTimings,
  ];
  return [
    { program: 'csi-attacher', args },
    { program: 'csi-provisioner', args: [...args, '--default-fstype=ext4'] },
    ...(driver.canExpand ? [{ program: 'csi-resizer' as const, args: args }] : []),
    ...(driver.canSnapshot ? [{ program: 'csi-snapshotter' as const, args: args }] : []),
  ];
}

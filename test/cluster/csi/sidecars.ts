import { join } from 'node:path';
import type { Driver } from './drivers.ts';

/** A program of kubernetes-csi that connects a driver's controller service to the API server. */
export interface Sidecar {
  readonly program: 'external-attacher' | 'external-resizer' | 'csi-snapshotter';
  readonly words: readonly string[];
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
  const words = [
    `--csi-address=${join(sockets, `${driver.socketName}.sock`)}`,
    '--leader-election=false',
    ...sidecarTimings,
  ];
  return [
    { program: 'external-attacher', words },
    ...(driver.canExpand ? [{ program: 'external-resizer' as const, words }] : []),
    ...(driver.canSnapshot ? [{ program: 'csi-snapshotter' as const, words }] : []),
  ];
}

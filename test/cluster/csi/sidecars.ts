import { join } from 'node:path';
import type { Driver } from './drivers.ts';

/** A program of kubernetes-csi that brings a driver's controller service and the API server together. */
export interface Sidecar {
  readonly program: 'external-attacher' | 'external-resizer' | 'csi-snapshotter';
  readonly words: readonly string[];
}

/** Five requests a second by default, and a second before a failed call is tried again: several tests wait for one sidecar. */
export const sidecarTimings = [
  '--kube-api-qps=100',
  '--kube-api-burst=200',
  '--retry-interval-start=200ms',
] as const;

/** The sidecars that a driver needs, with everything but the cluster's own `--kubeconfig`. Pure. */
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

import { join } from 'node:path';
import type { Driver } from './drivers.ts';

/** A program of kubernetes-csi that brings a driver's controller service and the API server together. */
export interface Sidecar {
  readonly program: 'external-attacher' | 'external-resizer' | 'csi-snapshotter';
  readonly words: readonly string[];
}

/** The sidecars that a driver needs, with everything but the cluster's own `--kubeconfig`. Pure. */
export function sidecarsOf(driver: Driver, sockets: string): Sidecar[] {
  const words = [`--csi-address=${join(sockets, `${driver.socketName}.sock`)}`, '--leader-election=false'];
  return [
    { program: 'external-attacher', words },
    ...(driver.canExpand ? [{ program: 'external-resizer' as const, words }] : []),
    ...(driver.canSnapshot ? [{ program: 'csi-snapshotter' as const, words }] : []),
  ];
}

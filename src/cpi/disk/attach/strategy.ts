import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { Location } from '../../input.ts';
import { invalidValue } from '../../input.ts';
import { annotation } from '../../labels.ts';

/** How a VM gets its disks: `hot` into the running pod, `recreate` with a recreated pod. */
export type AttachStrategy = 'hot' | 'recreate';

/** `auto`: hot if the cluster admits an attachment pod; decided when the VM is made. */
export type AttachStrategySetting = AttachStrategy | 'auto';

/** Reads the configured strategy. Default: hot. */
export function readAttachStrategy(value: unknown, place: Location): AttachStrategySetting {
  if (value === undefined || value === null) return 'hot';
  if (value === 'hot' || value === 'recreate' || value === 'auto') return value;
  throw invalidValue(place, 'has to be hot, recreate or auto');
}

/**
 * Reads the strategy from a VM's pod or Secret. A VM that was made before the strategy was recorded is hot.
 */
export function strategyOf({ metadata }: KubernetesObject): AttachStrategy {
  return metadata.annotations?.[annotation.attach] === 'recreate' ? 'recreate' : 'hot';
}

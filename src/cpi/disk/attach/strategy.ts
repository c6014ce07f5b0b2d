import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { Location } from '../../input.ts';
import { invalidValue } from '../../input.ts';
import { annotation } from '../../labels.ts';

/** How a VM gets its disks: into the running pod, or with a pod that is made anew. */
export type AttachStrategy = 'hot' | 'recreate';

/** `auto`: hot where the cluster admits an attachment, decided when the VM is made. */
export type AttachStrategySetting = AttachStrategy | 'auto';

/** The configured strategy; hot when nothing is given. */
export function readAttachStrategy(value: unknown, place: Location): AttachStrategySetting {
  if (value === undefined || value === null) return 'hot';
  if (value === 'hot' || value === 'recreate' || value === 'auto') return value;
  throw invalidValue(place, 'has to be hot, recreate or auto');
}

/** What a VM's pod or Secret says; a VM made before the strategy was recorded is hot. */
export function strategyOf({ metadata }: KubernetesObject): AttachStrategy {
  return metadata.annotations?.[annotation.attach] === 'recreate' ? 'recreate' : 'hot';
}

import { type AttachStrategy } from '../../config/cluster-access.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import { annotation } from '../../objects/labels.ts';

/**
 * Reads the strategy from a VM's pod or Secret. A VM that was made before the strategy was recorded is hot.
 */
export function strategyOf({ metadata }: KubernetesObject): AttachStrategy {
  return metadata.annotations?.[annotation.attach] === 'recreate' ? 'recreate' : 'hot';
}

import { ProductError } from '../../errors/product-error.ts';
import type { Json, Location } from '../input.ts';
import { child, optionalStringAt, invalidValue } from '../input.ts';

/**
 * Refuses a disk that a VM is to have as a device, by its cloud_properties and before anything is made: the director
 * gives a dynamic disk a `name`, and the agent hands its jobs the path of its device (bosh-agent: SetupDynamicDisk); a
 * block volume is one. What is attached to a running container is a mount, under every profile. NOT_SUPPORTED.
 */
export function rejectBlockDevices(properties: Json, place: Location): void {
  const whyAndNext =
    'is not supported: a disk is attached as a mounted file system, and no device reaches a running container; use a persistent disk of the instance group';
  if ((properties['name'] ?? undefined) !== undefined)
    throw new ProductError('NOT_SUPPORTED', `a dynamic disk (${place.path}.name) ${whyAndNext}`);
  const mode = optionalStringAt(properties['volume_mode'], child(place, 'volume_mode')) ?? 'Filesystem';
  if (mode === 'Block')
    throw new ProductError('NOT_SUPPORTED', `a block volume (${place.path}.volume_mode) ${whyAndNext}`);
  if (mode !== 'Filesystem') throw invalidValue(child(place, 'volume_mode'), 'has to be Filesystem');
}

import { ProductError } from '../../errors/product-error.ts';
import type { Json, Location } from '../input.ts';
import { child, optionalStringAt, invalidValue } from '../input.ts';

/**
 * Rejects disks that must be block devices with NOT_SUPPORTED, by their cloud_properties and before any
 * change. The director gives a dynamic disk a `name`, and the agent passes the path of its device to jobs
 * (bosh-agent: SetupDynamicDisk); a volume of volume_mode Block is a device. A running container can only get
 * a mount, under every profile.
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

import type { CallContext } from '../cloud.ts';
import type { Location } from '../input.ts';
import { child, positiveIntegerAt, recordAt, rejectUnknownKeys } from '../input.ts';

/** cloud_properties that create_vm turns into requests of exactly that much; MiB, cores, MiB. */
export interface CalculatedProperties {
  readonly cpu: number;
  readonly memory: number;
  readonly ephemeral_disk: { readonly size: number };
}

/**
 * calculate_vm_cloud_properties({ram MiB, cpu cores, ephemeral_disk_size MiB}): the cloud_properties of a VM of that
 * size. Asks nobody; each key stands at the top, so that an extension can override one without losing the others.
 */
export async function calculateVmCloudProperties(
  _cloud: CallContext,
  args: readonly unknown[],
): Promise<CalculatedProperties> {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'calculate_vm_cloud_properties' };
  const asked = recordAt(args[0], place);
  rejectUnknownKeys(asked, ['ram', 'cpu', 'ephemeral_disk_size'], place);
  return Promise.resolve({
    cpu: positiveIntegerAt(asked['cpu'], child(place, 'cpu')),
    memory: positiveIntegerAt(asked['ram'], child(place, 'ram')),
    ephemeral_disk: {
      size: positiveIntegerAt(asked['ephemeral_disk_size'], child(place, 'ephemeral_disk_size')),
    },
  });
}

import type { Pod } from '../../kubernetes/pod.ts';
import { annotation } from '../labels.ts';
import { multus } from './network-attachments.ts';

/** Returns the fixed addresses that a VM's pod was created with, for messages; undefined if it has none. */
export function requestedAddresses({ metadata: { annotations = {} } }: Pod): string | undefined {
  const attached = annotations[multus.networks];
  const all = [
    annotations[annotation.ipAddress],
    attached?.includes('"ips"') === true ? attached : undefined,
  ];
  const given = all.filter((text) => text !== undefined);
  return given.length === 0 ? undefined : given.join(' and ');
}

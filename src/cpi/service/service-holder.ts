import type { Service } from '../../kubernetes/service.ts';
import { label } from '../labels.ts';

/**
 * Returns the selector for the pod of that VM; attachment pods carry its label too, so the kind is part of
 * it.
 */
export const vmSelector = (cid: string): Record<string, string> => ({
  [label.kind]: 'vm',
  [label.vmId]: cid,
});

/** Returns the VM to which a single-VM Service sends traffic; undefined for a shared one. */
export const selectedVm = ({ spec }: Service): string | undefined => spec.selector?.[label.vmId];

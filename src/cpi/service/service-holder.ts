import type { Service } from '../../kubernetes/service.ts';
import { label } from '../labels.ts';

/** Pods of that VM: attachments carry its label too. */
export const vmSelector = (cid: string): Record<string, string> => ({
  [label.kind]: 'vm',
  [label.vmId]: cid,
});

/** The VM that a Service of one VM passes traffic to; undefined for a shared one. */
export const selectedVm = ({ spec }: Service): string | undefined => spec.selector?.[label.vmId];

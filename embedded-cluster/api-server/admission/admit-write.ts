import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { assertNoEscalation } from '../access/escalation.ts';
import type { User } from '../access/user.ts';
import type { MutableObject, Kind } from '../kinds/kind.ts';
import type { Registry } from '../registry/registry.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { admitPodSecurity, validateNamespaceLabels } from './pod-security/admit-pod-security.ts';
import { admitQuota } from './quota/admit-quota.ts';

/** A valid write that is not stored yet. */
export interface AdmittedWrite {
  readonly draft: MutableObject;
  /** The stored object; undefined for a create. */
  readonly current: StoredObject | undefined;
  /** Absent if the control plane itself writes. */
  readonly user: User | undefined;
  readonly warn: (message: string) => void;
}

/**
 * Applies validating admission to a write that is already valid: no escalation of rights, Pod Security, and
 * quotas last. Not for writes of /status. Throws ApiError 403, and 422 for a Namespace's labels.
 */
export function admitWrite(registry: Registry, kind: Kind, write: AdmittedWrite): void {
  const { draft, current, user, warn } = write;
  if (user !== undefined) assertNoEscalation(registry, kind, { user, draft, current });
  if (kind.name === 'Pod' && current === undefined) admitPodSecurity(registry, draft as unknown as Pod, warn);
  if (kind.name === 'Namespace') validateNamespaceLabels(registry, { draft, current, warn });
  if (kind.resource.namespaced) admitQuota(registry, kind, { draft, current });
}

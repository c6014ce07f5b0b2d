import type { Pod } from '../../../kubernetes/pod.ts';
import { assertNoEscalation } from '../access/escalation.ts';
import type { User } from '../access/user.ts';
import type { MutableObject, Kind } from '../kinds/kind.ts';
import type { Registry } from '../registry/registry.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { admitPodSecurity, validateNamespaceLabels } from './pod-security/admit-pod-security.ts';
import { admitQuota } from './quota/admit-quota.ts';

/** A write that is valid, on its way into the store. */
export interface AdmittedWrite {
  readonly draft: MutableObject;
  /** Of an update. */
  readonly current: StoredObject | undefined;
  /** Absent: the control plane itself. */
  readonly user: User | undefined;
  readonly warn: (message: string) => void;
}

/**
 * What policy says about a write once it is known to be valid, as validating admission does: nobody gives rights that
 * they do not have, Pod Security, and quotas last. Not for /status. Throws ApiError 403, for a Namespace's labels 422.
 */
export function admitWrite(registry: Registry, kind: Kind, write: AdmittedWrite): void {
  const { draft, current, user, warn } = write;
  if (user !== undefined) assertNoEscalation(registry, kind, { user, draft, current });
  if (kind.name === 'Pod' && current === undefined) admitPodSecurity(registry, draft as unknown as Pod, warn);
  if (kind.name === 'Namespace') validateNamespaceLabels(registry, { draft, current, warn });
  if (kind.resource.namespaced) admitQuota(registry, kind, { draft, current });
}

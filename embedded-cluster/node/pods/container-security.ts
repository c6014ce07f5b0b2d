import type { Container, Pod, SecurityProfile } from '../../../src/kubernetes/types/pod.ts';
import { boundingSet } from '../runtime/capabilities.ts';
import type { ContainerSecurity } from '../runtime/container-runtime.ts';
import { primaryGroup } from '../image/image-accounts.ts';
import { hasBidirectionalMount } from './shares-mounts.ts';

/**
 * Returns the user and group of a container: its own, the pod's, or root. If only the user is set, the group
 * is the user's primary group in the image (CRI: runAsGroup).
 */
export function userAndGroups(
  pod: Pod,
  { securityContext = {} }: Container,
): { user: number; group: number } {
  const shared = pod.spec.securityContext ?? {};
  const user = securityContext.runAsUser ?? shared.runAsUser ?? 0;
  return { user, group: securityContext.runAsGroup ?? shared.runAsGroup ?? primaryGroup(user) };
}

/** Returns the container's security settings, exactly as its spec requests them. */
export function containerSecurity(pod: Pod, container: Container): ContainerSecurity {
  const own = container.securityContext ?? {};
  return {
    boundingSet: boundingSet({
      privileged: own.privileged === true,
      ownUserNamespace: !hasBidirectionalMount(pod),
      add: own.capabilities?.add ?? [],
      drop: own.capabilities?.drop ?? [],
    }),
    noNewPrivileges: own.allowPrivilegeEscalation === false,
    readOnlyRoot: own.readOnlyRootFilesystem === true,
    ...userAndGroups(pod, container),
  };
}

/**
 * Returns the settings of a container's securityContext that the node does not support, as the rest of a
 * sentence; `undefined` if it supports all of them.
 */
export function unsupportedSecurity(pod: Pod, container: Container): string | undefined {
  const own = container.securityContext ?? {};
  const shared = pod.spec.securityContext ?? {};
  const nonRoot = own.runAsNonRoot ?? shared.runAsNonRoot ?? false;
  if (nonRoot && userAndGroups(pod, container).user === 0)
    return 'has runAsNonRoot and would run as root: set runAsUser';
  return (
    unsupportedProfile('seccompProfile', own.seccompProfile ?? shared.seccompProfile) ??
    unsupportedProfile('appArmorProfile', own.appArmorProfile ?? shared.appArmorProfile)
  );
}

/**
 * The node has neither seccomp filters nor AppArmor profiles. A container that requests one must not run
 * without it.
 */
const unsupportedProfile = (field: string, profile: SecurityProfile | undefined): string | undefined =>
  profile === undefined || profile.type === 'Unconfined'
    ? undefined
    : `asks for ${field} ${profile.type}, and the embedded node has none: leave it out or set Unconfined`;

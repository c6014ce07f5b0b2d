import type { Container, PodSpec, SecurityProfile } from '../../../../src/kubernetes/types/pod.ts';
import { type Cause, invalidValue, required } from '../../errors/field-causes.ts';
import { checkEnum } from './one-of.ts';

/**
 * Returns the causes for a container's securityContext (kubernetes: pkg/apis/core/validation,
 * ValidateSecurityContext).
 */
export function checkContainerSecurity(at: string, { securityContext = {} }: Container): Cause[] {
  const { privileged, allowPrivilegeEscalation, capabilities } = securityContext;
  const contradicts = (what: string): Cause =>
    invalidValue(at, securityContext, `cannot set \`allowPrivilegeEscalation\` to false and ${what}`);
  return [
    ...(allowPrivilegeEscalation === false && privileged === true
      ? [contradicts('`privileged` to true')]
      : []),
    ...(allowPrivilegeEscalation === false && capabilities?.add?.includes('CAP_SYS_ADMIN') === true
      ? [contradicts('`capabilities.Add` CAP_SYS_ADMIN')]
      : []),
    ...checkIds(at, securityContext),
    ...checkProfiles(at, securityContext),
  ];
}

/** Returns the causes for the securityContext of a pod. */
export function checkPodSecurity(at: string, { securityContext = {} }: PodSpec): Cause[] {
  return [...checkIds(at, securityContext), ...checkProfiles(at, securityContext)];
}

interface Security {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly seccompProfile?: SecurityProfile;
  readonly appArmorProfile?: SecurityProfile;
}

function checkIds(at: string, security: Security): Cause[] {
  return (['runAsUser', 'runAsGroup'] as const).flatMap((name) => {
    const id = security[name];
    return id === undefined || (id >= 0 && id <= 2_147_483_647)
      ? []
      : [invalidValue(`${at}.${name}`, id, 'must be between 0 and 2147483647, inclusive')];
  });
}

function checkProfiles(at: string, { seccompProfile, appArmorProfile }: Security): Cause[] {
  return [
    ...checkProfile(`${at}.seccompProfile`, seccompProfile, 'seccomp'),
    ...checkProfile(`${at}.appArmorProfile`, appArmorProfile, 'AppArmor'),
  ];
}

function checkProfile(at: string, profile: SecurityProfile | undefined, kind: string): Cause[] {
  if (profile === undefined) return [];
  const { localhostProfile } = profile;
  const type: string = profile.type ?? '';
  return [
    ...(type === ''
      ? [required(`${at}.type`)]
      : checkEnum(`${at}.type`, type, ['Localhost', 'RuntimeDefault', 'Unconfined'])),
    ...(type === 'Localhost' && (localhostProfile ?? '') === '' ? [required(`${at}.localhostProfile`)] : []),
    ...(type !== 'Localhost' && localhostProfile !== undefined
      ? [
          invalidValue(
            `${at}.localhostProfile`,
            localhostProfile,
            `can only be set when ${kind} type is Localhost`,
          ),
        ]
      : []),
  ];
}

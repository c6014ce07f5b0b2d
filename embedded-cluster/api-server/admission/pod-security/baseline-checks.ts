import type { Pod, SecurityProfile } from '../../../../src/kubernetes/types/pod.ts';
import { allContainers } from '../../kinds/pod/pod-defaults.ts';
import {
  containersMatching,
  uniqueSorted,
  named,
  plural,
  quoted,
  podAndContainers,
  type SecurityCheck,
  type Violation,
} from './violation.ts';

const defaultCapabilities = new Set(
  `AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT`.split(
    ' ',
  ),
);

const isBad = (profile: SecurityProfile | undefined): boolean =>
  profile !== undefined && !['RuntimeDefault', 'Localhost'].includes(profile.type);

/**
 * Finds the pod and containers that set a profile of that kind to a value that takes protection away, and
 * returns these values.
 */
function badProfiles(
  pod: Pod,
  key: 'seccompProfile' | 'appArmorProfile',
): { readonly who: string; readonly types: string[] } | undefined {
  const own = pod.spec.securityContext?.[key];
  const bad = allContainers(pod.spec).filter(({ securityContext }) => isBad(securityContext?.[key]));
  if (!isBad(own) && bad.length === 0) return undefined;
  const profiles = [
    ...(isBad(own) ? [own] : []),
    ...bad.map(({ securityContext }) => securityContext?.[key]),
  ];
  const names = bad.map(({ name }) => name);
  return {
    who: podAndContainers(isBad(own), names),
    types: uniqueSorted(profiles.map((profile) => profile?.type ?? '')),
  };
}

const appArmor: SecurityCheck = (pod) => {
  const bad = badProfiles(pod, 'appArmorProfile');
  return (
    bad && {
      reason: plural('forbidden AppArmor profile', bad.types.length),
      detail: `${bad.who} must not set AppArmor profile type to ${quoted(bad.types)}`,
    }
  );
};

const capabilities: SecurityCheck = (pod) => {
  const added = allContainers(pod.spec).map(({ name, securityContext }) => ({
    name,
    more: (securityContext?.capabilities?.add ?? []).filter(
      (capability) => !defaultCapabilities.has(capability),
    ),
  }));
  const bad = added.filter(({ more }) => more.length > 0);
  if (bad.length === 0) return undefined;
  const names = bad.map(({ name }) => name);
  const list = quoted(uniqueSorted(bad.flatMap(({ more }) => more)));
  return {
    reason: 'non-default capabilities',
    detail: `${named('container', names)} must not include ${list} in securityContext.capabilities.add`,
  };
};

const hostNamespaces: SecurityCheck = ({ spec }) => {
  const shared = (['hostNetwork', 'hostPID'] as const).filter((key) => spec[key] === true);
  return shared.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: shared.map((key) => `${key}=true`).join(', ') };
};

const hostPaths: SecurityCheck = ({ spec }) => {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  return names.length === 0 ? undefined : { reason: 'hostPath volumes', detail: named('volume', names) };
};

const hostPorts: SecurityCheck = (pod) => {
  const names = containersMatching(pod, ({ ports = [] }) => ports.some(({ hostPort = 0 }) => hostPort !== 0));
  if (names.length === 0) return undefined;
  const all = allContainers(pod.spec).flatMap(({ ports = [] }) => ports.map(({ hostPort = 0 }) => hostPort));
  const used = uniqueSorted(all.filter((port) => port !== 0).map(String));
  const verb = names.length === 1 ? 'uses' : 'use';
  return {
    reason: 'hostPort',
    detail: `${named('container', names)} ${verb} ${plural('hostPort', used.length)} ${used.join(', ')}`,
  };
};

const privileged: SecurityCheck = (pod) => {
  const names = containersMatching(pod, ({ securityContext }) => securityContext?.privileged === true);
  return names.length === 0
    ? undefined
    : {
        reason: 'privileged',
        detail: `${named('container', names)} must not set securityContext.privileged=true`,
      };
};

export const seccomp: SecurityCheck = (pod): Violation | undefined => {
  const bad = badProfiles(pod, 'seccompProfile');
  return (
    bad && {
      reason: 'seccompProfile',
      detail: `${bad.who} must not set securityContext.seccompProfile.type to ${quoted(bad.types)}`,
    }
  );
};

/**
 * The level `baseline`, in the order of upstream's ids (pod-security-admission/policy). Checks that are
 * missing here (hostIPC, procMount, seLinuxOptions, sysctls, hosts of probes, host processes) are about
 * fields that no pod here can have.
 */
export const baselineChecks = {
  appArmor,
  capabilities,
  hostNamespaces,
  hostPaths,
  hostPorts,
  privileged,
  seccomp,
};

import { allContainers } from '../../kinds/pod/pod-defaults.ts';
import { seccomp } from './baseline-checks.ts';
import { containersMatching, uniqueSorted, named, plural, quoted, podAndContainers } from './violation.ts';
import type { SecurityCheck } from './violation.ts';

const allowPrivilegeEscalation: SecurityCheck = (pod) => {
  const names = containersMatching(
    pod,
    ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
  );
  return names.length === 0
    ? undefined
    : {
        reason: 'allowPrivilegeEscalation != false',
        detail: `${named('container', names)} must set securityContext.allowPrivilegeEscalation=false`,
      };
};

const capabilities: SecurityCheck = (pod) => {
  const keeping = containersMatching(
    pod,
    ({ securityContext }) => securityContext?.capabilities?.drop?.includes('ALL') !== true,
  );
  const extra = (add: readonly string[] = []): string[] => add.filter((name) => name !== 'NET_BIND_SERVICE');
  const adding = allContainers(pod.spec).filter(
    ({ securityContext }) => extra(securityContext?.capabilities?.add).length > 0,
  );
  const added = uniqueSorted(
    adding.flatMap(({ securityContext }) => extra(securityContext?.capabilities?.add)),
  );
  const names = adding.map(({ name }) => name);
  const details = [
    ...(keeping.length === 0
      ? []
      : [`${named('container', keeping)} must set securityContext.capabilities.drop=["ALL"]`]),
    ...(names.length === 0
      ? []
      : [
          `${named('container', names)} must not include ${quoted(added)} in securityContext.capabilities.add`,
        ]),
  ];
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

const volumes: SecurityCheck = ({ spec }) => {
  // All other volume sources that this server supports are allowed.
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  const verb = names.length === 1 ? 'uses' : 'use';
  return names.length === 0
    ? undefined
    : {
        reason: 'restricted volume types',
        detail: `${named('volume', names)} ${verb} ${plural('restricted volume type', 1)} "hostPath"`,
      };
};

const runAsNonRoot: SecurityCheck = (pod) => {
  const own = pod.spec.securityContext?.runAsNonRoot;
  const explicit = containersMatching(pod, ({ securityContext }) => securityContext?.runAsNonRoot === false);
  const reason = 'runAsNonRoot != true';
  if (own === false || explicit.length > 0) {
    const who = podAndContainers(own === false, explicit);
    return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  }
  const unset = containersMatching(
    pod,
    ({ securityContext }) => own !== true && securityContext?.runAsNonRoot === undefined,
  );
  if (unset.length === 0) return undefined;
  return {
    reason,
    detail: `pod or ${named('container', unset)} must set securityContext.runAsNonRoot=true`,
  };
};

const runAsUser: SecurityCheck = (pod) => {
  const own = pod.spec.securityContext?.runAsUser === 0;
  const names = containersMatching(pod, ({ securityContext }) => securityContext?.runAsUser === 0);
  return own || names.length > 0
    ? { reason: 'runAsUser=0', detail: `${podAndContainers(own, names)} must not set runAsUser=0` }
    : undefined;
};

const seccompProfile: SecurityCheck = (pod) => {
  const bad = seccomp(pod);
  if (bad !== undefined) return bad;
  const own = pod.spec.securityContext?.seccompProfile;
  const silent = containersMatching(
    pod,
    ({ securityContext }) => own === undefined && securityContext?.seccompProfile === undefined,
  );
  if (silent.length === 0) return undefined;
  const who = named('container', silent);
  return {
    reason: 'seccompProfile',
    detail: `pod or ${who} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  };
};

/**
 * The checks that `restricted` adds to `baseline`, in the order of upstream's ids
 * (pod-security-admission/policy).
 */
export const restrictedChecks = {
  allowPrivilegeEscalation,
  capabilities,
  volumes,
  runAsNonRoot,
  runAsUser,
  seccompProfile,
};

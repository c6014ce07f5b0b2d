import type { Container, Pod } from '../../../src/kubernetes/types/pod.ts';
import { userAndGroups, unsupportedSecurity } from './container-security.ts';
import { isMapped, type IdRange } from '../runtime/user-namespace.ts';

type Check = (container: Container, pod: Pod, ids: readonly IdRange[]) => string | undefined;

const limits: Check = ({ resources = {} }) =>
  Object.keys(resources.limits ?? {}).length === 0
    ? undefined
    : 'has resource limits, which the embedded node cannot enforce: leave them out';

const terminal: Check = ({ stdin, tty }) =>
  stdin === true || tty === true
    ? 'asks for stdin or a terminal, which the embedded node gives to exec only'
    : undefined;

const hostPort: Check = ({ ports = [] }, pod) =>
  pod.spec.hostNetwork !== true && ports.some((port) => port.hostPort !== undefined)
    ? 'asks for a hostPort, which the embedded node does not forward'
    : undefined;

const command: Check = (container) =>
  (container.command ?? container.args ?? []).length === 0
    ? 'has no command, and the host-root image brings none'
    : undefined;

const sharedMounts: Check = ({ volumeMounts = [], securityContext = {} }, pod) => {
  if (!volumeMounts.some((mount) => mount.mountPropagation === 'Bidirectional')) {
    return undefined;
  }
  if (securityContext.privileged !== true) {
    return 'has Bidirectional mounts, which need privileged: true';
  }
  return pod.spec.hostPID === true
    ? undefined
    : 'has Bidirectional mounts, which need hostPID: true on the embedded node: it cannot lock a /proc of their own';
};

const security: Check = (container, pod) => unsupportedSecurity(pod, container);

const user: Check = (container, pod, ids) => {
  const { user: uid, group: gid } = userAndGroups(pod, container);
  return isMapped(ids, uid) && isMapped(ids, gid)
    ? undefined
    : `wants to run as ${uid}:${gid}, an id that this machine does not give to the cluster: give its user ` +
        'subordinate ids (/etc/subuid, /etc/subgid and newuidmap), or run it as root';
};

const checks: readonly Check[] = [limits, terminal, hostPort, command, sharedMounts, security, user];

/** Returns a sentence that says why the node cannot run this pod; `undefined` if it can. */
export function findUnsupported(pod: Pod, ids: readonly IdRange[]): string | undefined {
  const { runtimeClassName } = pod.spec;
  if (runtimeClassName !== undefined)
    return `the pod wants the RuntimeClass ${runtimeClassName}, and the embedded node has one runtime only`;
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    for (const check of checks) {
      const problem = check(container, pod, ids);
      if (problem !== undefined) {
        return `container ${container.name} ${problem}`;
      }
    }
  }
  return undefined;
}

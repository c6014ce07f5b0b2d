import type { Container, Pod } from '../../../kubernetes/pod.ts';
import { hasId, type IdRange } from '../runtime/user-namespace.ts';

function containerProblem(pod: Pod, container: Container, ids: readonly IdRange[]): string | undefined {
  const { name, securityContext = {}, resources = {} } = container;
  if (Object.keys(resources.limits ?? {}).length > 0) {
    return `container ${name} has resource limits, which the embedded node cannot enforce: leave them out`;
  }
  if (container.stdin === true || container.tty === true) {
    return `container ${name} asks for stdin or a terminal, which the embedded node gives to exec only`;
  }
  if (container.ports?.some((port) => port.hostPort !== undefined && pod.spec.hostNetwork !== true)) {
    return `container ${name} asks for a hostPort, which the embedded node does not forward`;
  }
  if ((container.command ?? container.args ?? []).length === 0) {
    return `container ${name} has no command, and the host-root image brings none`;
  }
  const bidirectional = container.volumeMounts?.find((mount) => mount.mountPropagation === 'Bidirectional');
  if (bidirectional !== undefined && securityContext.privileged !== true) {
    return `container ${name}: Bidirectional mounts need privileged: true`;
  }
  if (bidirectional !== undefined && pod.spec.hostPID !== true) {
    return (
      `container ${name}: Bidirectional mounts need hostPID: true on the embedded node, ` +
      'which cannot lock the kernel settings of a /proc of their own'
    );
  }
  const user = securityContext.runAsUser ?? pod.spec.securityContext?.runAsUser ?? 0;
  const group = securityContext.runAsGroup ?? pod.spec.securityContext?.runAsGroup ?? 0;
  if (!hasId(ids, user) || !hasId(ids, group)) {
    return (
      `container ${name} wants to run as ${user}:${group}, an id that this machine does not give to the cluster: ` +
      'give its user subordinate ids (/etc/subuid, /etc/subgid and newuidmap), or run it as root'
    );
  }
  return undefined;
}

/** Why the node cannot run that pod as it is written, in a sentence; `undefined` when it can. */
export function findUnsupported(pod: Pod, ids: readonly IdRange[]): string | undefined {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return containers
    .map((container) => containerProblem(pod, container, ids))
    .find((problem) => problem !== undefined);
}

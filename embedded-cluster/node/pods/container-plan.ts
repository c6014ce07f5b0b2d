import type { Container, Pod, PodSpec, VolumeMount } from '../../../src/kubernetes/types/pod.ts';
import type { ContainerMount, ContainerPlan, PodNamespaces } from '../runtime/container-runtime.ts';
import type { ReadyVolume } from '../volumes/volume-planner.ts';
import { hostRootFiles } from '../host-root/host-root-files.ts';
import { resolveSubPath, VolumeError } from '../volumes/sub-path.ts';
import { containerSecurity } from './container-security.ts';

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface PodContext {
  readonly hostname: string;
  readonly address: string;
  readonly volumes: ReadonlyMap<string, ReadyVolume>;
  readonly namespaces: PodNamespaces | undefined;
  /** Variables that every container gets before its own ones. */
  readonly environment?: ReadonlyMap<string, string>;
}

export interface ContainerRun {
  readonly id: string;
  /** The file on the node that the container sees at its terminationMessagePath. */
  readonly terminationMessage: string;
}

/** By index: a regular expression starts a new match at each slash of a path that consists of slashes. */
function withoutSlashesAtEnd(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function containerMount(mount: VolumeMount, volumes: ReadonlyMap<string, ReadyVolume>): ContainerMount {
  const volume = volumes.get(mount.name);
  if (volume === undefined) {
    throw new VolumeError(`there is no volume ${mount.name} for ${mount.mountPath}`);
  }
  const { path, kind } =
    mount.subPath === undefined || mount.subPath === ''
      ? { path: volume.path, kind: 'directory' as const }
      : resolveSubPath(volume.path, mount.subPath);
  return {
    source: path,
    target: resolveInRoot(withoutSlashesAtEnd(mount.mountPath)),
    kind,
    readOnly: volume.readOnly || mount.readOnly === true,
    propagation: mount.mountPropagation ?? 'None',
  };
}

/**
 * Returns the path at which the kernel mounts a volume for /var/run/secrets: the target of the image's
 * symlink.
 */
function resolveInRoot(path: string): string {
  const link = hostRootFiles.symlinks.find(
    ([from, to]) => to.startsWith('/run') && path.startsWith(`${from}/`),
  );
  return link === undefined ? path : `${link[1]}${path.slice(link[0].length)}`;
}

/** Returns the container's environment. Throws if the values would be longer than a program can receive. */
export function environmentOf(
  container: Container,
  { hostname, environment: given }: Pick<PodContext, 'hostname' | 'environment'>,
  expansion = new Expansion(),
): Map<string, string> {
  const environment = new Map([
    ...(given ?? []),
    ['PATH', searchPath],
    ['HOSTNAME', hostname],
    ['HOME', '/root'],
  ]);
  for (const { name, value = '' } of container.env ?? []) {
    environment.set(name, expansion.expand(value, environment, `the environment variable ${name}`));
  }
  return environment;
}

/** Returns the variables by which pods find the API (kubelet: the variables of the service `kubernetes`). */
export function apiEnvironment({ hostname, port }: URL): Map<string, string> {
  return new Map([
    ['KUBERNETES_SERVICE_HOST', hostname],
    ['KUBERNETES_SERVICE_PORT', port],
  ]);
}

/** kubelet's managed /etc/hosts (kubelet_pods.go, managedHostsFileContent). */
function hostsFile(hostname: string, address: string): string {
  return [
    '127.0.0.1\tlocalhost',
    '::1\tlocalhost ip6-localhost ip6-loopback',
    `${address}\t${hostname}`,
    '',
  ].join('\n');
}

/**
 * Returns a resolv.conf only if the pod has its own name servers: the image's file has the machine's name
 * servers (kubelet: pkg/kubelet/network/dns).
 */
function resolverFile({ dnsPolicy, dnsConfig }: PodSpec): [string, string][] {
  if (dnsPolicy !== 'None' || dnsConfig === undefined) return [];
  const { nameservers = [], searches = [], options = [] } = dnsConfig;
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...nameservers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.map(formatDnsOption).join(' ')}`] : []),
  ];
  return [['/etc/resolv.conf', `${lines.join('\n')}\n`]];
}

const formatDnsOption = ({ name = '', value }: { readonly name?: string; readonly value?: string }): string =>
  value === undefined ? name : `${name}:${value}`;

/**
 * Returns the plan by which the runtime runs a container of a pod, which has its volumes and its address
 * already.
 */
export function containerPlan(
  pod: Pod,
  container: Container,
  context: PodContext,
  run: ContainerRun,
): ContainerPlan {
  const { hostname, address, volumes, namespaces } = context;
  const expansion = new Expansion();
  const environment = environmentOf(container, context, expansion);
  const command = [...(container.command ?? []), ...(container.args ?? [])].map((text, index) =>
    expansion.expand(text, environment, `word ${index + 1} of the command`),
  );
  const terminationMessage: ContainerMount = {
    source: run.terminationMessage,
    target: container.terminationMessagePath ?? '/dev/termination-log',
    kind: 'file',
    readOnly: false,
    propagation: 'None',
  };
  return {
    id: run.id,
    hostname,
    command,
    environment,
    workingDirectory: container.workingDir ?? '/',
    mounts: [
      ...(container.volumeMounts ?? []).map((mount) => containerMount(mount, volumes)),
      terminationMessage,
    ],
    files: new Map([
      ['/etc/hosts', hostsFile(hostname, address)],
      ['/etc/hostname', `${hostname}\n`],
      ...resolverFile(pod.spec),
    ]),
    security: containerSecurity(pod, container),
    nodePids: pod.spec.hostPID === true,
    namespaces,
  };
}

/**
 * The longest argument or variable that the kernel accepts (execve(2): MAX_ARG_STRLEN, with its final NUL),
 * and the usual limit of all of them together.
 */
const maxBytes = { word: 131_071, all: 2 * 1024 * 1024 };

/**
 * Expands the variables of one container. A variable that contains an earlier one ten times is ten times as
 * long. So a value that is longer than any program can receive is rejected before it is built: all pods share
 * the node's memory.
 */
export class Expansion {
  #total = 0;

  /**
   * Replaces `$(NAME)` by the value of this variable; `$$` is one `$`, and an unknown name stays unchanged
   * (kubernetes: third_party/forked/golang/expansion/expand.go). Throws if the result, which the message
   * calls `what`, or all results together are too long.
   */
  expand(text: string, variables: ReadonlyMap<string, string>, what: string): string {
    const parts: string[] = [];
    let length = 0;
    for (const [match, plain, name] of text.matchAll(/([^$]+)|\$(?:\$|\(([^()]*)\))?/g)) {
      const part = name !== undefined ? (variables.get(name) ?? match) : (plain ?? '$');
      length += Buffer.byteLength(part);
      if (length > maxBytes.word) {
        throw new Error(`${what} would be longer than ${maxBytes.word} bytes, with its variables expanded`);
      }
      parts.push(part);
    }
    this.#total += length;
    if (this.#total > maxBytes.all) {
      throw new Error(`environment and command of the container would be longer than ${maxBytes.all} bytes`);
    }
    return parts.join('');
  }
}

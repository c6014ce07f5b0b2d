import type { Field } from '../../platform/field.ts';
import { httpsRequired } from '../../kubernetes/access/access.ts';
import { pemProblem } from '../../kubernetes/access/pem.ts';

/** The cluster, and the namespaces and nodes in it that a call works on. */
export interface KubernetesConfig extends AccessConfig {
  readonly namespace: string | undefined;
  /** The namespace if neither `namespace` nor the kubeconfig's context has one. */
  readonly defaultNamespace: string | undefined;
  /**
   * The directory in which the kubelet of the nodes keeps its pods; k0s and microk8s differ from the default.
   */
  readonly kubeletRootDirectory: string;
  readonly imagePullSecrets: readonly string[];
  /** The attach strategy of new VMs; each VM keeps the strategy with which it was created. */
  readonly attach: AttachStrategySetting;
  /** The namespace of claims and attachment pods. Undefined: the namespace of the VMs. */
  readonly diskNamespace: string | undefined;
}

/** Parses the section `kubernetes`. Throws INVALID_CONFIG. */
export function parseKubernetes(section: Field): KubernetesConfig {
  section.rejectUnknownKeys([
    ...accessKeys,
    ...['namespace', 'kubelet_root_dir', 'image_pull_secrets'],
    ...['attach', 'disk_namespace'],
  ]);
  return {
    ...parseAccess(section),
    namespace: section.get('namespace').optional()?.nonEmptyString(),
    defaultNamespace: undefined,
    kubeletRootDirectory: readAbsolutePath(section.get('kubelet_root_dir')) ?? '/var/lib/kubelet',
    imagePullSecrets: section.get('image_pull_secrets').strings(),
    attach: section.get('attach').optional()?.oneOf(attachStrategySettings) ?? 'hot',
    diskNamespace: section.get('disk_namespace').optional()?.nonEmptyString(),
  };
}

function readAbsolutePath(field: Field): string | undefined {
  const path = field.optional()?.nonEmptyString();
  if (path !== undefined && (!path.startsWith('/') || path.split('/').includes('..')))
    throw field.error('must be an absolute path without ".."');
  return path?.replace(/\/+$/u, '');
}

/** A server and the credentials for it, without a kubeconfig. */
export interface ServerConfig {
  readonly url: string;
  /**
   * The CA certificates in PEM. If undefined, the runtime's trusted root certificates apply, or those of the
   * service account.
   */
  readonly ca: string | undefined;
  /**
   * Secret. Without a token and a certificate, requests use the service account of the pod that the CPI runs
   * in.
   */
  readonly token: string | undefined;
  /** PEM; always together with `key`. */
  readonly certificate: string | undefined;
  /** Secret. PEM. */
  readonly key: string | undefined;
}

/**
 * The way to the cluster. Without a kubeconfig and a server it is the service account of the pod in which the
 * CPI runs.
 */
export interface AccessConfig {
  /** Object, JSON text or YAML text. Secret. */
  readonly kubeconfig: unknown;
  /** A context of the kubeconfig. Undefined: its current-context. */
  readonly context: string | undefined;
  readonly server: ServerConfig | undefined;
}

/** Keys that replace the whole access configuration of an earlier layer. */
export const accessSources = ['kubeconfig', 'server'] as const;
const serverOnlyKeys = ['ca', 'token', 'client_certificate', 'client_key'] as const;
export const accessKeys: readonly string[] = [...accessSources, 'context', ...serverOnlyKeys];

/** Parses the access keys of the section `kubernetes`. Throws INVALID_CONFIG. */
export function parseAccess(section: Field): AccessConfig {
  const kubeconfig = section.get('kubeconfig');
  const server = section.get('server');
  const context = section.get('context');
  if (kubeconfig.isPresent && server.isPresent)
    throw server.error('and kubeconfig are two ways to a cluster; give one of them');
  if (context.isPresent && !kubeconfig.isPresent)
    throw context.error('names a context of a kubeconfig, but there is none');
  return {
    kubeconfig: kubeconfig.value,
    context: context.optional()?.nonEmptyString(),
    server: parseServer(section),
  };
}

function parseServer(section: Field): ServerConfig | undefined {
  const url = section.get('server');
  if (!url.isPresent) {
    const other = serverOnlyKeys.map((name) => section.get(name)).find(({ isPresent }) => isPresent);
    if (other === undefined) return undefined;
    throw other.error('needs kubernetes.server');
  }
  const [ca, token, certificate, key] = serverOnlyKeys.map((name) =>
    section.get(name).optional()?.nonEmptyString(),
  );
  if ((certificate === undefined) !== (key === undefined)) {
    throw section.error('has only one of client_certificate and client_key; it needs both');
  }
  for (const [name, pem] of [
    ['ca', ca],
    ['client_certificate', certificate],
    ['client_key', key],
  ] as const) {
    const problem = pem && pemProblem(pem, name === 'client_key' ? 'key' : 'certificate');
    if (problem !== undefined) throw section.get(name).error(problem);
  }
  return { url: serverUrl(url), ca, token, certificate, key };
}

function serverUrl(field: Field): string {
  const text = field.nonEmptyString();
  if (!URL.canParse(text)) throw field.error('is not a URL');
  const url = new URL(text);
  const isBare = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url.protocol !== 'https:') throw field.error(httpsRequired);
  if (!isBare) throw field.error('must have host, port and path only');
  return (url.origin + url.pathname).replace(/\/+$/u, '');
}

/** How a VM gets its disks: `hot` into the running pod, `recreate` with a recreated pod. */
export type AttachStrategy = 'hot' | 'recreate';

/** `auto`: hot if the cluster admits an attachment pod; decided when the VM is made. */
export type AttachStrategySetting = (typeof attachStrategySettings)[number];
const attachStrategySettings = ['hot', 'recreate', 'auto'] as const satisfies readonly (
  | AttachStrategy
  | 'auto'
)[];

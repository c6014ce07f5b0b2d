import {
  type Location,
  child,
  optionalStringAt,
  recordAt,
  rejectUnknownKeys,
  stringAt,
  stringsAt,
  invalidValue,
  type Json,
} from '../input.ts';
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
  /** The attach strategy of new VMs; each VM keeps the one that it was made with. */
  readonly attach: AttachStrategySetting;
  /** The namespace of claims and attachment pods. Undefined: the namespace of the VMs. */
  readonly diskNamespace: string | undefined;
}

/** Parses the section `kubernetes`. Throws INVALID_CONFIG. */
export function parseKubernetes(value: unknown, place: Location): KubernetesConfig {
  const section = recordAt(value, place);
  rejectUnknownKeys(
    section,
    [
      ...accessKeys,
      ...['namespace', 'kubelet_root_dir', 'image_pull_secrets'],
      ...['attach', 'disk_namespace'],
    ],
    place,
  );
  return {
    ...parseAccess(section, place),
    namespace: optionalStringAt(section['namespace'], child(place, 'namespace')),
    defaultNamespace: undefined,
    kubeletRootDirectory: readAbsolutePath(section['kubelet_root_dir'], child(place, 'kubelet_root_dir')),
    imagePullSecrets: stringsAt(section['image_pull_secrets'], child(place, 'image_pull_secrets')),
    attach: readAttachStrategy(section['attach'], child(place, 'attach')),
    diskNamespace: optionalStringAt(section['disk_namespace'], child(place, 'disk_namespace')),
  };
}

function readAbsolutePath(value: unknown, place: Location): string {
  if (value === undefined || value === null) return '/var/lib/kubelet';
  const path = stringAt(value, place);
  if (!path.startsWith('/') || path.split('/').includes('..')) {
    throw invalidValue(place, 'has to be an absolute path without ".."');
  }
  return path.replace(/\/+$/u, '');
}

/** A server and the credentials for it, without a kubeconfig. */
export interface ServerConfig {
  readonly url: string;
  /** PEM. Undefined: the root certificates that the runtime trusts, or those of the service account. */
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
 * How the cluster is reached. With neither kubeconfig nor server: by the service account of the pod that the
 * CPI runs in.
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
export function parseAccess(section: Json, place: Location): AccessConfig {
  const kubeconfig = section['kubeconfig'] ?? undefined;
  const url = optionalStringAt(section['server'], child(place, 'server'));
  const context = optionalStringAt(section['context'], child(place, 'context'));
  if (kubeconfig !== undefined && url !== undefined) {
    throw invalidValue(child(place, 'server'), 'and kubeconfig are two ways to a cluster; give one of them');
  }
  if (context !== undefined && kubeconfig === undefined) {
    throw invalidValue(child(place, 'context'), 'names a context of a kubeconfig, but there is none');
  }
  return { kubeconfig, context, server: parseServer(section, url, place) };
}

function parseServer(section: Json, url: string | undefined, place: Location): ServerConfig | undefined {
  if (url === undefined) {
    for (const name of serverOnlyKeys) {
      if ((section[name] ?? undefined) !== undefined)
        throw invalidValue(child(place, name), 'needs kubernetes.server');
    }
    return undefined;
  }
  const [ca, token, certificate, key] = serverOnlyKeys.map((name) =>
    optionalStringAt(section[name], child(place, name)),
  );
  if ((certificate === undefined) !== (key === undefined)) {
    throw invalidValue(place, 'has only one of client_certificate and client_key; it needs both');
  }
  for (const [name, pem] of [
    ['ca', ca],
    ['client_certificate', certificate],
    ['client_key', key],
  ] as const) {
    const problem = pem && pemProblem(pem, name === 'client_key' ? 'key' : 'certificate');
    if (problem !== undefined) throw invalidValue(child(place, name), problem);
  }
  return { url: serverUrl(url, child(place, 'server')), ca, token, certificate, key };
}

function serverUrl(text: string, place: Location): string {
  if (!URL.canParse(text)) throw invalidValue(place, 'is not a URL');
  const url = new URL(text);
  const isBare = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url.protocol !== 'https:') throw invalidValue(place, httpsRequired);
  if (!isBare) throw invalidValue(place, 'has to have host, port and path only');
  return (url.origin + url.pathname).replace(/\/+$/u, '');
}

/** How a VM gets its disks: `hot` into the running pod, `recreate` with a recreated pod. */
export type AttachStrategy = 'hot' | 'recreate';

/** `auto`: hot if the cluster admits an attachment pod; decided when the VM is made. */
export type AttachStrategySetting = AttachStrategy | 'auto';

/** Reads the configured strategy. Default: hot. */
export function readAttachStrategy(value: unknown, place: Location): AttachStrategySetting {
  if (value === undefined || value === null) return 'hot';
  if (value === 'hot' || value === 'recreate' || value === 'auto') return value;
  throw invalidValue(place, 'has to be hot, recreate or auto');
}

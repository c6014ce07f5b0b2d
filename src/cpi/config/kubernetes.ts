import type { AttachStrategySetting } from '../disk/attach/strategy.ts';
import { readAttachStrategy } from '../disk/attach/strategy.ts';
import type { Location } from '../input.ts';
import {
  child,
  optionalStringAt,
  recordAt,
  rejectUnknownKeys,
  stringAt,
  stringsAt,
  invalidValue,
} from '../input.ts';
import type { AccessConfig } from './access.ts';
import { accessKeys, parseAccess } from './access.ts';

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

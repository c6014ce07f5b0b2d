import { createHash } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';
import {
  containerUid,
  mountCommand,
  type NfsMountSpec,
  type SmbMountSpec,
} from '../driver/mount/mount-command.ts';
import { parseMountConfig } from '../driver/parse-mount-config.ts';
import { parseSecretReference } from '../signature/secret-reference.ts';
import type { VolumeMount } from '../options/volume-mount.ts';

/** The options for the objects of a binding. */
export interface BindingChoice {
  /** The namespace of the pods that use the shares. */
  readonly namespace: string;
  /** If true, SMB shares become inline volumes of the pod, without PersistentVolume and claim. */
  readonly isInline: boolean;
  /** The name of an existing Secret with `username`, `password` and, if needed, `domain` of the SMB share. */
  readonly secret?: string;
  /**
   * If true, the pod may run as the uid and gid of an NFS share to which the driver of Cloud Foundry would
   * map it.
   */
  readonly runsAsOwner: boolean;
}

type Manifest = Readonly<Record<string, unknown>>;

/** The user and group that a container runs as. */
interface Identity {
  readonly runAsUser: number;
  readonly runAsGroup: number;
}

/** The Kubernetes objects for a binding, and the parts of a pod that use them. */
interface BindingVolumes {
  readonly objects: readonly Manifest[];
  readonly volumes: readonly Manifest[];
  readonly volumeMounts: readonly Manifest[];
  readonly identity?: Identity;
}

interface ShareVolume {
  readonly objects: readonly Manifest[];
  /** The source of the pod's volume. */
  readonly source: Manifest;
  readonly identity?: Identity;
}

/** The values that all kinds of shares need. */
interface ObjectLocation {
  readonly name: string;
  readonly choice: BindingChoice;
}

/**
 * Returns the objects for csi-driver-nfs and csi-driver-smb. Throws VOLUME_MOUNT_INVALID if they do not
 * support an option of the binding: no option is ignored silently.
 */
export function volumesOfBinding(shares: readonly VolumeMount[], choice: BindingChoice): BindingVolumes {
  const made = shares.map((share, index) => {
    const name = nameOf(share, choice.namespace);
    return { share, name, volume: volumeOf(share, { name, choice }, `volume_mounts[${index}]`) };
  });
  if (made.length === 0) throw refused('the response to the bind', 'has no share in volume_mounts');
  const twice = made.find(({ name }, index) => made.findIndex((other) => other.name === name) < index);
  if (twice !== undefined)
    throw refused(
      `the volume '${twice.share.volumeId}'`,
      'is in volume_mounts twice; bind once for each folder',
    );
  const identities = made.flatMap(({ volume: { identity } }) => identity ?? []);
  const [identity, ...others] = identities;
  if (others.some((other) => JSON.stringify(other) !== JSON.stringify(identity)))
    throw refused(
      'the shares of the binding',
      'belong to different users, but a pod runs as one user; convert each binding separately',
    );
  return {
    objects: made.flatMap(({ volume }) => volume.objects),
    volumes: made.map(({ name, volume }) => ({ name, ...volume.source })),
    volumeMounts: made.map(({ name, share }) => ({
      name,
      mountPath: share.containerDir,
      ...(share.isReadOnly ? { readOnly: true } : {}),
    })),
    ...(identity === undefined ? {} : { identity }),
  };
}

/**
 * Returns the name of a volume's objects. It is always the same for a volume, so that a repeated apply
 * updates the objects. It depends on the namespace, because PersistentVolumes have none.
 */
function nameOf({ driver, volumeId }: VolumeMount, namespace: string): string {
  const hash = createHash('sha256').update([namespace, driver, volumeId].join('\0')).digest('hex');
  return `cf-volume-${hash.slice(0, 20)}`;
}

const protocols: Readonly<Record<string, 'nfs' | 'smb'>> = { nfsv3driver: 'nfs', smbdriver: 'smb' };

function volumeOf({ driver, config }: VolumeMount, location: ObjectLocation, where: string): ShareVolume {
  const protocol = Object.hasOwn(protocols, driver) ? protocols[driver] : undefined;
  if (protocol === undefined)
    throw refused(where, `is of the driver '${driver}'; only nfsv3driver and smbdriver are supported`);
  const request = parseMountConfig(protocol, config, { noserverino: false, nodfs: false });
  if ('problem' in request) throw refused(where, `has an invalid mount_config:\n${request.problem}`);
  const { spec, login } = request;
  if (login !== undefined)
    throw refused(
      where,
      'has the user of a directory (LDAP), and no driver of Kubernetes looks up the ids of such a user; bind with the uid and gid of that user',
    );
  return spec.kind === 'nfs' ? nfsVolume(spec, location, where) : smbVolume(spec, location, where);
}

function nfsVolume(spec: NfsMountSpec, location: ObjectLocation, where: string): ShareVolume {
  const { host, path, ids } = spec;
  const { isInline, runsAsOwner } = location.choice;
  if (isInline)
    throw refused(where, 'is an NFS share, and csi-driver-nfs has no inline volumes; leave out --inline');
  if (ids !== undefined && !runsAsOwner)
    throw refused(
      where,
      `maps ids: files belong to uid ${ids.uid} and gid ${ids.gid}, and no driver of Kubernetes maps ids; add --run-as-owner, so that the pod runs with these ids, or bind without uid and gid`,
    );
  const csi = { driver: 'nfs.csi.k8s.io', volumeAttributes: { server: host, share: path } };
  return {
    objects: persistent(location, csi, mountOptionsOf(spec)),
    source: claimOf(location),
    ...(ids === undefined ? {} : { identity: { runAsUser: ids.uid, runAsGroup: ids.gid } }),
  };
}

function smbVolume(spec: SmbMountSpec, location: ObjectLocation, where: string): ShareVolume {
  const { name, choice } = location;
  refuseSmb(spec, where);
  const secret = secretOf(spec, location, where);
  const secretName = choice.secret ?? name;
  const attributes = { source: spec.share };
  const mountOptions = mountOptionsOf(spec).filter((option) => !/^(?:username|domain)=/u.test(option));
  // the files of the share belong to this user, as in a Cloud Foundry app
  const identity = { runAsUser: containerUid, runAsGroup: containerUid };
  const driver = 'smb.csi.k8s.io';
  if (choice.isInline) {
    const volumeAttributes = { ...attributes, secretName, mountOptions: mountOptions.join(',') };
    return { objects: secret, source: { csi: { driver, volumeAttributes } }, identity };
  }
  const nodeStageSecretRef = { name: secretName, namespace: choice.namespace };
  const csi = { driver, volumeAttributes: attributes, nodeStageSecretRef };
  return {
    objects: [...secret, ...persistent(location, csi, mountOptions)],
    source: claimOf(location),
    identity,
  };
}

/**
 * Throws if csi-driver-smb would behave differently from the driver of Cloud Foundry (its
 * pkg/smb/nodeserver.go).
 */
function refuseSmb({ security, username, password }: SmbMountSpec, where: string): void {
  if (security?.startsWith('krb5') === true)
    throw refused(where, `has sec=${security}, for which csi-driver-smb needs a ticket that no binding has`);
  if ([username, password].some((text) => text.trim() !== text))
    throw refused(
      where,
      'has a user name or password that begins or ends with a space, which csi-driver-smb cuts off; give the account another one',
    );
  if (password.includes(','))
    throw refused(
      where,
      'has a password with a comma, which ends an option of the mount of csi-driver-smb; give the account another one',
    );
}

function secretOf(spec: SmbMountSpec, { name, choice }: ObjectLocation, where: string): Manifest[] {
  if (choice.secret !== undefined) return [];
  if (parseSecretReference(spec.password) !== undefined)
    throw refused(
      where,
      'has a reference in place of its password, which no driver of Kubernetes reads; make a Secret with username and password, and name it with --secret',
    );
  const { username, password, domain } = spec;
  return [
    {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: choice.namespace } },
      type: 'Opaque',
      stringData: { username, password, ...(domain === undefined ? {} : { domain }) },
    },
  ];
}

/** Returns the mount options of the driver of Cloud Foundry. */
function mountOptionsOf(spec: NfsMountSpec | SmbMountSpec): string[] {
  const { args } = mountCommand(spec, '/');
  return (args[args.indexOf('-o') + 1] ?? '').split(',');
}

const claimOf = ({ name }: ObjectLocation): Manifest => ({ persistentVolumeClaim: { claimName: name } });

/** A share has no size. The claim requests the same size as the volume has. */
const size = { storage: '1Gi' };

/** Returns a PersistentVolume that only this claim can use, and the claim. The share survives both. */
function persistent(
  { name, choice }: ObjectLocation,
  csi: Manifest,
  mountOptions: readonly string[],
): Manifest[] {
  const { namespace } = choice;
  const accessModes = ['ReadWriteMany'];
  return [
    {
      ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name } },
      spec: {
        ...{ capacity: size, accessModes, persistentVolumeReclaimPolicy: 'Retain', storageClassName: '' },
        ...{ claimRef: { namespace, name }, mountOptions, csi: { ...csi, volumeHandle: name } },
      },
    },
    {
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace } },
      spec: { accessModes, storageClassName: '', volumeName: name, resources: { requests: size } },
    },
  ];
}

const refused = (where: string, reason: string): ProductError =>
  new ProductError('VOLUME_MOUNT_INVALID', `nothing was written: ${where} ${reason}`);

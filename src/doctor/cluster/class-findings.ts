import { defaultClassName, findStorageClass } from '../../cpi/disk/classes.ts';
import { zoneLabel } from '../../cpi/vm/placement-properties.ts';
import type { Node } from '../../kubernetes/types/node.ts';
import {
  volumeAnnotations,
  type StorageClass,
  type VolumeAttributesClass,
  type VolumeSnapshotClass,
} from '../../kubernetes/types/storage.ts';
import { met, notAllowed, unchecked, unmet, type Finding, type Requirement } from '../finding.ts';
import { wholeCluster } from './cluster-findings.ts';

/** The classes of a cluster. Undefined: the user may not list them. Empty: also if they are not served. */
export interface Classes {
  readonly classes: readonly StorageClass[] | undefined;
  readonly snapshotClasses: readonly VolumeSnapshotClass[] | undefined;
  readonly attributesClasses: readonly VolumeAttributesClass[] | undefined;
}

const storageClass: Requirement = {
  ...{ check: 'Storage class', neededBy: 'disks of this class', otherwise: 'warning' },
  remedy:
    'make a class with volumeBindingMode: WaitForFirstConsumer, or have VMs with such disks in one zone only',
};

/** The provisioner of classes whose volumes an operator makes. */
const noProvisioner = 'kubernetes.io/no-provisioner';

/** Returns a row for each storage class, with what its disks can do. */
export function classFindings(found: Classes, nodes: readonly Node[] | undefined): Finding[] {
  const { classes } = found;
  if (classes === undefined)
    return [notAllowed(storageClass, wholeCluster, 'list storageclasses.storage.k8s.io')];
  const zones = nodes && new Set(nodes.map(({ metadata }) => metadata.labels?.[zoneLabel]));
  return classes.map((each) => {
    const { name } = each.metadata;
    const detail = describeClass(each, found);
    if (each.volumeBindingMode === 'WaitForFirstConsumer' || (zones !== undefined && zones.size < 2))
      return met(storageClass, name, detail);
    if (zones !== undefined)
      return unmet(storageClass, name, `${detail}; a volume may be in another zone than its VM`);
    return unchecked(storageClass, name, {
      detail: `${detail}; you may not list nodes, so their zones are not known`,
      remedy: `use a kubeconfig with the right to list nodes; if they are in several zones, ${storageClass.remedy}`,
    });
  });
}

function describeClass(
  { provisioner, volumeBindingMode, allowVolumeExpansion, reclaimPolicy, metadata }: StorageClass,
  { classes = [], snapshotClasses, attributesClasses }: Classes,
): string {
  const named = (
    title: string,
    all: readonly { readonly metadata: { readonly name: string } }[] | undefined,
  ): readonly string[] => {
    if (all === undefined) return [`${title}: not known`];
    return all.length === 0 ? [] : [`${title}: ${all.map((each) => each.metadata.name).join(', ')}`];
  };
  return [
    provisioner === noProvisioner ? 'volumes that an operator made' : provisioner,
    ...(defaultClassName(classes) === metadata.name ? ['default'] : []),
    volumeBindingMode === 'WaitForFirstConsumer' ? 'binds at the node of the VM' : 'binds at once',
    allowVolumeExpansion === true ? 'disks grow' : 'larger disks are copied',
    ...(reclaimPolicy === 'Retain' ? ['volumes of deleted disks stay'] : []),
    ...named(
      'snapshots',
      snapshotClasses?.filter(({ driver }) => driver === provisioner),
    ),
    ...named(
      'attributes',
      attributesClasses?.filter(({ driverName }) => driverName === provisioner),
    ),
  ].join(', ');
}

const defaultClass: Requirement = {
  ...{ check: 'Default class', neededBy: 'disks whose type names no storage_class', otherwise: 'warning' },
  remedy: '',
};

/** Returns whether disks whose type names no class have one. */
export function defaultClassFinding({ classes }: Pick<Classes, 'classes'>): Finding {
  if (classes === undefined)
    return notAllowed(defaultClass, wholeCluster, 'list storageclasses.storage.k8s.io');
  const className = defaultClassName(classes);
  if (className !== undefined) {
    const growth =
      findStorageClass(classes, className)?.allowVolumeExpansion === true
        ? 'supports volume expansion'
        : 'no volume expansion: larger disks are copied';
    return met(defaultClass, wholeCluster, `${className} (${growth})`);
  }
  const [other] = classes;
  if (other === undefined) {
    const remedy =
      'install a storage driver or, on a cluster of one node, kubectl apply -f manifests/cluster/volumes.yaml';
    return unmet(
      { ...defaultClass, neededBy: 'persistent disks', otherwise: 'failed', remedy },
      ...([wholeCluster, 'no storage class exists'] as const),
    );
  }
  const remedy = `kubectl annotate storageclass ${other.metadata.name} ${volumeAnnotations.defaultClass}=true`;
  return unmet({ ...defaultClass, remedy }, wholeCluster, 'no class is the default');
}

const snapshotsRequirement: Requirement = {
  ...{ check: 'Snapshots', neededBy: 'snapshot_disk', otherwise: 'warning' },
  remedy:
    'nothing, without snapshots of disks; otherwise install the snapshot controller (kubernetes-csi/external-snapshotter) ' +
    'and a VolumeSnapshotClass of the storage driver',
};

/** Returns whether disks can have snapshots. */
export function snapshotFinding({ snapshotClasses }: Pick<Classes, 'snapshotClasses'>): Finding {
  if (snapshotClasses === undefined)
    return notAllowed(
      snapshotsRequirement,
      wholeCluster,
      'list volumesnapshotclasses.snapshot.storage.k8s.io',
    );
  if (snapshotClasses.length === 0)
    return unmet(snapshotsRequirement, wholeCluster, 'there is no VolumeSnapshotClass');
  const names = snapshotClasses.map(({ metadata, driver }) => `${metadata.name} (${driver})`);
  return met(snapshotsRequirement, wholeCluster, names.join(', '));
}

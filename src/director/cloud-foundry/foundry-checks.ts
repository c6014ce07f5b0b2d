import { findStorageClass, defaultClassName } from '../../cpi/disk/classes.ts';
import { attachmentRequests } from '../../cpi/disk/attach/attachment-pod-spec.ts';
import { addAmounts, type Amounts } from '../../kubernetes/types/usage.ts';
import type { ClusterFacts, ServiceRejection } from '../../doctor/cluster/cluster-facts.ts';
import type { DirectorStemcell } from '../director-stemcell.ts';
import { isNodeAddress, nodeAddress } from '../../doctor/cluster/node-address.ts';
import {
  amountsIn,
  describeRequests,
  describeRoom,
  describeRoomiest,
  fits,
  requestsOf,
  totalRoom,
  type NodeRoom,
} from '../../doctor/cluster/node-room.ts';
import type { Check } from '../preflight-checks.ts';
import { zonesIn } from './choose-variables.ts';
import type { FoundryRecord } from './foundry-record.ts';
import type { Vms } from './layout-vms.ts';
import { foundrySystems, nobleVersion } from './ops-files.ts';
import { systemDomainCheck } from './system-domain-check.ts';
import type { ResolvedName } from './system-domain.ts';

/** The requested Cloud Foundry. */
export interface FoundrySpec extends FoundryRecord {
  readonly namespace: string;
  /**
   * The VMs that exist at the same time: those of the instance groups, and a director that does not
   * exist yet.
   */
  readonly vms: readonly Vms[];
  /** They are deleted before the first deployment creates the others. */
  readonly compilation: Vms;
  /** The stemcell of the VMs. */
  readonly stemcell: DirectorStemcell;
}

export interface FoundryFacts {
  readonly facts: ClusterFacts;
  /** Undefined: the user may not list nodes and pods. Pods of the same Cloud Foundry count as room. */
  readonly rooms: readonly NodeRoom[] | undefined;
  readonly names: readonly ResolvedName[];
  /** About a Service with the node's address. */
  readonly externalIpRejection: ServiceRejection;
}

/** Returns all findings about Cloud Foundry in a cluster, in the order of the table. */
export function foundryChecks(spec: FoundrySpec, facts: FoundryFacts): Check[] {
  return [
    ...oneCellChecks(spec),
    ...(spec.layout === 'highly-available' ? [zonesCheck(spec, facts)] : [externalIpCheck(spec, facts)]),
    roomCheck(spec, facts),
    classCheck(spec, facts.facts),
    stemcellCheck(spec),
    systemDomainCheck(spec, facts.names),
  ];
}

const missing = (name: string, detail: string): Check => ({
  name,
  result: 'missing',
  detail,
  isNeeded: true,
});

function oneCellChecks({ layout, hasOneCell, stemcell }: FoundrySpec): Check[] {
  if (!hasOneCell) return [];
  const name = 'One cell';
  const remedy = 'leave out --one-cell, and load the module vxlan on the nodes (modprobe vxlan)';
  if (layout !== 'smallest') return [missing(name, `the layout ${layout} has several cells: ${remedy}`)];
  // Ubuntu's name server for VMs knows no names of the internet
  return stemcell.operatingSystem === 'debian-bookworm'
    ? [
        {
          name,
          result: 'ok',
          detail: 'apps have no network policies, and see one-cell.yml for what else they lose',
        },
      ]
    : [missing(name, `one-cell.yml needs a Debian stemcell: ${remedy}`)];
}

function zonesCheck({ variables }: FoundrySpec, { facts }: FoundryFacts): Check {
  const name = 'Zones';
  const zones = zonesIn(variables);
  if (zones.length === 3) return { name, result: 'ok', detail: zones.join(', ') };
  const needs = 'the layout highly-available needs nodes in three zones, and';
  if (facts.nodes === undefined)
    return missing(
      name,
      `${needs} you may not list nodes: use a kubeconfig that may list them, or choose --layout smallest with --address`,
    );
  const found = zones.length === 0 ? 'no zone' : `only ${zones.join(' and ')}`;
  return missing(
    name,
    `${needs} ${found} was found: label the nodes (kubectl label node NODE ` +
      'topology.kubernetes.io/zone=ZONE), or choose --layout smallest',
  );
}

function externalIpCheck(
  { variables }: FoundrySpec,
  { facts: { nodes }, externalIpRejection }: FoundryFacts,
): Check {
  const name = 'Address of Services';
  const address = variables['node_address'] ?? '';
  if (externalIpRejection === undefined)
    return {
      ...{ name, result: 'unknown' },
      detail: `you may not create Services, so it was not checked that one can have the address ${address}`,
    };
  if (externalIpRejection !== '')
    return missing(
      name,
      `the cluster rejects the address ${address} of a Service (${externalIpRejection}): allow externalIPs of Services, or ` +
        'choose --layout highly-available, which needs nodes in three zones and Services of the type LoadBalancer',
    );
  if (nodes === undefined)
    return {
      ...{ name, result: 'unknown' },
      detail: `you may not list nodes, so it was not checked that one has ${address}`,
    };
  if (isNodeAddress(nodes, address)) return { name, result: 'ok', detail: `${address}, of a node` };
  const known = nodeAddress({ nodes }, ['InternalIP', 'ExternalIP']);
  return {
    ...{ name, result: 'missing' },
    detail:
      `no node has ${address}, so its ports lead to Cloud Foundry only if your network sends its packets to a node: name the ` +
      `address of a node with --address${known === undefined ? '' : `, such as ${known}`}`,
  };
}

/** Returns what VMs and the pods of their disks request. */
function requestsOfAll(all: readonly Vms[]): Amounts {
  const requests = all.flatMap(({ count, properties, persistentDisk }) => {
    const one = [
      requestsOf(properties.compute),
      ...(persistentDisk === 0 ? [] : [amountsIn(attachmentRequests)]),
    ];
    return Array.from({ length: count }, () => one).flat();
  });
  return addAmounts(requests);
}

/** cf-deployment v58.0.0 places its VMs in z1 and z2; only scale-database-cluster.yml uses z3. */
const usedZones = 2;

function roomCheck(spec: FoundrySpec, { facts, rooms }: FoundryFacts): Check {
  const name = 'Room for VMs';
  if (rooms === undefined)
    return {
      name,
      result: 'unknown',
      detail: `you may not list ${facts.nodes === undefined ? 'nodes' : 'pods'}`,
    };
  const { layout, vms, compilation } = spec;
  const isSmallest = layout === 'smallest';
  if (!isSmallest && zonesIn(spec.variables).length < 3)
    return { name, result: 'unknown', detail: 'not checked without three zones' };
  const zones: readonly (string | undefined)[] = isSmallest
    ? [undefined]
    : zonesIn(spec.variables).slice(0, usedZones);
  const usable = isSmallest ? rooms : rooms.filter(({ zone }) => zones.includes(zone));
  const [needed, free] = [requestsOfAll(vms), totalRoom(usable)];
  if (!fits(needed, free)) {
    const places = isSmallest ? 'all nodes' : `all nodes of ${zones.join(' and ')}`;
    return missing(
      name,
      `the layout ${layout} requests ${describeRequests(needed)}, and ${places} together have ${describeRoom(free)} free: ` +
        (isSmallest ? 'add a node' : 'add nodes, or choose --layout smallest'),
    );
  }
  for (const zone of zones) {
    const problem = tooLargeVm(
      usable.filter((room) => isSmallest || room.zone === zone),
      spec,
      zone,
    );
    if (problem !== undefined) return missing(name, problem);
  }
  const later = fits(addAmounts([needed, requestsOfAll([compilation])]), free)
    ? ''
    : `; a later deployment that compiles packages needs ${describeRequests(requestsOfAll([compilation]))} in addition`;
  return {
    ...{ name, result: 'ok' },
    detail: `${describeRequests(needed)} of the free ${describeRoom(free)}${later}`,
  };
}

/** Returns the problem of a VM that fits on none of the nodes. Undefined: each fits on one. */
function tooLargeVm(
  rooms: readonly NodeRoom[],
  { layout, vms, compilation }: FoundrySpec,
  zone: string | undefined,
): string | undefined {
  const tooLarge = [...vms, compilation].find(
    (each) => !rooms.some(({ free }) => fits(requestsOf(each.properties.compute), free)),
  );
  if (tooLarge === undefined) return undefined;
  const place = zone === undefined ? 'no node' : `no node of zone ${zone}`;
  const remedy =
    layout === 'smallest' ? 'add a larger node' : 'add a larger node there, or choose --layout smallest';
  return (
    `${place} has the ${describeRequests(requestsOf(tooLarge.properties.compute))} free that a VM of ${tooLarge.name} requests, ` +
    `${describeRoomiest(rooms)}: ${remedy}`
  );
}

/** Provisioners that make folders, whose size nothing limits. */
const unlimitedProvisioners = ['rancher.io/local-path', 'k8s.io/minikube-hostpath'];

function classCheck({ variables }: FoundrySpec, { classes }: ClusterFacts): Check {
  const name = 'Disks of VMs';
  const { ephemeral_storage_class: className = '' } = variables;
  if (classes === undefined)
    return className === ''
      ? missing(name, 'you may not list storage classes: name one with --ephemeral-storage-class')
      : {
          name,
          result: 'unknown',
          detail: `you may not list storage classes, so ${className} was not checked`,
        };
  if (defaultClassName(classes) === undefined)
    return missing(
      name,
      'persistent disks need a default storage class, and the cluster has none: install a storage driver, or kubectl annotate ' +
        'storageclass NAME storageclass.kubernetes.io/is-default-class=true',
    );
  const found = findStorageClass(classes, className);
  if (found === undefined)
    return missing(
      name,
      `the cluster has no storage class '${className}' for ephemeral disks: name one of ` +
        `${classes.map(({ metadata }) => metadata.name).join(', ')} with --ephemeral-storage-class`,
    );
  const warning = unlimitedProvisioners.includes(found.provisioner)
    ? ', whose volumes have no size limit, so a cell can fill the disk of its node'
    : '';
  return { name, result: 'ok', detail: `${className} for ephemeral disks${warning}` };
}

function stemcellCheck({ stemcell, hasVolumeServices }: FoundrySpec): Check {
  const name = 'Stemcell of cells';
  const { path, title, operatingSystem, version, isLight } = stemcell;
  const remedy = "name another one with --vm-stemcell FILE, for example of 'bosh-kubernetes stemcell build'";
  if (!foundrySystems.some((each) => each === operatingSystem))
    return missing(
      name,
      `'${path}' is of '${operatingSystem}', and the ops files are for ${foundrySystems.join(' and ')}: ${remedy}`,
    );
  if (hasVolumeServices && operatingSystem !== 'debian-bookworm')
    return missing(
      name,
      `'${path}' is of '${operatingSystem}', which has no programs to mount NFS and SMB shares: leave out --volume-services, or ` +
        `name a Debian stemcell with --vm-stemcell FILE`,
    );
  if (operatingSystem === 'ubuntu-noble' && version !== nobleVersion)
    return missing(
      name,
      `'${path}' has version ${version}, and cf-deployment needs version ${nobleVersion} of ubuntu-noble, for which its releases are ` +
        "compiled: name that version with --vm-stemcell FILE, which 'bosh-kubernetes stemcell build --from FILE' makes of the " +
        'published stemcell for warden-boshlite',
    );
  if (!isLight)
    return missing(name, `'${path}' is heavy, so it names no image that nodes can run: ${remedy}`);
  return { name, result: 'ok', detail: `${title}, ${operatingSystem}` };
}

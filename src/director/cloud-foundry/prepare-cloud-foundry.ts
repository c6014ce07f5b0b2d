import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { VmProperties } from '../../cpi/vm/properties.ts';
import { tryService, type ClusterApi, type ClusterFacts } from '../../doctor/cluster/cluster-facts.ts';
import type { DirectorStemcell } from '../director-stemcell.ts';
import { formatVariables } from '../format-variables.ts';
import { nodeAddress } from '../../doctor/cluster/node-address.ts';
import { roomOnNodes, zonesByRoom } from '../../doctor/cluster/node-room.ts';
import type { Check } from '../preflight-checks.ts';
import { chooseVariables, type ClusterValues } from './choose-variables.ts';
import { deployedChecks } from './deployed-checks.ts';
import { isFoundryVm, type DeployedFoundry } from './deployed-foundry.ts';
import { foundryFolder, type FoundryScript } from './foundry-commands.ts';
import { foundryChecks } from './foundry-checks.ts';
import type { FoundryRecord } from './foundry-record.ts';
import { cloudConfigPath, compilationVms, layoutVms, readCloudConfig, type Layout } from './layout-vms.ts';
import { dnsOpsFiles, foundryOpsFiles } from './ops-files.ts';
import { resolveSystemDomain, type ResolveName } from './system-domain.ts';

/** The options of `director init --with cloud-foundry`. */
export interface FoundryOptions {
  /** Undefined: that of an earlier run, else the smallest. */
  readonly layout: Layout | undefined;
  readonly systemDomain: string | undefined;
  readonly ephemeralStorageClass: string | undefined;
  readonly hasOneCell: boolean;
  readonly hasVolumeServices: boolean;
}

export interface FoundryRequest extends FoundryOptions {
  readonly root: string;
  readonly namespace: string;
  /** The address of a node that the operator named. */
  readonly nodeAddress: string | undefined;
  readonly stemcell: DirectorStemcell;
  /** The director's VM. Undefined: it exists already. */
  readonly director: VmProperties | undefined;
  readonly previous: FoundryRecord | undefined;
  readonly deployed: DeployedFoundry | undefined;
}

/** Returns the options of an earlier run that a run without options keeps. Undefined: it keeps none. */
export const keptOptions = (
  previous: FoundryRecord | undefined,
  deployed: DeployedFoundry | undefined,
): FoundryOptions | undefined =>
  previous &&
  deployed && {
    ...{ layout: previous.layout, systemDomain: undefined, ephemeralStorageClass: undefined },
    ...{ hasOneCell: previous.hasOneCell, hasVolumeServices: previous.hasVolumeServices },
  };

/** How `director init` resolves names: injected, so that tests need no network. */
export interface NameLookup {
  readonly resolve: ResolveName;
  readonly randomLabel: () => string;
}

export interface PreparedFoundry {
  readonly checks: readonly Check[];
  readonly files: Readonly<Record<string, string>>;
  readonly record: FoundryRecord;
  readonly script: FoundryScript;
}

/**
 * Checks the cluster for a Cloud Foundry, and computes its files. Writes nothing. Throws
 * INVALID_ARGUMENT if an option is missing that the cluster cannot answer.
 */
export async function prepareCloudFoundry(
  request: FoundryRequest,
  facts: ClusterFacts,
  { api, lookup }: { readonly api: ClusterApi; readonly lookup: NameLookup },
): Promise<PreparedFoundry> {
  const { previous, root, namespace, stemcell, deployed, hasOneCell, hasVolumeServices } = request;
  const { layout = previous?.layout ?? 'smallest' } = request;
  const { nodes, pods } = facts;
  // VMs of the same Cloud Foundry count as room, because this run may repeat an earlier one
  const rooms = nodes && pods && roomOnNodes(nodes, pods, isFoundryVm(namespace));
  const earlier = previous && { ...previous, isDeployed: deployed !== undefined };
  const variables = chooseVariables(layout, request, earlier, suggestedValues(facts, namespace));
  const config = await readCloudConfig(root, layout, { ...placeholders, ...variables });
  const { system_domain: domain = '', node_address: address } = variables;
  const record: FoundryRecord = { layout, variables, hasOneCell, hasVolumeServices };
  const checks = foundryChecks(
    {
      ...{ ...record, namespace, stemcell },
      compilation: compilationVms(config),
      vms: [...layoutVms(config, layout), ...directorVms(layout, request.director)],
    },
    {
      ...{ facts, rooms },
      names: await resolveSystemDomain(domain, { resolve: lookup.resolve, label: lookup.randomLabel() }),
      externalIpRejection:
        address === undefined ? '' : await tryService(api, facts, { externalIPs: [address] }),
    },
  );
  const isNamed = request.layout !== undefined && request.systemDomain !== undefined;
  const choice = { ...request, layout, operatingSystem: stemcell.operatingSystem };
  const [opsFiles, dnsFiles] = [foundryOpsFiles(choice), dnsOpsFiles(choice)];
  const ours = [...opsFiles.flatMap(({ path, isOurs }) => (isOurs ? [path] : [])), ...dnsFiles];
  return {
    checks: [...deployedChecks({ next: record, previous, isNamed, namespace }, deployed), ...checks],
    files: await readFiles(root, layout, ours, variables),
    record,
    script: {
      opsFiles: opsFiles.map(({ path, isOurs }) =>
        isOurs ? opsPath(path) : `cf-deployment/operations/${path}`,
      ),
      dnsOpsFiles: dnsFiles.map(opsPath),
      hasVolumeServices,
      lacksVarsStore: deployed !== undefined && deployed.variables === undefined,
      needs: [
        ...(hasOneCell ? [] : ['vxlan']),
        ...(hasVolumeServices ? ['volume-services'] : []),
        ...(stemcell.operatingSystem === 'ubuntu-noble' ? ['ubuntu-noble'] : []),
      ],
    },
  };
}

function suggestedValues(facts: ClusterFacts, namespace: string): ClusterValues {
  const { nodes, pods = [], classes = [] } = facts;
  return {
    address: nodeAddress(facts, ['InternalIP', 'ExternalIP']),
    zones: nodes && zonesByRoom(roomOnNodes(nodes, pods, isFoundryVm(namespace))),
    classes,
  };
}

/**
 * Returns the files of the folder: copies of our ops files and cloud-config, and the values of their
 * variables.
 */
async function readFiles(
  root: string,
  layout: Layout,
  opsFiles: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const texts = await Promise.all(
    opsFiles.map(async (path) => [opsPath(path), await readFile(join(root, path), 'utf8')] as const),
  );
  const sizes = join(root, 'manifests', 'cf-deployment', 'variables', `${layout}.yml`);
  return {
    ...Object.fromEntries(texts),
    [`${foundryFolder}/cloud-config.yml`]: await readFile(cloudConfigPath(root, layout), 'utf8'),
    [`${foundryFolder}/vars.yml`]: `${await readFile(sizes, 'utf8')}\n# Values of the cluster\n${formatVariables(variables)}`,
  };
}

const opsPath = (path: string): string => `${foundryFolder}/ops/${basename(path)}`;

/** In the layout highly-available the director may be in any zone, so its own check is enough. */
const directorVms = (layout: Layout, properties: VmProperties | undefined): ReturnType<typeof layoutVms> =>
  properties === undefined || layout !== 'smallest'
    ? []
    : [{ name: 'director', count: 1, properties, persistentDisk: 65_536 }];

/** Values with which the sizes can be read if the cluster has too few zones or no class. */
const placeholders = { z1_zone: 'z1', z2_zone: 'z2', z3_zone: 'z3', ephemeral_storage_class: 'none' };

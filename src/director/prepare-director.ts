import { join } from 'node:path';
import { parse } from 'yaml';
import { DeploymentFiles } from '../deploy/state/deployment-files.ts';
import { describeCluster, isSameCluster, type ClusterIdentity } from '../deploy/state/recorded-cluster.ts';
import { ProductError } from '../errors/product-error.ts';
import { ifAllowed } from '../kubernetes/api.ts';
import { pods } from '../kubernetes/resources.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { isObject } from '../platform/json.ts';
import { readArtifacts, type Artifacts, type ArtifactOptions } from './artifacts.ts';
import { editedFileChecks, unknownFoundryCheck, unnamedChecks } from './cloud-foundry/deployed-checks.ts';
import { findDeployedFoundry, type DeployedFoundry } from './cloud-foundry/deployed-foundry.ts';
import {
  keptOptions,
  prepareCloudFoundry,
  type FoundryOptions,
  type NameLookup,
  type PreparedFoundry,
} from './cloud-foundry/prepare-cloud-foundry.ts';
import { readDeniedPermissions } from '../doctor/cluster/access-review.ts';
import {
  readClusterFacts,
  tryClusterIp,
  type ClusterApi,
  type ClusterFacts,
} from '../doctor/cluster/cluster-facts.ts';
import { commandsScript } from './commands-script.ts';
import { commandsFile, findEditedFiles, readDirectorFile, type DirectorFile } from './director-directory.ts';
import { formatVariables, type VariableValues } from './format-variables.ts';
import { nodeAddress } from '../doctor/cluster/node-address.ts';
import { requestsOf } from '../doctor/cluster/node-room.ts';
import {
  preflightChecks,
  freeClusterIp,
  type Check,
  type DirectorRights,
  type DirectorSpec,
} from './preflight-checks.ts';
import {
  installPermissions,
  permissionsIn,
  readRoles,
  tokenPermission,
  type Roles,
} from '../doctor/cluster/required-permissions.ts';

/** The request of the operator, checked as far as possible without a cluster. All paths are absolute. */
export interface DirectorRequest extends ArtifactOptions {
  readonly directory: string;
  readonly context: string | undefined;
  readonly namespace: string;
  /** The operator declares that the nodes have the plugin static-ip. */
  readonly hasStaticIp: boolean;
  /** The director's address in the cluster; undefined: a free address of a Service. */
  readonly internalIp: string | undefined;
  /** The network of the pods, if the director is reached directly. */
  readonly network: { readonly range: string; readonly gateway: string } | undefined;
  /** The address of the node or load balancer at which the operator reaches the director. */
  readonly outsideAddress: string | undefined;
  /** Undefined: only a director. */
  readonly cloudFoundry: FoundryOptions | undefined;
}

export interface DirectorCluster {
  readonly api: ClusterApi;
  readonly lookup: NameLookup;
  readonly identity: ClusterIdentity;
  /** PEM; undefined: the roots that this machine trusts. */
  readonly ca: string | undefined;
}

export interface PreparedDirector {
  readonly checks: readonly Check[];
  /** The texts of the files of the folder, by their paths in it. */
  readonly files: Readonly<Record<string, string>>;
  readonly file: Omit<DirectorFile, 'written'>;
}

/**
 * Checks the cluster and computes the content of a director's folder. Writes nothing, neither in the folder
 * nor in the cluster. Rejects with OTHER_CLUSTER if the folder belongs to another cluster, and with the code
 * of a file that is missing or wrong.
 */
export async function prepareDirector(
  request: DirectorRequest,
  { api, identity, ca, lookup }: DirectorCluster,
): Promise<PreparedDirector> {
  const { directory, namespace, way } = request;
  const previous = await readDirectorFile(directory);
  assertSameCluster(directory, previous, identity);
  const artifacts = await readArtifacts(request);
  const facts = await readClusterFacts(api, { namespace, diskNamespace: namespace });
  const recorded = previous?.cloudFoundry;
  const { deployed, unknown } = await findDeployed(request, facts, api);
  const cloudFoundry = request.cloudFoundry ?? keptOptions(recorded, deployed);
  const addresses = chooseAddresses(request, previous, facts);
  const { internalIp } = addresses;
  const ownVm = (await new DeploymentFiles(join(directory, 'state.json')).readKnownResources())?.vmCid;
  const spec = directorSpec({ ...request, cloudFoundry }, artifacts, { internalIp, ownVm });
  const rights = directorRights(spec, facts, await readRoles(request.root));
  const checks = preflightChecks(spec, facts, {
    rights: { ...rights, denied: await readDeniedPermissions(api, [...rights.always, ...rights.toInstall]) },
    clusterIpRejection: way === 'direct' ? '' : await tryClusterIp(api, facts, internalIp),
  });
  const foundry = await prepareFoundry(
    { ...request, cloudFoundry, isKept: request.cloudFoundry === undefined },
    { previous, artifacts, facts, ownVm, deployed },
    { api, lookup },
  );
  const variables = {
    ...addressVariables(request, addresses),
    ...accessVariables(request, identity, ca),
    ...artifacts.variables,
  };
  const { kubeconfig } = identity;
  const files = directorFiles({ ...request, kubeconfig }, artifacts, variables, foundry);
  const networks = [...(request.network ? [request.network.range] : []), ...rangesIn(artifacts.cloudConfig)];
  const { context } = request;
  const record = foundry?.record ?? recorded;
  const edited = await findEditedFiles(directory, files);
  return {
    checks: [
      ...checks,
      ...unknown,
      ...(request.cloudFoundry ? [] : unnamedChecks(recorded, namespace, deployed)),
      ...(foundry?.checks ?? []),
      ...editedFileChecks(edited, recorded, record),
    ],
    files,
    file: {
      cluster: identity,
      ...(context !== undefined && { context }),
      ...{ way, namespaces: [namespace], networks: [...new Set(networks)], address: internalIp },
      ...externalAddress(request, addresses, artifacts),
      ...(record !== undefined && { cloudFoundry: record }),
    },
  };
}

/** Returns the deployed Cloud Foundry, and the check that says that it could not be looked for. */
async function findDeployed(
  { directory, namespace }: DirectorRequest,
  facts: ClusterFacts,
  api: ClusterApi,
): Promise<{ readonly deployed: DeployedFoundry | undefined; readonly unknown: readonly Check[] }> {
  // the user may have rights only in the namespace
  const found = facts.pods ?? (await ifAllowed(api.list<Pod>(pods, { namespace })))?.items;
  const deployed = await findDeployedFoundry(directory, namespace, found);
  const isUnknown = deployed === undefined && found === undefined;
  return { deployed, unknown: isUnknown ? [unknownFoundryCheck(namespace)] : [] };
}

function directorSpec(
  request: DirectorRequest,
  { directorVm, nodePorts, vmStemcell }: Artifacts,
  found: Pick<DirectorSpec, 'internalIp' | 'ownVm'>,
): DirectorSpec {
  const { way, namespace, hasStaticVolumes, hasStaticIp, cloudFoundry } = request;
  return {
    ...{ way, namespace, hasStaticVolumes, hasStaticIp, ...found },
    requests: requestsOf(directorVm.compute),
    nodePorts: way === 'nodeport' ? Object.values(nodePorts) : [],
    vmStemcell: { ...vmStemcell, isNeeded: request.vmStemcell !== undefined || cloudFoundry !== undefined },
  };
}

/**
 * Returns the rights that the operator needs for commands.sh: those for a token of the CPI's account and for
 * the tunnel, and those for the account and its roles, unless an administrator created them.
 */
const directorRights = (
  { namespace, way }: DirectorSpec,
  { hasAccount }: ClusterFacts,
  roles: Roles,
): Pick<DirectorRights, 'always' | 'toInstall'> => ({
  always: [tokenPermission(namespace), ...(way === 'tunnel' ? permissionsIn(namespace, roles.tunnel) : [])],
  toInstall: hasAccount === true ? [] : installPermissions(namespace, roles),
});

/** Undefined: only a director is requested. */
async function prepareFoundry(
  request: DirectorRequest & { readonly isKept: boolean },
  found: {
    readonly previous: DirectorFile | undefined;
    readonly artifacts: Artifacts;
    readonly facts: ClusterFacts;
    readonly ownVm: string | undefined;
    readonly deployed: DeployedFoundry | undefined;
  },
  ports: Pick<DirectorCluster, 'api' | 'lookup'>,
): Promise<PreparedFoundry | undefined> {
  const { cloudFoundry, isKept, namespace, root, way, outsideAddress } = request;
  if (cloudFoundry === undefined) return undefined;
  const { previous, artifacts, facts, ownVm, deployed } = found;
  const foundryRequest = {
    ...{ ...cloudFoundry, namespace, root, previous: previous?.cloudFoundry, deployed },
    // else it is only that of the director
    nodeAddress: way === 'loadbalancer' || isKept ? undefined : outsideAddress,
    stemcell: artifacts.vmStemcell,
    director: ownVm === undefined ? artifacts.directorVm : undefined,
  };
  return prepareCloudFoundry(foundryRequest, facts, ports);
}

interface Addresses {
  readonly internalIp: string;
  readonly outside: string | undefined;
}

function chooseAddresses(
  { way, internalIp: requestedIp, outsideAddress }: DirectorRequest,
  previous: DirectorFile | undefined,
  facts: ClusterFacts,
): Addresses {
  const previousAddress = previous?.way === 'direct' ? undefined : previous?.address;
  const internalIp = requestedIp ?? previousAddress ?? freeClusterIp(facts.services);
  if (internalIp === undefined)
    throw noAddress(
      '--internal-ip',
      facts.services ? 'No free address of a Service was found' : 'You may not list Services',
    );
  const outside = outsideAddress ?? nodeAddress(facts, ['ExternalIP', 'InternalIP']);
  if (way === 'nodeport' && outside === undefined)
    throw noAddress('--address', facts.nodes ? 'No ready node has an IP address' : 'You may not list nodes');
  return { internalIp, outside };
}

function addressVariables(
  { way, network }: DirectorRequest,
  { internalIp, outside }: Addresses,
): VariableValues {
  return {
    internal_ip: internalIp,
    ...(network && { internal_cidr: network.range, internal_gw: network.gateway }),
    ...(way === 'nodeport' && { node_address: outside }),
    ...(way === 'loadbalancer' && { load_balancer_address: outside }),
  };
}

const accessVariables = (
  { namespace }: DirectorRequest,
  { server }: ClusterIdentity,
  ca: string | undefined,
): VariableValues => ({
  director_name: 'k8s-director',
  kubernetes_namespace: namespace,
  kubernetes_server: server,
  kubernetes_ca: ca ?? null,
});

/** Returns the address of the director and CredHub at a Service of type NodePort or LoadBalancer. */
function externalAddress(
  { way }: DirectorRequest,
  { outside }: Addresses,
  { nodePorts }: Artifacts,
): Pick<DirectorFile, 'outside'> {
  if (outside === undefined || way === 'tunnel' || way === 'direct') return {};
  const portOf = (port: number): number => (way === 'nodeport' ? (nodePorts[port] ?? port) : port);
  return { outside: { host: outside, director: portOf(25555), credhub: portOf(8844) } };
}

function assertSameCluster(
  directory: string,
  previous: DirectorFile | undefined,
  identity: ClusterIdentity,
): void {
  if (previous === undefined || isSameCluster(previous.cluster, identity)) return;
  throw new ProductError(
    'OTHER_CLUSTER',
    `The director of '${directory}' is on ${describeCluster(previous.cluster)}, and this is ${describeCluster(identity)}; ` +
      'nothing was written. Name that cluster with --kubeconfig and --context, or name another folder',
  );
}

const noAddress = (flag: string, problem: string): ProductError =>
  new ProductError('INVALID_ARGUMENT', `${problem}: set an address with ${flag}`);

function directorFiles(
  request: DirectorRequest & { readonly kubeconfig: string },
  { opsFiles, cloudConfig, vmStemcell, stemcellDirectories }: Artifacts,
  variables: VariableValues,
  foundry: PreparedFoundry | undefined,
): Record<string, string> {
  const script = commandsScript({
    ...{ ...request, stemcellDirectories, opsFiles: Object.keys(opsFiles) },
    ...{ vmStemcell: vmStemcell.speaksNats ? vmStemcell.path : undefined, cloudFoundry: foundry?.script },
  });
  return {
    'vars.yml': `# Values of the variables of bosh.yml and the ops files\n${formatVariables(variables)}`,
    ...opsFiles,
    ...(foundry?.files ?? { 'cloud-config.yml': cloudConfig }),
    [commandsFile]: script,
  };
}

/** Returns the ranges of the manual networks of a cloud-config. */
function rangesIn(cloudConfig: string): string[] {
  const root: unknown = parse(cloudConfig);
  const networks = isObject(root) && Array.isArray(root['networks']) ? root['networks'] : [];
  return networks
    .flatMap((network) => (isObject(network) && Array.isArray(network['subnets']) ? network['subnets'] : []))
    .flatMap((subnet) => (isObject(subnet) && typeof subnet['range'] === 'string' ? [subnet['range']] : []));
}

import { generateCertificate } from '../../bosh/variables/generate-certificate.ts';
import { RsaPairs } from '../../bosh/variables/rsa-pairs.ts';
import { parseYaml } from '../../bosh/yaml/parse-yaml.ts';
import type { CallContext } from '../../cpi/call.ts';
import type { SecurityProfile } from '../../cpi/config/profile.ts';
import { formatStemcellCid } from '../../cpi/stemcell/stemcell-cid.ts';
import { podReference } from '../../cpi/objects/names.ts';
import { createVm } from '../../cpi/vm/create-vm.ts';
import { deleteVm } from '../../cpi/vm/delete-vm.ts';
import { ifAllowed } from '../../kubernetes/api.ts';
import { nodes, services } from '../../kubernetes/resources.ts';
import type { Node } from '../../kubernetes/types/node.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { Service } from '../../kubernetes/types/service.ts';
import type { Clock } from '../../platform/clock.ts';
import { poll } from '../../platform/poll.ts';
import { nodeAddress } from '../cluster/node-address.ts';
import { met, notAllowed, unmet, type Finding, type Requirement } from '../finding.ts';
import type { StemcellImage } from '../read-stemcell-image.ts';
import { messageOf } from './trial-call.ts';

export interface VmRequest {
  readonly image: StemcellImage;
  readonly profile: SecurityProfile;
}

/** A VM of the trial that runs. */
export interface StartedVm {
  readonly cid: string;
  readonly nodeName: string;
  readonly address: string | undefined;
  /** The name of its Service, which leads to the agent. */
  readonly service: string;
}

const start: Requirement = {
  ...{ check: 'VM', neededBy: 'each VM', otherwise: 'failed' },
  remedy: 'remove the cause that the details name, and run this again',
};

/** Starts a VM, and returns the row about it. */
export async function tryVm(
  call: CallContext,
  { image, profile }: VmRequest,
): Promise<[Finding, StartedVm?]> {
  const { namespace, clock } = call;
  const begin = clock.now();
  const agentId = call.newUuid();
  const service = `doctor-${agentId}`;
  const ports = [{ name: 'agent', port: agentPort }];
  try {
    const [cid] = await createVm(call, {
      ...{ agentId, stemcellCid: formatStemcellCid(image), diskCids: [] },
      env: await agentEnvironment(clock),
      cloudProperties: {
        ...{ ...small, profile },
        services: [{ name: service, type: 'NodePort', selector: 'vm', ports }],
      },
      networks: { default: { type: 'dynamic', cloud_properties: {} } },
    });
    const pod = await call.api.get<Pod>(podReference(call, cid));
    const nodeName = pod.spec.nodeName ?? '';
    const detail = `profile ${profile} on node ${nodeName}, with its image, after ${secondsSince(begin, clock)} s`;
    const vm = { cid, nodeName, address: pod.status?.podIP, service };
    return [met(start, namespace, detail), vm];
  } catch (error) {
    return [unmet(start, namespace, messageOf(error))];
  }
}

const agentPort = 6868;
const small = { cpu: '50m', memory: 64 };

export const secondsSince = (begin: number, clock: Clock): number =>
  Math.round((clock.now() - begin) / 100) / 10;

/** Returns an env with which an agent listens, as that of create-env does. */
async function agentEnvironment(clock: Clock): Promise<{ bosh: { mbus: { cert: object } } }> {
  const options = parseYaml('{is_ca: true, common_name: doctor}', 'certificate', 'INVALID_ARGUMENT');
  const definition = { name: 'agent', type: 'certificate', options };
  const sources = {
    ...{ pairs: new RsaPairs(), now: new Date(clock.now()) },
    find: () => Promise.resolve(undefined),
  };
  return { bosh: { mbus: { cert: await generateCertificate(definition, sources) } } };
}

const nodePort: Requirement = {
  ...{ check: 'Node port', neededBy: '--way nodeport and Services of type NodePort', otherwise: 'warning' },
  remedy:
    'nothing, if you use bosh-kubernetes tunnel or a load balancer; otherwise have firewalls pass 30000 to 32767 of the nodes to this machine',
};

/** The agent listens a moment after its container runs, and the nodes need to hear of the Service. */
const connectDeadline = 30_000;

/** Connects from this machine to the agent of the VM by a port of its node. */
export async function tryNodePort(
  call: CallContext,
  vm: StartedVm,
  {
    connect,
    signal,
  }: {
    readonly connect: (host: string, port: number) => Promise<void>;
    readonly signal: AbortSignal;
  },
): Promise<Finding> {
  // Not from the facts, which do not have a node that an autoscaler made for this VM.
  const node = await ifAllowed(call.api.get<Node>({ resource: nodes, name: vm.nodeName }));
  if (node === undefined) return notAllowed(nodePort, vm.nodeName, 'get nodes');
  const host = nodeAddress({ nodes: [node] }, ['ExternalIP', 'InternalIP']);
  const reference = { resource: services, namespace: call.namespace, name: vm.service };
  const { spec } = await call.api.get<Service>(reference);
  const port = spec.ports?.[0]?.nodePort;
  if (host === undefined || port === undefined)
    return unmet(nodePort, vm.nodeName, 'the node has no address, or the Service has no node port');
  let problem = '';
  const answer = await poll(
    () =>
      connect(host, port).then(
        () => true,
        (error: unknown) => {
          problem = error instanceof Error ? error.message : String(error);
          return undefined;
        },
      ),
    { clock: call.clock, signal, timeoutMs: connectDeadline, maxDelayMs: 1000 },
  );
  return answer === true
    ? met(nodePort, vm.nodeName, `${host}:${port} leads to the VM`)
    : unmet(nodePort, vm.nodeName, `${host}:${port} was not reached from this machine: ${problem}`);
}

const fixedAddress: Requirement = {
  ...{ check: 'Fixed address', neededBy: 'manual networks', otherwise: 'failed' },
  remedy:
    'see what gives fixed addresses in this cluster (docs/static-ip.md), or name a free address with --address',
};

/** Starts a VM with the address, after the deletion of the first one, on its node. */
export async function tryFixedAddress(
  call: CallContext,
  { image, profile, address }: VmRequest & { readonly address: string },
  first: StartedVm,
): Promise<Finding> {
  try {
    await deleteVm(call, { vmCid: first.cid });
    const isItsOwn = address === first.address;
    await createVm(call, {
      ...{ agentId: call.newUuid(), stemcellCid: formatStemcellCid(image), diskCids: [] },
      env: await agentEnvironment(call.clock),
      cloudProperties: {
        ...{ ...small, profile },
        ...(isItsOwn && { node_selector: { 'kubernetes.io/hostname': first.nodeName } }),
      },
      networks: { default: { type: 'manual', ip: address, cloud_properties: {} } },
    });
    return met(fixedAddress, call.namespace, `a VM has got ${address}`);
  } catch (error) {
    return unmet(fixedAddress, call.namespace, messageOf(error));
  }
}

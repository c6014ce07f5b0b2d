import { isProductError } from '../errors/product-error.ts';
import { truncateAtWord } from '../errors/text.ts';
import { ignoreNotFound, type KubernetesApi } from '../kubernetes/api.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import type { ExecResult, ShellCommand } from '../kubernetes/client/exec.ts';
import { waitFor } from '../kubernetes/client/wait.ts';
import { describePodAndEvents } from '../kubernetes/describe-pod.ts';
import { nodes, pods } from '../kubernetes/resources.ts';
import { whyClosed, type Node } from '../kubernetes/types/node.ts';
import { isTerminal, type Pod } from '../kubernetes/types/pod.ts';
import type { Clock } from '../platform/clock.ts';
import { forEachLimit } from '../platform/for-each-limit.ts';
import { poll } from '../platform/poll.ts';
import { cellPod, cloudFoundryFindings, type FoundryPart } from './cloud-foundry-findings.ts';
import { unmet, type Finding, type Requirement } from './finding.ts';
import { probeContainer, probeLabels, probePod, type ProbePodRequest } from './probe-pod.ts';
import { parseProbeReport } from './probe-report.ts';
import { readReport } from './probe-script.ts';

export interface NodesRequest extends Omit<ProbePodRequest, 'node'> {
  /** The architecture of the stemcell, as in the label kubernetes.io/arch. Undefined: not known. */
  readonly architecture: string | undefined;
  /** The parts of a layout that need more than every layout does. */
  readonly parts: readonly FoundryPart[];
}

export interface ExamineContext {
  readonly api: KubernetesApi;
  /** Runs a command in the container of a pod. Rejects with DEADLINE if it takes too long. */
  readonly exec: (pod: string, container: string, command: ShellCommand) => Promise<ExecResult>;
  readonly clock: Clock;
  /** Aborted by the operator. */
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
}

/** Milliseconds. The image of a stemcell may have to be pulled. */
const startDeadline = 300_000;
const probeDeadline = 60_000;
const removalDeadline = 60_000;
/** A message of a kubelet names the image several times. */
const maxErrorLength = 500;
/** Pods at the same time. */
const maxPods = 10;

/**
 * Runs the probe in a pod on each node that VMs can be scheduled to, and returns all rows in the order of the
 * nodes. When it resolves or rejects, no pod of a probe is left in the namespace, also not those of killed
 * runs. A second run in the namespace therefore removes the pods of the first, which then fails. Rejects with
 * the reason of the signal, and with ApiError if the user may not list nodes or use pods.
 */
export async function examineNodes(request: NodesRequest, context: ExamineContext): Promise<Finding[]> {
  const { items } = await context.api.list<Node>(nodes);
  const reasons = items.map((node) => whyNotExamined(node, request));
  await removeProbePods(request.namespace, context);
  const findings: Finding[][] = [];
  try {
    await forEachLimit(maxPods, items.entries(), async ([index, { metadata }]) => {
      if (reasons[index] !== undefined) return;
      context.signal.throwIfAborted();
      findings[index] = await examineNode(metadata.name, request, context);
    });
  } finally {
    await removeProbePods(request.namespace, context);
  }
  // a cluster that runs no VM is not fit for any
  const requirement = reasons.includes(undefined) ? openNode : { ...openNode, otherwise: 'failed' as const };
  if (items.length === 0) return [unmet(requirement, '-', 'the cluster has no node')];
  return items.flatMap(
    ({ metadata }, index) =>
      findings[index] ?? [unmet(requirement, metadata.name, `not examined, because ${reasons[index] ?? ''}`)],
  );
}

const openNode: Requirement = {
  ...{ check: 'Node for VMs', neededBy: 'VMs on this node', otherwise: 'warning' },
  remedy: 'nothing, if no VM is meant to run on it; otherwise remove that, and run this again',
};

/** Returns why VMs of the stemcell cannot be scheduled to the node. Undefined: they can. */
function whyNotExamined(
  { metadata: { labels = {} }, ...node }: Node,
  { architecture }: NodesRequest,
): string | undefined {
  const { 'kubernetes.io/arch': arch = architecture, 'kubernetes.io/os': system = 'linux' } = labels;
  if (system !== 'linux') return `its operating system is ${system}`;
  if (architecture !== undefined && arch !== architecture)
    return `it is ${arch}, and the stemcell is for ${architecture}`;
  return whyClosed(node);
}

async function examineNode(node: string, request: NodesRequest, context: ExamineContext): Promise<Finding[]> {
  const output = await runProbe(probePod({ ...request, node }), context);
  if (output.error === undefined)
    return cloudFoundryFindings(node, parseProbeReport(output.text), request.parts);
  const { error } = output;
  return [unmet({ ...cellPod, ...remedyFor(error, request) }, node, truncateAtWord(error, maxErrorLength))];
}

type Output = { readonly text: string; readonly error?: undefined } | { readonly error: string };

/** Returns the report of the probe, or why there is none. Rejects if the cause is not this pod. */
async function runProbe(pod: Pod, context: ExamineContext): Promise<Output> {
  const created = await createPod(pod, context);
  return typeof created === 'string' ? { error: created } : outputOf(created, context);
}

/** Returns the message with which the API rejected the pod. Rejects if it is not about the pod. */
async function createPod(pod: Pod, { api }: ExamineContext): Promise<Pod | string> {
  try {
    return await api.create<Pod>(pods, pod);
  } catch (error) {
    const isRejected = isApiError(error, 403) || isApiError(error, 404) || isApiError(error, 422);
    // the message of the authorizer, which is about the user and not about the pod
    if (!isRejected || /cannot create resource "pods"/u.test(error.message)) throw error;
    return error.message;
  }
}

/** Waits for the report of the probe. Rejects if the cause is not this pod. */
async function outputOf(pod: Pod, context: ExamineContext): Promise<Output> {
  try {
    const { state, isUp } = await startOf(pod, context);
    return isUp ? await reportOf(pod, context) : { error: state };
  } catch (error) {
    const isOfPod =
      (isProductError(error) && error.code === 'DEADLINE') ||
      (isApiError(error) && error.code !== 401 && error.code !== 403);
    if (!isOfPod) throw error;
    return { error: error.message };
  }
}

/** Waits until the pod runs or cannot run. */
async function startOf(
  { metadata }: Pod,
  { api, clock, signal, onProgress }: ExamineContext,
): Promise<{ readonly isUp: boolean; readonly state: string }> {
  const reference = { resource: pods, namespace: metadata.namespace, name: metadata.name };
  const describeState = (last: Pod | undefined): Promise<string> =>
    describePodAndEvents(api, { namespace: metadata.namespace, name: metadata.name }, last);
  const settled = await waitFor<Pod, { readonly last: Pod | undefined }>({
    ...{ api, reference, clock, signal, onProgress, describeState, deadlineMs: startDeadline },
    awaited: `pod ${metadata.namespace}/${metadata.name} to run`,
    condition: (last) =>
      last === undefined || isTerminal(last) || isRunning(last) || isWithoutImage(last)
        ? { last }
        : undefined,
  });
  const isUp = settled.last !== undefined && isRunning(settled.last);
  return { isUp, state: isUp ? '' : await describeState(settled.last) };
}

async function reportOf({ metadata: { name } }: Pod, context: ExamineContext): Promise<Output> {
  const { clock, signal, exec } = context;
  const text = await poll(
    async () => {
      const { exitCode, stdout } = await exec(name, probeContainer, readReport);
      return exitCode === 0 ? stdout : undefined;
    },
    { clock, signal, timeoutMs: probeDeadline, maxDelayMs: 1000 },
  );
  return text === undefined ? { error: `the probe did not end within ${probeDeadline / 1000} s` } : { text };
}

const isRunning = ({ status }: Pod): boolean =>
  status?.containerStatuses?.some(
    ({ name, state }) => name === probeContainer && state?.running !== undefined,
  ) === true;

/** The kubelet has failed to pull the image, and waits before it tries again. */
const isWithoutImage = ({ status }: Pod): boolean =>
  status?.containerStatuses?.some(({ state }) =>
    ['ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'].includes(state?.waiting?.reason ?? ''),
  ) === true;

function remedyFor(
  error: string,
  { namespace }: Pick<NodesRequest, 'namespace'>,
): { readonly remedy: string } | undefined {
  if (/violates PodSecurity/u.test(error))
    return {
      remedy: `kubectl label namespace ${namespace} --overwrite pod-security.kubernetes.io/enforce=privileged`,
    };
  if (/namespaces? "[^"]*" not found/u.test(error))
    return { remedy: `kubectl create namespace ${namespace}` };
  if (/ImagePull|InvalidImageName/u.test(error))
    return {
      remedy:
        'bring the image of the stemcell to the node (stemcell load, push or pre-pull), or name the Secret of its registry with --image-pull-secret',
    };
  return undefined;
}

/** Deletes the pods of all probes in the namespace, and waits until they do not exist. */
async function removeProbePods(namespace: string, { api, clock }: ExamineContext): Promise<void> {
  const labelSelector = Object.entries(probeLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  const { items } = await api.list<Pod>(pods, { namespace, labelSelector });
  await forEachLimit(maxPods, items, async ({ metadata: { name } }) => {
    const reference = { resource: pods, namespace, name };
    await ignoreNotFound(api.delete(reference));
    await waitFor<Pod, true>({
      ...{ api, reference, clock, deadlineMs: removalDeadline },
      awaited: `pod ${namespace}/${name} of the doctor to be removed`,
      describeState: async (last) => ({
        state: await describePodAndEvents(api, { namespace, name }, last),
        next: `if its node is lost: kubectl delete pod ${name} -n ${namespace} --force; then run the command again`,
      }),
      condition: (pod) => (pod === undefined ? true : undefined),
    });
  });
}

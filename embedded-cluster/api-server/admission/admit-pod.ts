import { copyJson } from '../schema/json.ts';
import type { Pod, PodSpec, Volume } from '../../../src/kubernetes/types/pod.ts';
import { pods, serviceAccounts, priorityClasses, runtimeClasses } from '../../../src/kubernetes/resources.ts';
import { forbidden } from '../errors/status-errors.ts';
import type { AdmissionContext } from '../kinds/kind.ts';
import { defaultAccount } from '../kinds/service-accounts.ts';
import { allContainers } from '../kinds/pod/pod-defaults.ts';
import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { StoredObject } from '../store/stored-object.ts';

/** The path at which containers find their token (kubernetes: plugin/pkg/admission/serviceaccount). */
const tokenMountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
/** The ConfigMap with the cluster's certificate authority, which exists in each namespace. */
export const rootCertificateName = 'kube-root-ca.crt';

const volumeName = 'kube-api-access';
/** The same lifetime as in Kubernetes; the token is renewed long before it ends. */
const tokenSeconds = 3607;

interface Account {
  readonly automountServiceAccountToken?: boolean;
  readonly imagePullSecrets?: { name: string }[];
}

/**
 * Applies the admission plugin ServiceAccount: sets the account and its pull secrets and, unless pod or
 * account opt out, mounts its token into every container. Throws ApiError 403 if the account does not exist.
 */
export function admitServiceAccount(pod: Pod, context: AdmissionContext): void {
  const { spec } = pod;
  const name = spec.serviceAccountName ?? spec.serviceAccount ?? defaultAccount;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
  const account = findAccount(pod, name, context);
  if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
    addTokenVolume(spec, `${volumeName}-${context.randomSuffix()}`);
  if (spec.imagePullSecrets === undefined && account.imagePullSecrets !== undefined)
    spec.imagePullSecrets = copyJson(account.imagePullSecrets);
}

function findAccount({ metadata }: Pod, name: string, context: AdmissionContext): Account {
  const found = context
    .list(serviceAccounts)
    .find((object) => object.metadata.name === name && object.metadata.namespace === metadata.namespace);
  if (found !== undefined) return found as Account;
  // Its controller is about to create it; the node waits for its token.
  if (name === defaultAccount) return {};
  throw forbidden(
    pods,
    metadata.name,
    `error looking up service account ${metadata.namespace}/${name}: serviceaccount "${name}" not found`,
  );
}

function addTokenVolume(spec: PodSpec, fresh: string): void {
  // Volumes are validated later, so one may have no name.
  const volumes: readonly Partial<Volume>[] = spec.volumes ?? [];
  const present = volumes.find((volume) => volume.name?.startsWith(`${volumeName}-`))?.name;
  const name = present ?? fresh;
  const without = allContainers(spec).filter(
    ({ volumeMounts = [] }) => !volumeMounts.some(({ mountPath }) => mountPath === tokenMountPath),
  );
  for (const container of without) {
    const mount = { name, mountPath: tokenMountPath, readOnly: true };
    container.volumeMounts = [...(container.volumeMounts ?? []), mount];
  }
  if (present === undefined && without.length > 0)
    spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
        { configMap: { name: rootCertificateName, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    },
  };
}

interface PriorityClass extends StoredObject {
  readonly value: number;
  readonly preemptionPolicy: string;
}

/**
 * Applies the admission plugin Priority: sets the values of the pod's class, or of the default class. Throws
 * ApiError 403 if the class does not exist or if the pod sets other values.
 */
export function resolvePriority({ spec, metadata }: Pod, context: AdmissionContext): void {
  const classes = context.list(priorityClasses) as readonly PriorityClass[];
  const refuse = (why: string): ApiError => forbidden(pods, metadata.name, why);
  const name = classNameOf(spec, classes);
  const found = classes.find((object) => object.metadata.name === name);
  if (name !== '' && found === undefined) throw refuse(`no PriorityClass with name ${name} was found`);
  if (name !== '') spec.priorityClassName = name;
  const { value = 0, preemptionPolicy = 'PreemptLowerPriority' } = found ?? {};
  if (spec.priority !== undefined && spec.priority !== value) {
    throw refuse(
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    throw refuse(
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  }
  spec.priority = value;
  spec.preemptionPolicy = preemptionPolicy;
}

/** Returns the pod's class, otherwise the default class; empty if there is neither. */
function classNameOf(spec: Pod['spec'], classes: readonly PriorityClass[]): string {
  const own = spec.priorityClassName ?? '';
  if (own !== '') return own;
  return classes.find((object) => object['globalDefault'] === true)?.metadata.name ?? '';
}

/** Applies the admission plugin RuntimeClass. Throws ApiError 403 if the class does not exist. */
export function admitRuntimeClass({ spec, metadata }: Pod, context: AdmissionContext): void {
  const { runtimeClassName: name } = spec;
  if (name === undefined) return;
  if (!context.list(runtimeClasses).some((object) => object.metadata.name === name))
    throw forbidden(pods, metadata.name, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
}

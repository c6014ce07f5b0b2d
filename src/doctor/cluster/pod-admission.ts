import { randomUUID } from 'node:crypto';
import { parseConfig } from '../../cpi/config/config.ts';
import { profiles, type SecurityProfile } from '../../cpi/config/profile.ts';
import { plannedAttachment } from '../../cpi/vm/plan-vm.ts';
import { podTemplate } from '../../cpi/vm/pod.ts';
import { isRoleRefusal } from '../../cpi/vm/quota.ts';
import { parseVmSpec, type VmSpec } from '../../cpi/vm/vm-spec.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';

export interface VmNamespaces {
  readonly namespace: string;
  /** The namespace of disks and attachment pods. */
  readonly diskNamespace: string;
}

/**
 * The message with which the API rejects a pod; '' if it admits the pod; undefined if the user may not create
 * pods.
 */
type Rejection = string | undefined;

/** What the API says about the pods that the CPI makes. */
export interface PodAdmission {
  readonly vms: Readonly<Record<SecurityProfile, Rejection>>;
  readonly attachment: Rejection;
}

/** Creates, in dry runs, the pod of a VM of each profile and the attachment pod of a disk. */
export async function tryPods(
  api: Pick<KubernetesApi, 'dryRunCreate'>,
  namespaces: VmNamespaces,
): Promise<PodAdmission> {
  const call = {
    ...namespaces,
    config: parseConfig({ agent: { mbus: 'https://0.0.0.0:6868' } }, {}),
    directorUuid: undefined,
    newUuid: randomUUID,
  };
  const networking = { labels: {}, annotations: {} };
  const attempt = async (pod: Pod): Promise<Rejection> => rejection(api, pod);
  const vm = (spec: VmSpec): Pod =>
    podTemplate(call, { spec, facts: { attach: 'hot', networking, volumeTerms: [] } });
  const specOf = (profile: SecurityProfile): VmSpec =>
    parseVmSpec(call, {
      ...{ agentId: randomUUID(), stemcellCid: 'doctor.example/stemcell:1', cloudProperties: { profile } },
      ...{ networks: { default: { type: 'dynamic', cloud_properties: {} } }, diskCids: [], env: {} },
    });
  const [attachment, ...rejections] = await Promise.all([
    attempt(plannedAttachment(call, specOf('privileged'))),
    ...profiles.map((profile) => attempt(vm(specOf(profile)))),
  ]);
  const [privileged, sysAdmin, baseline] = rejections;
  return { vms: { privileged, 'sys-admin': sysAdmin, baseline }, attachment };
}

async function rejection(api: Pick<KubernetesApi, 'dryRunCreate'>, pod: Pod): Promise<Rejection> {
  try {
    await api.dryRunCreate(pods, pod);
    return '';
  } catch (error) {
    if (!isApiError(error)) throw error;
    const { message } = error;
    // the authorizer refuses before admission
    return isRoleRefusal(error) ? undefined : message;
  }
}

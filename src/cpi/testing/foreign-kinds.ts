import { pathNotFound } from '../../../embedded-cluster/api-server/errors/status-errors.ts';
import type { Kind } from '../../../embedded-cluster/api-server/kinds/kind.ts';
import { ageColumn, nameColumn } from '../../../embedded-cluster/api-server/kinds/columns.ts';
import { any, kindSchema } from '../../../embedded-cluster/api-server/schema/schema.ts';
import type { Resource } from '../../kubernetes/api.ts';
import { networkAttachmentDefinitions, networkPolicies } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { limitRanges } from '../errors/limit-range.ts';
import { volumeAttachments } from '../disk/attach/volume-attachments.ts';
import { interceptingApi } from './intercepting-api.ts';

/**
 * Kinds that the embedded cluster does not have, because nothing in it would act on them; for `moreKinds`.
 */
export const networkPolicyKind = foreignKind(networkPolicies, 'NetworkPolicy');
export const volumeAttachmentKind = foreignKind(volumeAttachments, 'VolumeAttachment');
export const limitRangeKind = foreignKind(limitRanges, 'LimitRange');

function foreignKind(resource: Resource, name: string): Kind {
  return {
    ...{ resource, name, singular: name.toLowerCase(), shortNames: [], categories: [] },
    schema: kindSchema({ spec: any, status: any }),
    ...{ hasStatus: false, countsGenerations: true, nameRule: 'subdomain' },
    columns: [nameColumn, ageColumn],
    validate: () => [],
  };
}

/** Returns the same cluster with these API groups in addition: the CPI detects a pod network by its group. */
export function withGroups(cloud: CallContext, ...groups: readonly string[]): CallContext {
  const api = interceptingApi(cloud.api, () => Promise.resolve());
  return { ...cloud, api: { ...api, groups: async () => [...(await api.groups()), ...groups] } };
}

/** Returns the same cluster without the kind that Multus adds. */
export function withoutMultus(cloud: CallContext): CallContext {
  const api = interceptingApi(cloud.api, (request) =>
    request.split(' ')[1] === networkAttachmentDefinitions.plural
      ? Promise.reject(pathNotFound())
      : Promise.resolve(),
  );
  return { ...cloud, api };
}

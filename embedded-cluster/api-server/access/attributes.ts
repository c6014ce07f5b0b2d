import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import { groupResource, newStatusError } from '../errors/status-errors.ts';
import type { User } from './user.ts';

/** Attributes of a request for the authorizer (apiserver pkg/authorization/authorizer). */
export type Attributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  /** The plural name of the resource. */
  readonly resource: string;
  readonly subresource?: string | undefined;
  /** Absent for cluster-scoped resources and for all namespaces. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Attributes of a path that is not a resource, such as `/openapi/v3`. */
interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

/** Returns the 403 for a request that no role allows (apiserver responsewriters.ForbiddenStatusError). */
export function forbiddenError(user: User, attributes: Attributes, reason = ''): ApiError {
  const sentence = `${describeRequest(user, attributes)}${reason === '' ? '' : `: ${reason}`}`;
  if ('path' in attributes) return newStatusError(403, 'Forbidden', `forbidden: ${sentence}`, {});
  const { group, resource, name = '' } = attributes;
  const subject = groupResource({ group, plural: resource });
  const message = `${subject}${name === '' ? '' : ` ${JSON.stringify(name)}`} is forbidden: ${sentence}`;
  return newStatusError(403, 'Forbidden', message, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind: resource,
  });
}

function describeRequest(user: User, attributes: Attributes): string {
  const start = `User ${JSON.stringify(user.name)} cannot ${attributes.verb}`;
  if ('path' in attributes) return `${start} path ${JSON.stringify(attributes.path)}`;
  const { group, namespace = '' } = attributes;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return `${start} resource ${JSON.stringify(qualifiedResource(attributes))} in API group ${JSON.stringify(group)} ${where}`;
}

/** Returns the resource with its subresource: `pods/exec`. */
export function qualifiedResource({ resource, subresource = '' }: ResourceAttributes): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}

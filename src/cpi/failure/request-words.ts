import type { ApiRequest } from '../../kubernetes/api-error.ts';

const gerunds: Readonly<Record<ApiRequest['method'], string>> = {
  GET: 'reading',
  POST: 'creating',
  PUT: 'replacing',
  PATCH: 'changing',
  DELETE: 'deleting',
};

/**
 * Describes a request by its object: `creating pods in namespace bosh`, `deleting pods vm-1 in namespace
 * bosh`.
 */
export function describeRequest({ method, path }: ApiRequest): string {
  const parts =
    /^\/apis?\/(?:[^/]+\/)?v[^/]+(?:\/namespaces\/([^/]+))?\/([^/?]+)(?:\/([^/?]+))?(?:\/([^/?]+))?/u.exec(
      path,
    );
  if (parts === null) return `${gerunds[method]} ${path}`;
  const [, namespace, plural = '', name, subresource] = parts;
  const words = [
    subresource === undefined ? gerunds[method] : `using ${subresource} of`,
    plural,
    ...(name === undefined ? [] : [name]),
    ...(namespace === undefined ? [] : [`in namespace ${namespace}`]),
  ];
  return words.join(' ');
}

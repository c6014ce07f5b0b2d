import type { Resource } from './api.ts';

/**
 * Returns `/api/v1/namespaces/<ns>/pods/<name>`. Without a namespace the path covers all namespaces, without
 * a name it is the collection. Throws a plain Error for an invalid name, because it would address another
 * object.
 */
export function resourcePath(
  resource: Resource,
  namespace: string | undefined,
  ...rest: readonly string[]
): string {
  const root = resource.group === '' ? '/api' : `/apis/${resource.group}`;
  const scope = resource.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  const below = rest.map((text) => `/${segment(text)}`).join('');
  return `${root}/${resource.version}${scope}/${resource.plural}${below}`;
}

function segment(text: string): string {
  if (text === '' || text === '.' || text === '..' || text.includes('/') || text.includes('%')) {
    throw new Error(`not a path segment of the Kubernetes API: ${JSON.stringify(text)}`);
  }
  return encodeURIComponent(text);
}

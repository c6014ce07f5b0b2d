import type { Resource } from './api.ts';

/**
 * `/api/v1/namespaces/<ns>/pods/<name>`; without a namespace all of them, without a name the collection.
 * Throws a plain Error for a name that cannot be one, because it would address something else.
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

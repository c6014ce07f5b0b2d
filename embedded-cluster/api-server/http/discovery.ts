import type { Kind } from '../kinds/kind.ts';
import type { JsonRecord } from '../schema/json.ts';

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  /**
   * The group and version of the object that is sent, if they differ from the resource's: kubectl drain looks
   * for them.
   */
  readonly of?: { readonly group: string; readonly version: string };
}

/** Returns the subresources of a kind, as discovery lists them. */
function subresourcesOf(kind: Kind): Subresource[] {
  const status = kind.hasStatus
    ? [{ name: 'status', kind: kind.name, verbs: ['get', 'patch', 'update'] }]
    : [];
  switch (kind.name) {
    case 'Pod':
      return [
        ...status,
        { name: 'binding', kind: 'Binding', verbs: ['create'] },
        { name: 'eviction', kind: 'Eviction', verbs: ['create'], of: { group: 'policy', version: 'v1' } },
        { name: 'exec', kind: 'PodExecOptions', verbs: ['create', 'get'] },
        { name: 'log', kind: 'Pod', verbs: ['get'] },
      ];
    case 'Namespace':
      return [...status, { name: 'finalize', kind: 'Namespace', verbs: ['update'] }];
    case 'ServiceAccount':
      return [
        {
          ...{ name: 'token', kind: 'TokenRequest', verbs: ['create'] },
          of: { group: 'authentication.k8s.io', version: 'v1' },
        },
      ];
    default:
      return status;
  }
}

const verbsOf = (kind: Kind): string[] => (kind.review === undefined ? allVerbs : ['create']);

/** Returns the metav1.APIResourceList of a group and version; undefined if it has no kinds. */
export function resourceList(kinds: Iterable<Kind>, group: string, version: string): JsonRecord | undefined {
  const resources = isInGroup(kinds, group).filter(({ resource }) => resource.version === version);
  if (resources.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: resources.flatMap((kind) => [
      {
        name: kind.resource.plural,
        singularName: kind.singular,
        namespaced: kind.resource.namespaced,
        kind: kind.name,
        verbs: verbsOf(kind),
        shortNames: kind.shortNames,
        categories: kind.categories,
      },
      ...subresourcesOf(kind).map((subresource) => ({
        name: `${kind.resource.plural}/${subresource.name}`,
        singularName: '',
        namespaced: kind.resource.namespaced,
        ...subresource.of,
        kind: subresource.kind,
        verbs: subresource.verbs,
      })),
    ]),
  };
}

/** Returns the metav1.APIGroup of a named group; undefined if the group does not exist. */
export function apiGroup(kinds: Iterable<Kind>, group: string): JsonRecord | undefined {
  const versions = versionsOf(kinds, group).map((version) => ({
    groupVersion: `${group}/${version}`,
    version,
  }));
  if (versions.length === 0 || group === '') return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', name: group, versions, preferredVersion: versions[0] };
}

/** Returns the metav1.APIGroupList of all named groups. */
export function apiGroupList(kinds: Iterable<Kind>): JsonRecord {
  const names = new Set([...kinds].map(({ resource }) => resource.group).filter((group) => group !== ''));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...names].map((name) => apiGroup(kinds, name)) };
}

function versionsOf(kinds: Iterable<Kind>, group: string): string[] {
  return [...new Set(isInGroup(kinds, group).map(({ resource }) => resource.version))];
}

function isInGroup(kinds: Iterable<Kind>, group: string): Kind[] {
  return [...kinds].filter(({ resource }) => resource.group === group);
}

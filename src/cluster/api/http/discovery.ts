import type { Kind } from '../kinds/kind.ts';
import type { JsonRecord } from '../schema/json.ts';

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

export const aggregatedDiscovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  /** Of the object that is sent, where it is another than the resource's: kubectl drain looks for it. */
  readonly of?: { readonly group: string; readonly version: string };
}

/** The subresources of a kind, as discovery lists them. */
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

/** metav1.APIResourceList of a group and version; undefined where it has no kinds. */
export function resourceList(kinds: Iterable<Kind>, group: string, version: string): JsonRecord | undefined {
  const resources = inGroup(kinds, group).filter(({ resource }) => resource.version === version);
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

/** metav1.APIGroup of a named group; undefined where there is none. */
export function groupOf(kinds: Iterable<Kind>, group: string): JsonRecord | undefined {
  const version = inGroup(kinds, group)[0]?.resource.version;
  if (version === undefined || group === '') return undefined;
  const entry = { groupVersion: `${group}/${version}`, version };
  return { kind: 'APIGroup', apiVersion: 'v1', name: group, versions: [entry], preferredVersion: entry };
}

/** metav1.APIGroupList of all named groups. */
export function groupList(kinds: Iterable<Kind>): JsonRecord {
  const names = new Set([...kinds].map(({ resource }) => resource.group).filter((group) => group !== ''));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...names].map((name) => groupOf(kinds, name)) };
}

/** apidiscovery.k8s.io/v2 APIGroupDiscoveryList: everything in one answer, for kubectl. `core`: the group of /api. */
export function aggregated(kinds: Iterable<Kind>, core: boolean): JsonRecord {
  const groups = new Set(
    [...kinds].map(({ resource }) => resource.group).filter((group) => (group === '') === core),
  );
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [...groups].map((group) => ({
      metadata: group === '' ? {} : { name: group },
      versions: [
        {
          version: inGroup(kinds, group)[0]?.resource.version,
          freshness: 'Current',
          resources: inGroup(kinds, group).map(discovered),
        },
      ],
    })),
  };
}

function discovered(kind: Kind): JsonRecord {
  const { group, version, plural, namespaced } = kind.resource;
  return {
    resource: plural,
    responseKind: { group, version, kind: kind.name },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    shortNames: kind.shortNames,
    categories: kind.categories,
    subresources: subresourcesOf(kind).map((subresource) => ({
      subresource: subresource.name,
      responseKind: { group, version, ...subresource.of, kind: subresource.kind },
      verbs: subresource.verbs,
    })),
  };
}

function inGroup(kinds: Iterable<Kind>, group: string): Kind[] {
  return [...kinds].filter(({ resource }) => resource.group === group);
}

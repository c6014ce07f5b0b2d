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
  const versions = versionsOf(kinds, group).map((version) => ({
    groupVersion: `${group}/${version}`,
    version,
  }));
  if (versions.length === 0 || group === '') return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', name: group, versions, preferredVersion: versions[0] };
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
      versions: versionsOf(kinds, group).map((version) => ({
        version,
        freshness: 'Current',
        resources: inGroup(kinds, group)
          .filter(({ resource }) => resource.version === version)
          .map(discovered),
      })),
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

/** The versions of a group, the preferred one first: stable before beta before alpha, high before low. */
function versionsOf(kinds: Iterable<Kind>, group: string): string[] {
  const names = new Set(inGroup(kinds, group).map(({ resource }) => resource.version));
  return [...names].toSorted((left, right) => compareVersions(right, left));
}

/** Kubernetes' order of versions (apimachinery pkg/version/helpers.go CompareKubeAwareVersionStrings). */
function compareVersions(left: string, right: string): number {
  const [one, other] = [rankOf(left), rankOf(right)];
  if (one === undefined || other === undefined) {
    if (one !== undefined || other !== undefined) return one === undefined ? -1 : 1;
    return left < right ? 1 : -1;
  }
  const differing = one.findIndex((part, index) => part !== other[index]);
  return differing < 0 ? 0 : (one[differing] ?? 0) - (other[differing] ?? 0);
}

function rankOf(version: string): number[] | undefined {
  const [, major, stage, minor] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
  if (major === undefined) return undefined;
  const stability = stage === undefined ? 2 : stage === 'beta' ? 1 : 0;
  return [stability, Number(major), Number(minor ?? 0)];
}

function inGroup(kinds: Iterable<Kind>, group: string): Kind[] {
  return [...kinds].filter(({ resource }) => resource.group === group);
}

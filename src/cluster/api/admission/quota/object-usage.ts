import type { Container, Pod } from '../../../../kubernetes/pod.ts';
import { parseMilli } from '../../../../kubernetes/quantity.ts';
import { at, textAt } from '../../kinds/columns.ts';
import type { StoredObject } from '../../store/stored-object.ts';

/** Thousandths by the name that a quota gives to it. */
export type Usage = ReadonlyMap<string, bigint>;

const one = 1000n;
const computeNames = ['cpu', 'memory', 'ephemeral-storage'];
/** Kinds that a quota may name without `count/`. */
const plainCounts = ['configmaps', 'persistentvolumeclaims', 'resourcequotas', 'secrets', 'services'];

/** What one object takes, by the names of kubernetes: pkg/quota/v1/evaluator/core. `resource`: `pods`, `roles.rbac…` */
export function objectUsage(resource: string, object: StoredObject): Usage {
  const counted: [string, bigint][] = [
    [`count/${resource}`, one],
    ...(plainCounts.includes(resource) ? [[resource, one] as [string, bigint]] : []),
  ];
  return new Map([...counted, ...ofKind(resource, object)]);
}

function ofKind(resource: string, object: StoredObject): [string, bigint][] {
  switch (resource) {
    case 'pods':
      return podUsage(object as unknown as Pod);
    case 'persistentvolumeclaims':
      return claimUsage(object);
    case 'services':
      return serviceUsage(object);
    default:
      return [];
  }
}

/** A pod that has ended counts as an object and for nothing else. */
function podUsage({ spec, status }: Pod): [string, bigint][] {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return [];
  return [
    ['pods', one],
    ...extendedOf(spec).map((name): [string, bigint] => [`requests.${name}`, total(spec, 'requests', name)]),
    ...computeNames.flatMap((name): [string, bigint][] => {
      const requested = total(spec, 'requests', name);
      return [
        [name, requested],
        [`requests.${name}`, requested],
        [`limits.${name}`, total(spec, 'limits', name)],
      ];
    }),
  ];
}

function extendedOf({ containers, initContainers = [] }: Pod['spec']): string[] {
  const named = [...containers, ...initContainers].flatMap(({ resources }) =>
    Object.keys(resources?.requests ?? {}),
  );
  return [...new Set(named)].filter((name) => name.includes('/'));
}

/** The sum of the containers, or the largest init container where that is more. */
function total(spec: Pod['spec'], part: 'requests' | 'limits', name: string): bigint {
  const amount = ({ resources }: Container): bigint => parseMilli(resources?.[part]?.[name] ?? '0') ?? 0n;
  const sum = spec.containers.reduce((all, container) => all + amount(container), 0n);
  return (spec.initContainers ?? []).map(amount).reduce((most, next) => (next > most ? next : most), sum);
}

function claimUsage(object: StoredObject): [string, bigint][] {
  const storageClass = textAt(object, ['spec', 'storageClassName']);
  const requested = parseMilli(textAt(object, ['spec', 'resources', 'requests', 'storage'], '0')) ?? 0n;
  const prefix = `${storageClass}.storageclass.storage.k8s.io/`;
  return [
    ['requests.storage', requested],
    ...(storageClass === ''
      ? []
      : ([
          [`${prefix}requests.storage`, requested],
          [`${prefix}persistentvolumeclaims`, one],
        ] as [string, bigint][])),
  ];
}

function serviceUsage(object: StoredObject): [string, bigint][] {
  const type = at(object, 'spec', 'type');
  const ports = at(object, 'spec', 'ports');
  const count = BigInt(Array.isArray(ports) ? ports.length : 0) * one;
  return [
    ['services.loadbalancers', type === 'LoadBalancer' ? one : 0n],
    ['services.nodeports', type === 'NodePort' || type === 'LoadBalancer' ? count : 0n],
  ];
}

/** Names of what each container of a pod has to say, where a quota limits it, and who does not: `limits.cpu for: c`. */
export function unspecified(hard: readonly string[], { spec }: Pod): string[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory']
    .filter((name) => hard.includes(name))
    .flatMap((name) => {
      const [part, resource = part] = name.split('.');
      const where = part === 'limits' ? 'limits' : 'requests';
      const silent = containers.filter(({ resources }) => resources?.[where]?.[resource ?? ''] === undefined);
      return silent.length === 0
        ? []
        : [
            `${name} for: ${silent
              .map((item) => item.name)
              .toSorted()
              .join(',')}`,
          ];
    });
}

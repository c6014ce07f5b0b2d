import { services } from '../../../../src/kubernetes/resources.ts';
import type { Service } from '../../../../src/kubernetes/types/service.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { allocateForCreate, allocateForUpdate } from './service-allocation.ts';
import { fillServiceDefaults } from './service-defaults.ts';
import { serviceSchema } from './service-schema.ts';
import { validateService, validateServiceUpdate } from './service-validation.ts';

const serviceOf = (object: StoredObject): Service => object as unknown as Service;

/** Returns the column of printers/internalversion getServiceExternalIP. */
function externalAddress(object: StoredObject): string {
  const { spec, status } = serviceOf(object);
  if (spec.type !== 'LoadBalancer') return '<none>';
  const given = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? '');
  return given.length === 0 ? '<pending>' : given.join(',');
}

function ports(object: StoredObject): string {
  const shown = (serviceOf(object).spec.ports ?? []).map(
    ({ port, nodePort, protocol }) =>
      `${port}${nodePort === undefined ? '' : `:${nodePort}`}/${protocol ?? 'TCP'}`,
  );
  return shown.length === 0 ? '<none>' : shown.join(',');
}

function selector(object: StoredObject): string {
  const pairs = Object.entries(serviceOf(object).spec.selector ?? {}).map(
    ([key, value]) => `${key}=${value}`,
  );
  return pairs.length === 0 ? '<none>' : pairs.toSorted().join(',');
}

export const serviceKind: Kind = {
  resource: services,
  name: 'Service',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  schema: serviceSchema,
  hasStatus: true,
  countsGenerations: false,
  nameRule: 'label',
  columns: [
    nameColumn,
    column('Type', (object) => serviceOf(object).spec.type ?? ''),
    column('Cluster-IP', (object) => serviceOf(object).spec.clusterIP ?? '<none>'),
    column('External-IP', externalAddress),
    column('Port(s)', ports),
    ageColumn,
    column('Selector', selector, { wide: true }),
  ],
  fillDefaults: fillServiceDefaults,
  prepareCreate: allocateForCreate,
  prepareUpdate: allocateForUpdate,
  validate: validateService,
  validateUpdate: validateServiceUpdate,
  selectableFields: (object) => ({
    'spec.clusterIP': serviceOf(object).spec?.clusterIP ?? '',
    'spec.type': serviceOf(object).spec?.type ?? '',
  }),
};

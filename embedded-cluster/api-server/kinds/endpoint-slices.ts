import { isIPv4, isIPv6 } from 'node:net';
import { endpointSlices } from '../../../src/kubernetes/resources.ts';
import type { EndpointSlice } from '../../../src/kubernetes/types/service.ts';
import { duplicate, invalidValue, required, unsupportedValue, type Cause } from '../errors/field-causes.ts';
import { fields, boolean, integer, kindSchema, array, string } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';
import { checkImmutable } from './object-meta.ts';
import { duplicateIndexes } from './repeated-places.ts';

const maxEndpoints = { endpoints: 1000, ports: 20_000, shown: 3 } as const;
const addressTypes = ['FQDN', 'IPv4', 'IPv6'];

const sliceOf = (object: MutableObject | StoredObject): EndpointSlice => object as unknown as EndpointSlice;

/**
 * Validates as pkg/apis/discovery/validation does, but accepts loopback addresses: the pods of this cluster
 * have them.
 */
function validate(draft: MutableObject): Cause[] {
  const { addressType } = sliceOf(draft);
  const endpoints = sliceOf(draft).endpoints ?? [];
  const ports = sliceOf(draft).ports ?? [];
  const names = ports.map(({ name = '' }) => name);
  return [
    ...(addressType === undefined
      ? [required('addressType')]
      : addressTypes.includes(addressType)
        ? []
        : [unsupportedValue('addressType', addressType, addressTypes)]),
    ...(endpoints.length > maxEndpoints.endpoints
      ? [invalidValue('endpoints', endpoints.length, `must have at most ${maxEndpoints.endpoints} items`)]
      : []),
    ...endpoints.flatMap(({ addresses }, index) =>
      checkAddresses(`endpoints[${index}].addresses`, addresses, addressType),
    ),
    ...[...duplicateIndexes(names)].map((index) => duplicate(`ports[${index}].name`, names[index])),
  ];
}

function checkAddresses(field: string, addresses: readonly string[] | undefined, type: string): Cause[] {
  if (addresses === undefined) return [required(field, 'must contain at least 1 address')];
  const isRight = type === 'IPv4' ? isIPv4 : type === 'IPv6' ? isIPv6 : (): boolean => true;
  return addresses.flatMap((address, index) =>
    isRight(address) ? [] : [invalidValue(`${field}[${index}]`, address, `must be a valid ${type} address`)],
  );
}

/** Joins values as printers/internalversion listWithMoreString does. */
function joinForColumn(all: readonly string[]): string {
  if (all.length === 0) return '<unset>';
  const more = all.length > maxEndpoints.shown ? ` + ${all.length - maxEndpoints.shown} more...` : '';
  return `${all.slice(0, maxEndpoints.shown).join(',')}${more}`;
}

export const endpointSliceKind: Kind = {
  resource: endpointSlices,
  name: 'EndpointSlice',
  singular: 'endpointslice',
  shortNames: [],
  categories: [],
  schema: kindSchema({
    addressType: string,
    endpoints: array(
      fields({
        addresses: array(string),
        conditions: fields({ ready: boolean, serving: boolean, terminating: boolean }),
        hostname: string,
        nodeName: string,
        zone: string,
        targetRef: fields({ kind: string, namespace: string, name: string, uid: string }),
      }),
    ),
    ports: array(fields({ name: string, protocol: string, port: integer, appProtocol: string })),
  }),
  hasStatus: false,
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('AddressType', (object) => sliceOf(object).addressType),
    column('Ports', (object) =>
      joinForColumn((sliceOf(object).ports ?? []).map(({ port }) => String(port ?? '*'))),
    ),
    column('Endpoints', (object) =>
      joinForColumn((sliceOf(object).endpoints ?? []).flatMap(({ addresses }) => addresses)),
    ),
    ageColumn,
  ],
  fillDefaults: (draft) => {
    const slice = sliceOf(draft);
    // Both are written even if they are empty: Go has these lists without omitempty.
    if ((slice.endpoints ?? []).length === 0) slice.endpoints = null;
    if ((slice.ports ?? []).length === 0) slice.ports = null;
    for (const port of slice.ports ?? []) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  validate,
  validateUpdate: (draft, current) =>
    checkImmutable('addressType', sliceOf(draft).addressType, sliceOf(current).addressType),
};

import { isIPv4, isIPv6 } from 'node:net';
import { endpointSlices } from '../../../kubernetes/resources.ts';
import type { EndpointSlice } from '../../../kubernetes/service.ts';
import { duplicate, invalidValue, required, unsupportedValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { fields, flag, integer, kindSchema, listOf, text } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import type { Draft, Kind } from './kind.ts';
import { checkImmutable } from './object-meta.ts';
import { repeatedPlaces } from './repeated-places.ts';

const most = { endpoints: 1000, ports: 20_000, shown: 3 } as const;
const addressTypes = ['FQDN', 'IPv4', 'IPv6'];

const sliceOf = (object: Draft | StoredObject): EndpointSlice => object as unknown as EndpointSlice;

/** pkg/apis/discovery/validation, without its refusal of loopback addresses: that is where our pods live. */
function validate(draft: Draft): Cause[] {
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
    ...(endpoints.length > most.endpoints
      ? [invalidValue('endpoints', endpoints.length, `must have at most ${most.endpoints} items`)]
      : []),
    ...endpoints.flatMap(({ addresses }, index) =>
      checkAddresses(`endpoints[${index}].addresses`, addresses, addressType),
    ),
    ...[...repeatedPlaces(names)].map((index) => duplicate(`ports[${index}].name`, names[index])),
  ];
}

function checkAddresses(field: string, addresses: readonly string[] | undefined, type: string): Cause[] {
  if (addresses === undefined) return [required(field, 'must contain at least 1 address')];
  const isRight = type === 'IPv4' ? isIPv4 : type === 'IPv6' ? isIPv6 : (): boolean => true;
  return addresses.flatMap((address, index) =>
    isRight(address) ? [] : [invalidValue(`${field}[${index}]`, address, `must be a valid ${type} address`)],
  );
}

/** printers/internalversion listWithMoreString. */
function listed(all: readonly string[]): string {
  if (all.length === 0) return '<unset>';
  const more = all.length > most.shown ? ` + ${all.length - most.shown} more...` : '';
  return `${all.slice(0, most.shown).join(',')}${more}`;
}

export const endpointSliceKind: Kind = {
  resource: endpointSlices,
  name: 'EndpointSlice',
  singular: 'endpointslice',
  shortNames: [],
  categories: [],
  schema: kindSchema({
    addressType: text,
    endpoints: listOf(
      fields({
        addresses: listOf(text),
        conditions: fields({ ready: flag, serving: flag, terminating: flag }),
        hostname: text,
        nodeName: text,
        zone: text,
        targetRef: fields({ kind: text, namespace: text, name: text, uid: text }),
      }),
    ),
    ports: listOf(fields({ name: text, protocol: text, port: integer, appProtocol: text })),
  }),
  hasStatus: false,
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('AddressType', (object) => sliceOf(object).addressType),
    column('Ports', (object) => listed((sliceOf(object).ports ?? []).map(({ port }) => String(port ?? '*')))),
    column('Endpoints', (object) =>
      listed((sliceOf(object).endpoints ?? []).flatMap(({ addresses }) => addresses)),
    ),
    ageColumn,
  ],
  fillDefaults: (draft) => {
    const slice = sliceOf(draft);
    // neither is left out where it is empty: a slice of Go without omitempty
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

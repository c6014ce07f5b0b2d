import { isDnsLabel } from '../../kubernetes/names.ts';
import type { ServicePort } from '../../kubernetes/service.ts';
import type { Json, Place } from '../input.ts';
import { at, optionalStringAt, positiveIntegerAt, recordAt, refuseUnknownKeys, wrong } from '../input.ts';

export interface PortRequest {
  readonly name: string | undefined;
  readonly port: number;
  /** Absent: the same. */
  readonly targetPort: number | undefined;
  readonly nodePort: number | undefined;
  readonly protocol: (typeof protocols)[number];
}

const protocols = ['TCP', 'UDP', 'SCTP'] as const;
const highest = 65_535;

/** A list of `{name, port, target_port, node_port, protocol}`. Throws INVALID_ARGUMENT. */
export function parsePorts(value: unknown, place: Place): readonly PortRequest[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrong(place, 'has to be a list');
  const ports = value.map((item: unknown, index) =>
    portAt(recordAt(item, at(place, index)), at(place, index)),
  );
  if (ports.length > 1 && ports.some(({ name }) => name === undefined))
    throw wrong(place, 'has several ports, so each needs a name');
  refuseRepeated(
    ports.map(({ name }) => name),
    place,
    'names',
  );
  refuseRepeated(
    ports.map(({ port, protocol }) => `${port}/${protocol}`),
    place,
    'ports',
  );
  refuseRepeated(
    ports.map(({ nodePort }) => nodePort?.toString()),
    place,
    'node ports',
  );
  return ports;
}

/** What Kubernetes reads; what is left out there is its default. */
export const toServicePorts = (ports: readonly PortRequest[]): ServicePort[] =>
  ports.map(({ name, port, targetPort, nodePort, protocol }) => ({
    ...(name !== undefined && { name }),
    protocol,
    port,
    targetPort: targetPort ?? port,
    ...(nodePort !== undefined && { nodePort }),
  }));

function portAt(given: Json, place: Place): PortRequest {
  refuseUnknownKeys(given, ['name', 'port', 'target_port', 'node_port', 'protocol'], place);
  const name = optionalStringAt(given['name'], at(place, 'name'));
  if (name !== undefined && !isDnsLabel(name)) throw wrong(at(place, 'name'), 'is not a DNS label');
  const protocol = protocols.find((known) => known === (given['protocol'] ?? 'TCP'));
  if (protocol === undefined) throw wrong(at(place, 'protocol'), `has to be one of ${protocols.join(', ')}`);
  return {
    name,
    port: numberAt(given['port'], at(place, 'port')),
    targetPort: optionalNumberAt(given['target_port'], at(place, 'target_port')),
    nodePort: optionalNumberAt(given['node_port'], at(place, 'node_port')),
    protocol,
  };
}

function numberAt(value: unknown, place: Place): number {
  const port = positiveIntegerAt(value, place);
  if (port > highest) throw wrong(place, `has to be a port, 1 to ${highest}`);
  return port;
}

const optionalNumberAt = (value: unknown, place: Place): number | undefined =>
  value === undefined || value === null ? undefined : numberAt(value, place);

function refuseRepeated(values: readonly (string | undefined)[], place: Place, what: string): void {
  const given = values.filter((value) => value !== undefined);
  if (new Set(given).size < given.length) throw wrong(place, `has ${what} twice`);
}

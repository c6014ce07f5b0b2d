import { isDnsLabel } from '../../kubernetes/names.ts';
import type { ServicePort } from '../../kubernetes/service.ts';
import type { Json, Location } from '../input.ts';
import {
  child,
  optionalStringAt,
  positiveIntegerAt,
  recordAt,
  rejectUnknownKeys,
  invalidValue,
} from '../input.ts';

export interface PortRequest {
  readonly name: string | undefined;
  readonly port: number;
  /** Absent: the same as `port`. */
  readonly targetPort: number | undefined;
  readonly nodePort: number | undefined;
  readonly protocol: (typeof protocols)[number];
}

const protocols = ['TCP', 'UDP', 'SCTP'] as const;
const maxPort = 65_535;

/** Parses a list of `{name, port, target_port, node_port, protocol}`. Throws INVALID_ARGUMENT. */
export function parsePorts(value: unknown, place: Location): readonly PortRequest[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidValue(place, 'has to be a list');
  const ports = value.map((item: unknown, index) =>
    portAt(recordAt(item, child(place, index)), child(place, index)),
  );
  if (ports.length > 1 && ports.some(({ name }) => name === undefined))
    throw invalidValue(place, 'has several ports, so each needs a name');
  rejectDuplicates(
    ports.map(({ name }) => name),
    place,
    'names',
  );
  rejectDuplicates(
    ports.map(({ port, protocol }) => `${port}/${protocol}`),
    place,
    'ports',
  );
  rejectDuplicates(
    ports.map(({ nodePort }) => nodePort?.toString()),
    place,
    'node ports',
  );
  return ports;
}

/** Returns the ports in the form of Kubernetes, which sets defaults for absent fields. */
export const toServicePorts = (ports: readonly PortRequest[]): ServicePort[] =>
  ports.map(({ name, port, targetPort, nodePort, protocol }) => ({
    ...(name !== undefined && { name }),
    protocol,
    port,
    targetPort: targetPort ?? port,
    ...(nodePort !== undefined && { nodePort }),
  }));

function portAt(given: Json, place: Location): PortRequest {
  rejectUnknownKeys(given, ['name', 'port', 'target_port', 'node_port', 'protocol'], place);
  const name = optionalStringAt(given['name'], child(place, 'name'));
  if (name !== undefined && !isDnsLabel(name)) throw invalidValue(child(place, 'name'), 'is not a DNS label');
  const protocol = protocols.find((known) => known === (given['protocol'] ?? 'TCP'));
  if (protocol === undefined)
    throw invalidValue(child(place, 'protocol'), `has to be one of ${protocols.join(', ')}`);
  return {
    name,
    port: numberAt(given['port'], child(place, 'port')),
    targetPort: optionalNumberAt(given['target_port'], child(place, 'target_port')),
    nodePort: optionalNumberAt(given['node_port'], child(place, 'node_port')),
    protocol,
  };
}

function numberAt(value: unknown, place: Location): number {
  const port = positiveIntegerAt(value, place);
  if (port > maxPort) throw invalidValue(place, `has to be a port, 1 to ${maxPort}`);
  return port;
}

const optionalNumberAt = (value: unknown, place: Location): number | undefined =>
  value === undefined || value === null ? undefined : numberAt(value, place);

function rejectDuplicates(values: readonly (string | undefined)[], place: Location, what: string): void {
  const given = values.filter((value) => value !== undefined);
  if (new Set(given).size < given.length) throw invalidValue(place, `has ${what} twice`);
}

import type { ServicePort, ServiceSpec } from '../../../../src/kubernetes/types/service.ts';
import {
  duplicate,
  forbiddenField,
  invalidValue,
  unsupported,
  required,
  unsupportedValue,
  type Cause,
} from '../../errors/field-causes.ts';
import { checkName, checkQualifiedName } from '../names.ts';
import { isHeadless } from './service-defaults.ts';

const protocols = ['SCTP', 'TCP', 'UDP'];

/** Returns the causes for the ports of a Service: for each port, and for ports that conflict. */
export function checkPorts(spec: ServiceSpec): Cause[] {
  const { ports = [] } = spec;
  if (ports.length === 0) return isHeadless(spec) ? [] : [required('spec.ports')];
  return [
    ...ports.flatMap((port, index) => checkPort(spec, port, index)),
    ...repeated(ports, ({ name }) => name, 'name'),
    ...repeated(ports, ({ port, protocol }) => `${port}/${protocol ?? ''}`, ''),
    ...repeated(ports, ({ nodePort }) => nodePort?.toString(), 'nodePort'),
  ];
}

function checkPort(spec: ServiceSpec, port: ServicePort, index: number): Cause[] {
  const field = `spec.ports[${index}]`;
  const { targetPort = 0 } = port;
  return [
    ...checkNameOf(spec, port, `${field}.name`),
    ...checkNumber(`${field}.port`, port.port),
    ...checkProtocol(spec, port.protocol ?? '', `${field}.protocol`),
    ...(typeof targetPort === 'number'
      ? checkNumber(`${field}.targetPort`, targetPort)
      : checkPortName(`${field}.targetPort`, targetPort)),
    ...checkNodePort(spec, port, `${field}.nodePort`),
    ...(port.appProtocol === undefined ? [] : checkQualifiedName(`${field}.appProtocol`, port.appProtocol)),
  ];
}

function checkNameOf(spec: ServiceSpec, { name = '' }: ServicePort, field: string): Cause[] {
  if (name !== '') return checkName(field, name, 'label');
  return (spec.ports ?? []).length > 1 ? [required(field)] : [];
}

/** A headless Service has no proxy, so its ports are only published and may have any protocol. */
function checkProtocol(spec: ServiceSpec, protocol: string, field: string): Cause[] {
  if (!protocols.includes(protocol)) return [unsupportedValue(field, protocol, protocols)];
  return protocol === 'TCP' || isHeadless(spec)
    ? []
    : [unsupported(field, `${protocol}: its Services are TCP proxies`)];
}

function checkNodePort(
  { type = 'ClusterIP' }: ServiceSpec,
  { nodePort }: ServicePort,
  field: string,
): Cause[] {
  return nodePort === undefined || type === 'NodePort' || type === 'LoadBalancer'
    ? []
    : [forbiddenField(field, `may not be used when \`type\` is '${type}'`)];
}

/** A missing port is 0, as in a real server. */
function checkNumber(field: string, port = 0): Cause[] {
  return port >= 1 && port <= 65_535
    ? []
    : [invalidValue(field, port, 'must be between 1 and 65535, inclusive')];
}

/**
 * Checks for IANA_SVC_NAME, the form of container port names (apimachinery pkg/util/validation
 * IsValidPortName).
 */
function checkPortName(field: string, name: string): Cause[] {
  const texts = [
    name.length > 15 ? 'must be no more than 15 characters' : undefined,
    /^[-a-z0-9]+$/u.test(name)
      ? undefined
      : 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    /[a-z]/u.test(name) ? undefined : 'must contain at least one letter (a-z)',
    name.includes('--') ? 'must not contain consecutive hyphens' : undefined,
    name.startsWith('-') || name.endsWith('-') ? 'must not begin or end with a hyphen' : undefined,
  ];
  return texts.filter((detail) => detail !== undefined).map((detail) => invalidValue(field, name, detail));
}

function repeated(
  ports: readonly ServicePort[],
  keyOf: (port: ServicePort) => string | undefined,
  member: string,
): Cause[] {
  const seen = new Set<string>();
  return ports.flatMap((port, index) => {
    const key = keyOf(port);
    if (key === undefined) return [];
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew ? [] : [duplicate(`spec.ports[${index}]${member === '' ? '' : `.${member}`}`, key)];
  });
}

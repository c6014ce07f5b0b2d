import { isIPv6 } from 'node:net';
import type { Service, ServicePort } from '../../../kubernetes/service.ts';

/**
 * The variables by which containers find the Services of their namespace (kubelet: pkg/kubelet/envvars, FromServices): host
 * and ports of each, and the older form of Docker's links. Headless Services have none. Pure.
 */
export function serviceLinks(services: readonly Service[]): Map<string, string> {
  return new Map(services.flatMap(variablesOf));
}

function variablesOf({ metadata, spec }: Service): [string, string][] {
  const { clusterIP: host = '', ports = [] } = spec;
  const [first] = ports;
  if (host === '' || host === 'None' || first === undefined) return [];
  const service = variableName(metadata.name ?? '');
  return [
    [`${service}_SERVICE_HOST`, host],
    [`${service}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap(({ name = '', port }): [string, string][] =>
      name === '' ? [] : [[`${service}_SERVICE_PORT_${variableName(name)}`, String(port)]],
    ),
    [`${service}_PORT`, urlOf(host, first)],
    ...ports.flatMap((port) => linkOf(service, host, port)),
  ];
}

function linkOf(service: string, host: string, given: ServicePort): [string, string][] {
  const { port, protocol = 'TCP' } = given;
  const link = `${service}_PORT_${port}_${protocol.toUpperCase()}`;
  return [
    [link, urlOf(host, given)],
    [`${link}_PROTO`, protocol.toLowerCase()],
    [`${link}_PORT`, String(port)],
    [`${link}_ADDR`, host],
  ];
}

const urlOf = (host: string, { port, protocol = 'TCP' }: ServicePort): string =>
  `${protocol.toLowerCase()}://${isIPv6(host) ? `[${host}]` : host}:${port}`;

const variableName = (name: string): string => name.toUpperCase().replaceAll('-', '_');

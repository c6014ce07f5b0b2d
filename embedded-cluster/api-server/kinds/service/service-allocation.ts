import { services } from '../../../../src/kubernetes/resources.ts';
import type { Service, ServiceSpec } from '../../../../src/kubernetes/types/service.ts';
import { invalidValue } from '../../errors/field-causes.ts';
import { internalError, invalid } from '../../errors/status-errors.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import type { AdmissionContext, MutableObject } from '../kind.ts';
import { asService, isHeadless, needsNodePorts } from './service-schema.ts';
import { validateService } from './service-validation.ts';

interface AllocationRange {
  readonly first: number;
  readonly size: number;
  readonly staticBandSize: number;
}

/**
 * Addresses of Services: the top of the loopback range that the embedded cluster uses, which pods do not use
 * (node/pods/pod-addresses.ts). Addresses that are not requested explicitly come from above the first 256,
 * because Kubernetes keeps the lower band for explicit requests (KEP-3070).
 */
export const serviceRange = {
  text: '127.127.0.0/16',
  first: 0x7f7f0000,
  size: 0x10000,
  staticBandSize: 256,
} as const;

/** NodePorts. The lower band is for explicit requests (KEP-3668). */
export const nodePortRange = { text: '30000-32767', first: 30_000, size: 2_768, staticBandSize: 86 } as const;

/**
 * Allocates the address and node ports of a new Service. Throws ApiError 422 if a requested one is taken or
 * out of range.
 */
export function allocateForCreate(draft: MutableObject, context: AdmissionContext): void {
  // Validation reports an invalid Service afterwards.
  if (validateService(draft).length > 0) return;
  allocate(draft, context);
  draft['status'] = { loadBalancer: {} };
}

/**
 * Keeps the allocated values of a Service on an update, allocates those that its new type needs, and releases
 * those that it does not need (kubernetes pkg/registry/core/service/storage/storage.go patchAllocatedValues,
 * strategy.go dropTypeDependentFields).
 */
export function allocateForUpdate(
  draft: MutableObject,
  current: StoredObject,
  context: AdmissionContext,
): void {
  const { spec } = asService(draft);
  const before = (current as unknown as Service).spec;
  if ((spec.clusterIP ?? '') === '' && before.clusterIP !== undefined) {
    spec.clusterIP = before.clusterIP;
    if (before.clusterIPs !== undefined) spec.clusterIPs = [...before.clusterIPs];
  }
  if (needsNodePorts(spec)) reuseNodePorts(spec, before);
  else dropNodePorts(spec, before);
  dropTypeDependentFields(spec, before);
  if (validateService(draft).length === 0) allocate(draft, context);
}

function allocate(draft: MutableObject, context: AdmissionContext): void {
  const service = asService(draft);
  const others = (context.list(services) as unknown as Service[]).filter(
    ({ metadata }) => metadata.uid !== draft.metadata.uid,
  );
  const start = Number.parseInt(draft.metadata.uid.slice(0, 6), 16) || 0;
  if (!isHeadless(service.spec)) allocateAddress(service, others, start);
  if (needsNodePorts(service.spec)) allocateNodePorts(service, others, start);
}

function allocateAddress({ metadata, spec }: Service, others: readonly Service[], start: number): void {
  const taken = new Set(others.map((other) => other.spec.clusterIP));
  const requested = spec.clusterIP ?? '';
  if (requested === '') {
    const number = pickFree(serviceRange, (value) => taken.has(addressText(value)), start);
    if (number === undefined) throw internalError('failed to allocate a serviceIP: range is full');
    spec.clusterIP = addressText(number);
  } else if (!isServiceAddress(requested)) {
    throw allocationError(
      metadata.name,
      'spec.clusterIPs',
      [requested],
      `failed to allocate IP ${requested}: the provided network does not match the current range`,
    );
  } else if (taken.has(requested)) {
    throw allocationError(
      metadata.name,
      'spec.clusterIPs',
      [requested],
      `failed to allocate IP ${requested}: provided IP is already allocated`,
    );
  }
  spec.clusterIPs = [spec.clusterIP ?? ''];
}

function allocateNodePorts({ metadata, spec }: Service, others: readonly Service[], start: number): void {
  const ports = spec.ports ?? [];
  const taken = new Set(others.flatMap((other) => (other.spec.ports ?? []).map(({ nodePort }) => nodePort)));
  for (const [index, { nodePort }] of ports.entries()) {
    const field = `spec.ports[${index}].nodePort`;
    if (nodePort === undefined) continue;
    if (!isNodePort(nodePort)) {
      throw allocationError(
        metadata.name,
        field,
        nodePort,
        `provided port is not in the valid range. The range of valid ports is ${nodePortRange.text}`,
      );
    }
    if (taken.has(nodePort))
      throw allocationError(metadata.name, field, nodePort, 'provided port is already allocated');
    taken.add(nodePort);
  }
  for (const port of ports) {
    if (port.nodePort !== undefined) continue;
    const number = pickFree(nodePortRange, (value) => taken.has(value), start);
    if (number === undefined) throw internalError('failed to allocate a nodePort: range is full');
    port.nodePort = number;
    taken.add(number);
  }
}

/** Matches ports by name, whatever else of them has changed. */
function reuseNodePorts(spec: ServiceSpec, before: ServiceSpec): void {
  const requested = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
  const previousPorts = new Map((before.ports ?? []).map((port) => [port.name, port]));
  for (const port of spec.ports ?? []) {
    const previous = previousPorts.get(port.name);
    if (
      port.nodePort === undefined &&
      previous?.nodePort !== undefined &&
      !requested.has(previous.nodePort)
    ) {
      port.nodePort = previous.nodePort;
    }
  }
}

/**
 * Drops node ports that are carried over from the old object, if the new type does not use node ports.
 * Explicitly requested ones are kept, so that validation rejects them.
 */
function dropNodePorts(spec: ServiceSpec, before: ServiceSpec): void {
  if (!needsNodePorts(before)) return;
  const previous = new Set((before.ports ?? []).map(({ nodePort }) => nodePort));
  for (const port of spec.ports ?? []) if (previous.has(port.nodePort)) delete port.nodePort;
}

function dropTypeDependentFields(spec: ServiceSpec, before: ServiceSpec): void {
  if (spec.type === before.type) return;
  if (spec.type === 'ClusterIP' && spec.externalTrafficPolicy === before.externalTrafficPolicy) {
    delete spec.externalTrafficPolicy;
  }
  if (spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts === before.allocateLoadBalancerNodePorts) {
      delete spec.allocateLoadBalancerNodePorts;
    }
    if (spec.loadBalancerClass === before.loadBalancerClass) delete spec.loadBalancerClass;
  }
}

function allocationError(name: string | undefined, field: string, value: unknown, detail: string): Error {
  return invalid('Service', '', name ?? '', [invalidValue(field, value, detail)]);
}

export const addressText = (value: number): string =>
  [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');

const addressNumber = (address: string): number =>
  address.split('.').reduce((value, part) => value * 256 + Number(part), 0);

/**
 * Returns true for an IPv4 address that a Service may have; the network address and the broadcast address are
 * excluded.
 */
export function isServiceAddress(address: string): boolean {
  const offset = addressNumber(address) - serviceRange.first;
  return offset > 0 && offset < serviceRange.size - 1;
}

function isNodePort(port: number): boolean {
  return port >= nodePortRange.first && port < nodePortRange.first + nodePortRange.size;
}

/**
 * Returns a free number: first from the upper band, starting at `start` and wrapping, then from the lower
 * band. Returns undefined if all are taken. Different starts spread the choices, which delays reuse of
 * released numbers.
 */
export function pickFree(
  { first, size, staticBandSize }: AllocationRange,
  isTaken: (number: number) => boolean,
  start: number,
): number | undefined {
  const upper = size - staticBandSize - 1;
  for (let tried = 0; tried < upper; tried += 1) {
    const number = first + staticBandSize + ((start + tried) % upper);
    if (!isTaken(number)) return number;
  }
  for (let number = first + 1; number < first + staticBandSize; number += 1) {
    if (!isTaken(number)) return number;
  }
  return undefined;
}

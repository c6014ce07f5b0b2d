import { services } from '../../../../src/kubernetes/resources.ts';
import type { Service, ServiceSpec } from '../../../../src/kubernetes/types/service.ts';
import { invalidValue } from '../../errors/field-causes.ts';
import { internalError, invalid } from '../../errors/status-errors.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import type { AdmissionContext, MutableObject } from '../kind.ts';
import { asService, isHeadless, needsNodePorts } from './service-defaults.ts';
import {
  addressText,
  isNodePort,
  isServiceAddress,
  nodePortRange,
  pickFree,
  serviceRange,
} from './service-ranges.ts';
import { validateService } from './service-validation.ts';

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
  const wanted = spec.clusterIP ?? '';
  if (wanted === '') {
    const number = pickFree(serviceRange, (value) => taken.has(addressText(value)), start);
    if (number === undefined) throw internalError('failed to allocate a serviceIP: range is full');
    spec.clusterIP = addressText(number);
  } else if (!isServiceAddress(wanted)) {
    throw allocationError(
      metadata.name,
      'spec.clusterIPs',
      [wanted],
      `failed to allocate IP ${wanted}: the provided network does not match the current range`,
    );
  } else if (taken.has(wanted)) {
    throw allocationError(
      metadata.name,
      'spec.clusterIPs',
      [wanted],
      `failed to allocate IP ${wanted}: provided IP is already allocated`,
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
  const asked = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
  const formerOnes = new Map((before.ports ?? []).map((port) => [port.name, port]));
  for (const port of spec.ports ?? []) {
    const former = formerOnes.get(port.name);
    if (port.nodePort === undefined && former?.nodePort !== undefined && !asked.has(former.nodePort)) {
      port.nodePort = former.nodePort;
    }
  }
}

/**
 * Drops node ports that are carried over from the old object, if the new type does not use node ports.
 * Explicitly requested ones are kept, so that validation rejects them.
 */
function dropNodePorts(spec: ServiceSpec, before: ServiceSpec): void {
  if (!needsNodePorts(before)) return;
  const former = new Set((before.ports ?? []).map(({ nodePort }) => nodePort));
  for (const port of spec.ports ?? []) if (former.has(port.nodePort)) delete port.nodePort;
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

import { isDeepStrictEqual } from 'node:util';
import { badRequest, type BrokerResponse, errorResponse } from './response.ts';
import { isAllowed, type Offering, shareNotAllowed } from './offerings/offering.ts';
import {
  mergeOptions,
  mergeOver,
  type Options,
  type ParsedOptions,
  parseOptions,
  withoutSecrets,
  withSpacePrefix,
} from './offerings/option-table.ts';
import type {
  BindingRecord,
  BindingTarget,
  BindingView,
  InstanceRecord,
  StoreUpdate,
  VolumeMount,
} from './store/broker-store.ts';
import type { BindRequest } from './request.ts';
import { buildVolumeMount, hasSignableIds, unsignableIdError, type VolumeIdScheme } from './volume-mount.ts';
import { parseSecretReference } from '../signature/secret-reference.ts';

/**
 * Creates a binding of an instance to an app. The same PUT again gets the stored response, even if the
 * instance has changed. `predecessor` is the binding that the request replaces, if it names one: the new
 * binding takes over its app and options.
 */
export function bind(
  { instance, binding }: BindingView,
  { instanceId, bindingId }: BindingTarget,
  request: BindRequest,
  ports: { predecessor: BindingRecord | undefined; scheme: VolumeIdScheme },
): StoreUpdate {
  const { offering, predecessorBindingId } = request;
  const predecessor = isReplayOfRotation(binding, predecessorBindingId) ? binding : ports.predecessor;
  const { table, operator } = offering;
  const refused = validateBind(instance, instanceId, request, predecessor);
  if (refused !== undefined) return { answer: refused };
  const appGuid = request.appGuid ?? predecessor?.appGuid;
  if (instance === undefined || appGuid === undefined) return { answer: requiresApp };
  // an existing binding may contain options that the operator has forced since then
  const forced = binding === undefined ? operator.forced : {};
  const given = bindOptions(request, { instance, predecessor, forced });
  if ('description' in given) return { answer: badRequest(given.description) };
  const { options } = given;
  const requested = {
    id: bindingId,
    instanceId,
    serviceId: offering.id,
    planId: offering.plan.id,
    appGuid,
    ...(predecessorBindingId === undefined ? {} : { predecessorBindingId }),
    options,
  };
  if (binding !== undefined) {
    const { volumeMount, ...stored } = binding;
    if (isDeepStrictEqual(stored, requested))
      return { answer: { status: 200, body: bindResponse(volumeMount) } };
    const description = `service binding ${bindingId} exists with other attributes; use another id`;
    return { answer: errorResponse(409, 'Conflict', description) };
  }
  if (!isShareAllowedFor(request, instance)) return { answer: badRequest(shareNotAllowed) };
  const merged = mergeOptions(table, operator, instance.options, options);
  if ('description' in merged) return { answer: badRequest(merged.description) };
  if (!hasSignableIds({ instanceId, appGuid }, ports.scheme))
    return { answer: badRequest(unsignableIdError) };
  const volumeMount = buildVolumeMount(offering, { instanceId, appGuid }, merged.options, ports.scheme);
  return { answer: { status: 201, body: bindResponse(volumeMount) }, binding: { ...requested, volumeMount } };
}

/** Returns the options of the binding, merged over those of its predecessor. */
function bindOptions(
  { offering: { table }, parameters, spaceGuid }: BindRequest,
  by: { instance: InstanceRecord; predecessor: BindingRecord | undefined; forced: Options },
): ParsedOptions {
  const { instance, predecessor, forced } = by;
  const parsed = parseOptions(table, parameters, 'bind', forced);
  if ('description' in parsed) return parsed;
  const given = withSpacePrefix(table, parsed.options, spaceGuid ?? instance.spaceGuid);
  if ('description' in given) return given;
  return { options: mergeOver(table, predecessor?.options ?? {}, given.options) };
}

/**
 * Returns true if the binding is the result of this rotation. Then the predecessor may already be deleted;
 * the binding itself has the app and options of the predecessor.
 */
const isReplayOfRotation = (binding: BindingRecord | undefined, predecessorId: string | undefined): boolean =>
  predecessorId !== undefined && binding?.predecessorBindingId === predecessorId;

const requiresApp = errorResponse(
  422,
  'RequiresApp',
  'a share can be bound to an app only; a service key cannot have one',
);

/** Returns the error of a request that is invalid independently of its parameters. */
function validateBind(
  instance: InstanceRecord | undefined,
  instanceId: string,
  { offering, appGuid, predecessorBindingId }: BindRequest,
  predecessor: BindingRecord | undefined,
): BrokerResponse | undefined {
  if (instance === undefined)
    return errorResponse(404, 'NotFound', `there is no service instance ${instanceId}; provision it first`);
  if (instance.serviceId !== offering.id)
    return badRequest(`service instance ${instanceId} is not of service ${offering.name}`);
  if (predecessorBindingId !== undefined && predecessor === undefined)
    return badRequest(`predecessor_binding_id names no binding of service instance ${instanceId}`);
  return (appGuid ?? predecessor?.appGuid) === undefined ? requiresApp : undefined;
}

/**
 * Returns true if the share is allowed for the space of the binding. An instance can be bound in a space that
 * it was shared into; then the share must be allowed for that space.
 */
function isShareAllowedFor(request: BindRequest, instance: InstanceRecord): boolean {
  const spaceGuid = request.spaceGuid ?? instance.spaceGuid;
  const isShared = spaceGuid !== instance.spaceGuid;
  return isAllowed(request.offering.allowedShares, String(instance.options['share']), {
    organizationGuid: isShared ? request.organizationGuid : instance.organizationGuid,
    spaceGuid,
  });
}

/** Returns the response body. Cloud Controller fails if `credentials` is missing or null. */
const bindResponse = (mount: VolumeMount): Record<string, unknown> => ({
  credentials: {},
  volume_mounts: [mount],
});

/** Returns a binding without its secrets; its mount has no secret options either. */
export function fetchBinding(
  { binding }: BindingView,
  { instanceId, bindingId }: BindingTarget,
  offerings: readonly Offering[],
): BrokerResponse {
  const offering = offerings.find((candidate) => candidate.id === binding?.serviceId);
  if (binding === undefined || binding.instanceId !== instanceId || offering === undefined)
    return errorResponse(
      404,
      'NotFound',
      `there is no service binding ${bindingId} of instance ${instanceId}`,
    );
  const { options, volumeMount } = binding;
  const { volume_id: volumeId, mount_config: config } = volumeMount.device;
  const secret = secretOptionNames(offering, binding);
  const shown = Object.entries(config).filter(([name]) => !secret.includes(name));
  const device = { volume_id: volumeId, mount_config: Object.fromEntries(shown) };
  return {
    status: 200,
    body: {
      credentials: {},
      volume_mounts: [{ ...volumeMount, device }],
      parameters: withoutSecrets(offering.table, options),
    },
  };
}

/** Returns the names of the mount options that are secret. A reference to a secret is not secret. */
function secretOptionNames({ table }: Offering, { volumeMount }: BindingRecord): string[] {
  const secret = table
    .filter(({ isSecret }) => isSecret === true)
    .map(({ mountConfigKey }) => mountConfigKey);
  return Object.entries(volumeMount.device.mount_config)
    .filter(([name, value]) => secret.includes(name) && parseSecretReference(value) === undefined)
    .map(([name]) => name);
}

/** Deletes a binding. If a cell has its volume mounted, the volume stays mounted until the app stops. */
export function unbind(
  { binding }: BindingView,
  { instanceId, bindingId }: BindingTarget,
  offering: Offering,
): StoreUpdate {
  if (binding === undefined || binding.instanceId !== instanceId)
    return { answer: { status: 410, body: {} } };
  if (binding.serviceId !== offering.id)
    return { answer: badRequest(`service binding ${bindingId} is not of service ${offering.name}`) };
  return { answer: { status: 200, body: {} }, binding: null };
}
